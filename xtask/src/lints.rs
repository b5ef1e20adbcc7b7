//! The steps that are little more than one call of cargo: formatting, clippy, documentation.

use crate::guide;
use crate::outcome::Outcome;
use xtask::shell::{Failure, Shell};

/// Checks the formatting by `rustfmt.toml`.
pub(crate) fn fmt(shell: &Shell) -> Result<Outcome, Failure> {
    let arguments = ["fmt", "--all", "--check", "--", "--color", "never"];
    shell.run(shell.cargo(&arguments))?;
    Ok(Outcome::default())
}

/// Runs clippy on every target, and on the program without the lab, with the workspace's lints as errors.
pub(crate) fn clippy(shell: &Shell) -> Result<Outcome, Failure> {
    let everything = ["--workspace", "--all-targets"].as_slice();
    let small = ["--package", "lasthop", "--no-default-features"].as_slice();
    for targets in [everything, small] {
        let mut command = shell.cargo(&["clippy"]);
        command.args(targets).args(["--", "--deny", "warnings"]);
        shell.run(command)?;
    }
    Ok(Outcome::default())
}

/// Checks the pages of the guide, and builds the documentation of our crates; a broken link is an error.
pub(crate) fn docs(shell: &Shell) -> Result<Outcome, Failure> {
    let pages = guide::check(&shell.root)?;
    let mut command = shell.cargo(&["doc", "--workspace", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "--deny warnings");
    shell.run(command)?;
    Ok(Outcome::noted(format!("{pages} pages")))
}
