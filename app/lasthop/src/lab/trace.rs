//! `lasthop lab trace`: the packets of one run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use experiment::{Case, Experiment, Override, Plan, RunError};

use super::choice::known_scheme;
use super::output::output;
use super::registry;
use crate::failure::Failure;

/// Record the packets of one run, for Wireshark and similar programs.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The experiment
    experiment: String,
    /// The seed of the run
    #[arg(long)]
    seed: u64,
    /// The scheme [default: the plan's first]
    #[arg(long)]
    scheme: Option<String>,
    /// Change a parameter, or keep an axis at one value (by default its first)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// The file for the packets
    #[arg(long, value_name = "FILE")]
    pcap: PathBuf,
}

/// Runs one case and writes its packets.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let experiment = registry::named(&arguments.experiment)?;
    let about = experiment.about();
    let name = format!("{}.toml", about.name);
    let plan = Plan::parse(&name, about.plan, &arguments.overrides).map_err(Failure::setting)?;
    let case = choose(&plan, arguments.scheme.as_deref())?;
    experiment.check(&case).map_err(Failure::setting)?;
    let seed = arguments.seed;
    record(experiment, &case, seed, &arguments.pcap)?;
    let (case, file) = (case.describe(), arguments.pcap.display());
    output(&format!("{}, {case}, seed {seed}: {file}\n", about.name))
}

/// Returns the first case, or the first of that scheme.
fn choose(plan: &Plan, scheme: Option<&str>) -> Result<Case, Failure> {
    if let Some(scheme) = scheme {
        known_scheme(plan, scheme)?;
    }
    let fits = |case: &Case| scheme.is_none_or(|scheme| case.scheme_name() == scheme);
    let case = plan.cases().into_iter().find(fits);
    Ok(case.expect("every plan has a case of each of its schemes, and at least one scheme"))
}

/// Writes a draft beside the file, and renames it when it is complete.
fn record(experiment: &dyn Experiment, case: &Case, seed: u64, path: &Path) -> Result<(), Failure> {
    let Some(tracer) = experiment.tracer() else {
        let name = experiment.about().name;
        return Err(Failure::setting(format!(
            "{name} sends no packets to record"
        )));
    };
    let refused =
        |error: io::Error| Failure::broken(format!("cannot write {}: {error}", path.display()));
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let draft = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")));
    let draft = draft.map_err(refused)?;
    let mut pcap = BufWriter::new(draft.as_file());
    tracer
        .trace(case, seed, &mut pcap)
        .map_err(|error| match error {
            RunError::Trace(error) => refused(error),
            other => Failure::broken(other),
        })?;
    pcap.flush().map_err(refused)?;
    drop(pcap);
    let file: File = draft.persist(path).map_err(|error| refused(error.error))?;
    file.sync_all().map_err(refused)
}
