//! All targets under libFuzzer. `cargo xtask fuzz` builds this program and starts it; the variable `FUZZ_TARGET` names
//! the target, or is `list`.
#![no_main]

use std::sync::OnceLock;

use fuzz::{TARGETS, Target};

static CHOSEN: OnceLock<Target> = OnceLock::new();

/// Chooses the target, or prints the name of each with the length of its longest input.
fn choose() {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    if name == "list" {
        for Target { name, longest, .. } in TARGETS {
            println!("target {name} {longest}");
        }
        std::process::exit(0);
    }
    let found = TARGETS.iter().find(|target| target.name == name);
    let found = found.unwrap_or_else(|| panic!("{name} is no target"));
    CHOSEN.set(*found).expect("it is chosen once");
}

libfuzzer_sys::fuzz_target!(init: choose(), |bytes: &[u8]| {
    (CHOSEN.get().expect("a target").run)(bytes);
});
