//! `cargo xtask bench` and `cargo xtask soak`: commands of the crate `bench`, which is built on demand.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use xtask::shell::Failure;

/// The arguments after `bench` or `soak`.
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
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    program.args(["run", "--quiet", "--manifest-path", manifest]);
    program.args(["--package", "bench"]);
    // Virtual time passes as fast as the processor allows; all others wait for real time.
    if options.words.first().is_some_and(|word| word == "world") && command == "soak" {
        program.arg("--release");
    }
    program.args(["--", command]);
    let source = program.args(&options.words).exec();
    let command = format!("{program:?}");
    Err(Failure::Start { command, source })
}
