//! `cargo xtask bench`, `browser`, `soak` and `planted`: commands of the crate `bench`, which is built on demand.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use xtask::shell::Failure;

/// The root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The arguments after the name of the command.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Replaces this process by the program with this command; returns only if that fails.
pub(crate) fn run(command: &str, options: &Options) -> Result<(), Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut program = Command::new(cargo);
    // Paths in the arguments are relative to the folder of the caller.
    let manifest = format!("{ROOT}/Cargo.toml");
    program.args(["run", "--quiet", "--manifest-path", &manifest]);
    program.args(["--package", "bench"]);
    let is_world = options.words.first().is_some_and(|word| word == "world");
    // Virtual time passes as fast as the processor allows; all others wait for real time.
    if command == "planted" || (command == "soak" && is_world) {
        program.arg("--release");
    }
    if command == "planted" {
        let target = std::env::var_os("CARGO_TARGET_DIR");
        let target = target.map_or_else(|| PathBuf::from(ROOT).join("target"), PathBuf::from);
        // Nothing that is built with planted bugs lies beside what is built without them.
        program.env("CARGO_TARGET_DIR", target.join("planted"));
        program.env("RUSTFLAGS", "--cfg lasthop_planted");
        // Optimization across crates would cost more than it gains.
        program.env("CARGO_PROFILE_RELEASE_LTO", "off");
    }
    program.args(["--", command]);
    let source = program.args(&options.words).exec();
    let command = format!("{program:?}");
    Err(Failure::Start { command, source })
}
