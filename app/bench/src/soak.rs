//! `cargo xtask soak`: runs that are too long for `check`, and search for unexpected faults.
//!
//! A soak is one file with a `run` function. Random decisions come from a seed that is printed.

use std::fs;
use std::path::Path;

use crate::failure::Failure;
use xtask::shell::Shell;

pub(crate) mod alone;
mod files;
mod kills;
mod random;
mod site;
mod watch;
mod world;

/// The soak to run.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    soak: Soak,
}

#[derive(clap::Subcommand)]
enum Soak {
    /// Files on a mount of a real NFS server: random operations, pjdfstest, a server that is killed.
    Files(files::Options),
    /// Files over TCP, while the daemons at both ends of the hop are killed.
    Kills(kills::Options),
    /// A download while gateways of a site hand its mobile host over, and are killed, stopped and drained.
    Site(site::Options),
    /// Hosts with every fault at once, in virtual time.
    World(world::Options),
}

/// Runs one soak; it prints a table, and fails if anything was wrong.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    match &options.soak {
        Soak::Files(options) => files::run(&Shell::new(false), options),
        Soak::Kills(options) => kills::run(&Shell::new(false), options),
        Soak::Site(options) => site::run(&Shell::new(false), options),
        Soak::World(options) => world::run(&Shell::new(false), options),
    }
}

/// Creates the folder of all files, in memory that only this process sees.
pub(crate) fn folder() -> Result<&'static Path, Failure> {
    let folder = Path::new("/mnt/soak");
    fs::create_dir_all(folder).map_err(rig::Failure::file("make", folder))?;
    Ok(folder)
}

/// Returns the last lines of a file, for the analysis of a fault.
fn tail(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(12)..];
    format!("  {}:\n    {}", path.display(), last.join("\n    "))
}
