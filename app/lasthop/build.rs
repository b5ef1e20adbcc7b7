//! Tells the program what it is built from, so that its results can say so.

use std::process::Command;

/// What a change of says that the working tree may have become dirty, or clean.
const SOURCES: [&str; 7] = [
    "Cargo.lock",
    "app",
    "base",
    "lab",
    "live",
    "protocols",
    "sim",
];

fn main() {
    for source in SOURCES {
        println!("cargo::rerun-if-changed=../../{source}");
    }
    let log = said("git", &["rev-parse", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|log| std::fs::exists(log).unwrap_or(false)) {
        println!("cargo::rerun-if-changed={log}");
    }
    let commit = said("git", &["rev-parse", "HEAD"]);
    let changes = said("git", &["status", "--porcelain", "--", "../.."]);
    let dirty = changes.map(|changes| (!changes.is_empty()).to_string());
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let unknown = || "unknown".to_owned();
    println!(
        "cargo::rustc-env=LASTHOP_COMMIT={}",
        commit.unwrap_or_else(unknown)
    );
    println!(
        "cargo::rustc-env=LASTHOP_DIRTY={}",
        dirty.unwrap_or_else(unknown)
    );
    let compiler = said(&compiler, &["--version"]).unwrap_or_else(unknown);
    println!("cargo::rustc-env=LASTHOP_RUSTC={compiler}");
}

/// What a program says; `None` if it cannot be run or fails, as git does outside of a repository.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
