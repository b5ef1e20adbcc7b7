//! `cargo xtask bench files`: copies to and from a real NFS server, nfs-ganesha, in network namespaces. Needs root.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::{peers, setting};
use crate::failure::Failure;
use xtask::shell::Shell;

use self::row::Row;

mod copy;
mod fades;
mod lan;
mod row;
pub(crate) mod service;
mod small;

/// Programs and the Debian packages that hold them. The last one is needed only for the peer.
const NEEDED: [(&str, &str); 3] = [
    ("ganesha.nfsd", "nfs-ganesha-vfs"),
    ("rpcbind", "rpcbind"),
    ("nfs-cp", "libnfs-utils"),
];

/// A part of the bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// One large file, without loss
    Lan,
    /// Many small files, without loss
    Small,
    /// Files through an emulated link that fades
    Fades,
    /// As `fades`, but limited by the server and not by the air
    Served,
}

/// Options of the bench.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these parts; all by default
    #[arg(long, value_enum, value_delimiter = ',')]
    what: Vec<Part>,
    /// Measure libnfs's nfs-cp too, in turns with lasthop
    #[arg(long)]
    peers: bool,
    /// Number of repetitions of each copy without loss
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
    /// Bytes of the large file
    #[arg(long, default_value_t = 1_000_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    size: u64,
    /// Number of small files, of 4,000 bytes each
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    files: u32,
    /// Options of the fading links
    #[command(flatten)]
    fades: fades::Options,
    /// Measure this program instead of a newly built one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// File for the rows, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/bench-files.json")]
    json: PathBuf,
}

impl Options {
    fn wants(&self, part: Part) -> bool {
        self.what.is_empty() || self.what.contains(&part)
    }
}

/// Measures and prints the tables.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let needed = &NEEDED[..NEEDED.len() - usize::from(!options.peers)];
    peers::provide(shell, needed)?;
    let program = setting::program(shell, options.program.as_deref())?;
    let mut rows = Vec::new();
    for (part, measure) in [
        (
            Part::Lan,
            lan::run as fn(&Measured) -> Result<Vec<Row>, Failure>,
        ),
        (Part::Small, small::run),
        (Part::Fades, fades::run),
        (Part::Served, fades::run_served),
    ] {
        if options.wants(part) {
            let measured = Measured {
                program: &program,
                options,
            };
            rows.extend(measure(&measured)?);
        }
    }
    super::keep(shell, &options.json, &rows)
}

/// The options, and the means to measure.
struct Measured<'a> {
    program: &'a PathBuf,
    options: &'a Options,
}

/// Creates a folder in memory, so that no disk is measured. It is deleted when the result is dropped.
fn folder_in_memory() -> Result<tempfile::TempDir, Failure> {
    let mut parents = ["/dev/shm", "/tmp"].into_iter();
    setting::folder(parents.find(|parent| Path::new(parent).is_dir()))
}
