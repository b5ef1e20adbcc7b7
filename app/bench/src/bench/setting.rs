//! The machine of a measurement, and the places of programs and files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::failure::Failure;
use xtask::shell::Shell;

/// Returns a line about the machine and the version: processor, cores, kernel, commit.
pub(crate) fn describe(shell: &Shell) -> Result<String, Failure> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1))
        .unwrap_or("an unknown processor");
    // Not the processors that this process may use: a bench may reserve some for what it measures.
    let cores = cpu.lines().filter(|line| line.starts_with("processor"));
    let cores = cores.count().max(1);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut git = Command::new("git");
    git.current_dir(&shell.root)
        .args(["describe", "--always", "--dirty"]);
    let commit = Shell::quiet(&shell.root).run(git)?;
    Ok(format!(
        "Measured on {cores} cores of {model}, Linux {}, commit {}.",
        kernel.trim(),
        commit.trim()
    ))
}

/// Returns the program to measure: the `given` one, relative to the root of the repository, or the newly built product.
pub(crate) fn program(shell: &Shell, given: Option<&Path>) -> Result<PathBuf, Failure> {
    match given {
        Some(path) => Ok(shell.root.join(path)),
        None => build(shell),
    }
}

/// Builds the product in release mode; returns the path of the program.
pub(crate) fn build(shell: &Shell) -> Result<PathBuf, Failure> {
    shell.run(shell.cargo(&["build", "--release", "-p", "lasthop"]))?;
    Ok(target(shell).join("release/lasthop"))
}

/// Returns the folder of builds.
pub(crate) fn target(shell: &Shell) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell.root.join("target"), PathBuf::from)
}

/// Returns the path of this program.
pub(crate) fn ourselves() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::Found(format!("this program has no place: {error}")))
}

/// Creates a folder in `parent` or in the system's temporary folder. It is deleted when the result is dropped.
pub(crate) fn folder(parent: Option<&str>) -> Result<TempDir, Failure> {
    let made = match parent {
        Some(parent) => tempfile::tempdir_in(parent),
        None => tempfile::tempdir(),
    };
    made.map_err(|error| Failure::Found(format!("no temporary folder: {error}")))
}

/// Returns true if the program is found.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
