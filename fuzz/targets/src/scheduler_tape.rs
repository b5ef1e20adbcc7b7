#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::scheduler_tape(bytes));
