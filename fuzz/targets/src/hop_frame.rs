#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::hop_frame(bytes));
