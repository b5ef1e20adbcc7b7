//! `cargo xtask bench newcomer`: the first try of somebody with two hosts behind routers that translate and a rented
//! server, under every combination of what goes wrong then. Needs root.

use std::path::PathBuf;

use rig::{Circumstances, Newcomer, Outcome};
use serde::Serialize;

use super::setting;
use crate::failure::Failure;
use crate::soak::alone::Alone;
use xtask::shell::Shell;

/// The aim: a working hop so long after `join` was typed, in seconds.
const AIM: f64 = 3.0;

/// Options of the bench.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// File for the rows, as JSON
    #[arg(
        long,
        value_name = "FILE",
        default_value = "target/bench-newcomer.json"
    )]
    json: PathBuf,
    #[command(flatten)]
    alone: Alone,
}

/// One try.
#[derive(Debug, Serialize)]
struct Row {
    circumstances: String,
    /// Time of `gateway up`, and that from the start of `join` until both hosts had sent and received, in seconds.
    up_s: Option<f64>,
    join_s: Option<f64>,
    /// The line that says why it does not work.
    reason: Option<String>,
}

/// Tries all combinations, and prints a table.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let program = options.alone.enter(shell, || Ok(()))?;
    let mut rows = Vec::new();
    let mut faults = Vec::new();
    println!("| circumstances | `gateway up`, s | `join` to both ways, s | says |");
    println!("|---|---|---|---|");
    for circumstances in Circumstances::all() {
        let folder = setting::folder(Some("/mnt"))?;
        let outcome = Newcomer::new(program, folder.path(), circumstances)
            .and_then(|newcomer| newcomer.try_it());
        let circumstances = circumstances.to_string();
        let (times, reason) = match outcome {
            Ok(Outcome::Works { up, join }) => (Some([up, join]), None),
            Ok(Outcome::SaysWhy(line)) => (None, Some(line)),
            Err(error) => {
                println!("| {circumstances} | | | **fault**: {error} |");
                faults.push(format!("{circumstances}: {error}"));
                continue;
            }
        };
        let [first, second] = times.map_or_else(Default::default, |times| {
            times.map(|time| format!("{time:.2}"))
        });
        let says = reason.as_deref().unwrap_or_default();
        println!("| {circumstances} | {first} | {second} | {says} |");
        if times.is_some_and(|[_, join]| join > AIM) {
            faults.push(format!("{circumstances}: later than {AIM} s"));
        }
        rows.push(Row {
            circumstances,
            up_s: times.map(|[up, _]| up),
            join_s: times.map(|[_, join]| join),
            reason,
        });
    }
    super::keep(shell, &options.json, &rows)?;
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Failure::Found(faults.join("\n")))
    }
}
