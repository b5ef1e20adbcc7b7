//! `cargo xtask soak files`: a mount of a real NFS server, nfs-ganesha, is used in all ways at once. Needs root.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::rig::Directories;
use clap::ValueEnum;
use serde::Serialize;

use self::kills::Tally;
use self::one_file::Places;
use self::rig::{Rig, Setting};
use self::tree::Trees;
use super::alone::Alone;
use super::watch::{Fault, watch};
use crate::bench::peers;
use crate::failure::Failure;
use xtask::shell::Shell;

mod compare;
mod kills;
mod one_file;
mod posix;
mod rig;
mod tree;

/// Programs and the Debian packages that hold them.
const NEEDED: [(&str, &str); 2] = [("ganesha.nfsd", "nfs-ganesha-vfs"), ("rpcbind", "rpcbind")];

/// A part of the soak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Part {
    /// Random operations on one file, beside its bytes in memory
    OneFile,
    /// Random operations on a tree of files, beside a local one
    Tree,
    /// pjdfstest
    Posix,
    /// A server that is killed while files are written
    Kills,
}

/// Options of the soak.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only these parts; all by default
    #[arg(long, value_enum, value_delimiter = ',')]
    what: Vec<Part>,
    /// Duration of each part with random operations
    #[arg(long, default_value_t = 45)]
    seconds: u64,
    /// Number of times that the server is killed
    #[arg(long, default_value_t = 20)]
    kills: u32,
    /// Mean size of the files during which it is killed, in bytes, approximately
    #[arg(long, default_value_t = 30_000_000, value_parser = clap::value_parser!(u64).range(1_000..))]
    size: u64,
    /// Seed of all random decisions
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Reach the server through this emulated link, by its name or its file (`lasthop emulate`); default: a wire
    #[arg(long)]
    link: Option<String>,
    /// Run lasthop's daemons at both ends of the link
    #[arg(long, requires = "link")]
    daemons: bool,
    /// Mount options, behind `-o`
    #[arg(long = "mount-options", default_value = "rw")]
    mounting: String,
    /// File for the rows, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/soak-files.json")]
    json: PathBuf,
    #[command(flatten)]
    alone: Alone,
}

impl Options {
    fn wants(&self, part: Part) -> bool {
        self.what.is_empty() || self.what.contains(&part)
    }
}

/// Result of a part.
#[derive(Debug, Serialize)]
struct Row {
    part: Part,
    seed: u64,
    seconds: f64,
    /// The work done, for people.
    done: String,
    kills: Option<Tally>,
    fault: Option<Fault>,
}

/// Runs all parts, prints a table, and fails if anything was wrong.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let program = options.alone.enter(shell, || {
        peers::provide(shell, &NEEDED)?;
        if options.wants(Part::Posix) {
            posix::program(shell)?;
        }
        Ok(())
    })?;
    let rows = soak(shell, options, program)?;
    print(&rows);
    crate::bench::keep(shell, &options.json, &rows)?;
    let faults = rows.iter().filter_map(|row| {
        let fault = row.fault.as_ref()?;
        Some(format!("{:?}: {fault}", row.part))
    });
    Failure::unless_empty(&faults.collect::<Vec<_>>())
}

fn soak(shell: &Shell, options: &Options, program: &Path) -> Result<Vec<Row>, Failure> {
    let setting = Setting {
        link: options.link.as_deref(),
        daemons: options.daemons,
        mount_options: &options.mounting,
        seed: options.seed,
    };
    let mut rig = Rig::new(super::folder()?, program, setting)?;
    let mut rows = Vec::new();
    for part in [Part::OneFile, Part::Tree, Part::Posix, Part::Kills] {
        if !options.wants(part) {
            continue;
        }
        let row = row(shell, options, part, &mut rig);
        println!("{part:?}: {}", row.fault.as_deref().unwrap_or(&row.done));
        if row.fault.is_some() {
            println!("{}", rig.logs());
        }
        rows.push(row);
    }
    rig.unmount()?;
    Ok(rows)
}

/// Runs a part.
fn row(shell: &Shell, options: &Options, part: Part, rig: &mut Rig) -> Row {
    let begun = Instant::now();
    let span = Duration::from_secs(options.seconds);
    let name = format!("{part:?}");
    let mut kills = None;
    let outcome = match part {
        Part::OneFile => {
            let places = Places {
                mounted: rig.mounted(""),
                exported: rig.exported(""),
            };
            watch(
                &name,
                || rig.give_up(),
                |done| {
                    one_file::run(&places, options.seed, span, done)
                        .map(|()| format!("{} operations", done.so_far()))
                },
            )
        }
        Part::Tree => {
            let trees = Trees {
                mounted: rig.mounted("tree"),
                reference: rig.local("reference"),
            };
            watch(
                &name,
                || rig.give_up(),
                |done| {
                    tree::run(&trees, options.seed, span, done)?;
                    tree::same(&rig.exported("tree"), &trees.reference)
                        .map_err(|fault| format!("at the server: {fault}"))?;
                    Ok(format!("{} operations", done.so_far()))
                },
            )
        }
        // It checks times, and has no cyclic dependency.
        Part::Posix => rig
            .replace(Directories::Remembered)
            .and_then(|()| posix::program(shell))
            .map_err(|failure| failure.to_string())
            .and_then(|program| watch(&name, || rig.give_up(), |_| posix::run(rig, &program))),
        Part::Kills => {
            let (tally, outcome) = watch(&name, String::new, |done| {
                kills::run(rig, options.seed, options.kills, options.size, done)
            });
            kills = Some(tally);
            let Tally {
                kills,
                whole,
                failed,
            } = tally;
            outcome.map(|()| {
                format!("{kills} kills: {whole} files whole, {failed} failed and said so")
            })
        }
    };
    let (done, fault) = match outcome {
        Ok(done) => (done, None),
        Err(fault) => (String::new(), Some(fault)),
    };
    Row {
        part,
        seed: options.seed,
        seconds: begun.elapsed().as_secs_f64(),
        done,
        kills,
        fault,
    }
}

fn print(rows: &[Row]) {
    println!("\n| part | seed | s | outcome |\n|---|---|---|---|");
    for row in rows {
        let outcome = match &row.fault {
            Some(fault) => format!("FAULT: {}", fault.lines().next().unwrap_or_default()),
            None => row.done.clone(),
        };
        println!(
            "| {:?} | {} | {:.0} | {outcome} |",
            row.part, row.seed, row.seconds
        );
    }
}
