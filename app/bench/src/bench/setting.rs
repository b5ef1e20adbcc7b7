//! What a figure was measured on, and where everything is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::failure::Failure;
use xtask::shell::Shell;

/// A line about the machine and the version: processor, cores, kernel, commit.
pub(crate) fn describe(shell: &Shell) -> Result<String, Failure> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1))
        .unwrap_or("an unknown processor");
    // Not those that this process may use: a bench may have left some to what it measures.
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

/// The program to measure: the one that was given, by a path from the root of the repository, or the product, built.
pub(crate) fn program(shell: &Shell, given: Option<&Path>) -> Result<PathBuf, Failure> {
    match given {
        Some(path) => Ok(shell.root.join(path)),
        None => build(shell),
    }
}

/// Builds the product in release mode; gives the program.
pub(crate) fn build(shell: &Shell) -> Result<PathBuf, Failure> {
    shell.run(shell.cargo(&["build", "--release", "-p", "lasthop"]))?;
    Ok(target(shell).join("release/lasthop"))
}

/// Where builds go.
pub(crate) fn target(shell: &Shell) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell.root.join("target"), PathBuf::from)
}

/// This program.
pub(crate) fn ourselves() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::Found(format!("this program has no place: {error}")))
}

/// A new folder in `parent`, or where the system has temporary files; it is gone when the result is dropped.
pub(crate) fn folder(parent: Option<&str>) -> Result<TempDir, Failure> {
    let made = match parent {
        Some(parent) => tempfile::tempdir_in(parent),
        None => tempfile::tempdir(),
    };
    made.map_err(|error| Failure::Found(format!("no temporary folder: {error}")))
}

/// Whether a program can be found.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
