//! `cargo xtask audit`: the rules of `deny.toml` for our dependencies, checked by cargo-deny.
//!
//! It is not part of `check`: building cargo-deny takes minutes, and advisories change without a change of ours.

use xtask::shell::{Failure, Shell};

/// Version of cargo-deny that `deny.toml` is written for.
const RELEASE: &str = "0.20.2";

/// Options of `cargo xtask audit`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these checks; all by default. Advisories need the network.
    #[arg(value_name = "CHECK", value_parser = ["advisories", "bans", "licenses", "sources"])]
    checks: Vec<String>,
}

/// Runs cargo-deny, and installs it first if it is missing.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let shell = Shell::new(true);
    if shell.run(shell.cargo(&["deny", "--version"])).is_err() {
        println!("cargo-deny is not installed; building release {RELEASE}, which takes minutes");
        shell.run(shell.cargo(&["install", "--locked", "cargo-deny", "--version", RELEASE]))?;
    }
    let mut command = shell.cargo(&["deny", "--workspace", "check"]);
    command.args(&options.checks);
    shell.run(command)?;
    Ok(())
}
