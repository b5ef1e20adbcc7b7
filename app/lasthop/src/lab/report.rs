//! `lasthop lab report`: a page of results.

use std::path::{Path, PathBuf};

use clap::Args;
use experiment::report::{Chapter, page, save};
use experiment::{LabError, load, load_plan};

use super::output::output;
use super::registry;
use super::run::FOLDER;
use crate::failure::Failure;

/// Write one self-contained HTML page of results: tables beside what was published, plots, claims.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder of one experiment, or of several
    #[arg(value_name = "DIR", default_value = FOLDER)]
    folder: PathBuf,
}

/// Writes the page into the folder.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let folder = &arguments.folder;
    let chapters = match chapter(folder) {
        Err(LabError::Nothing(_)) => chapters(folder)?,
        only => vec![only?],
    };
    let path = folder.join("report.html");
    save(&path, &page(&chapters)?)?;
    output(&format!("page: {}\n", path.display()))
}

/// Returns the chapters of all experiments that have a folder here, in the order of the list.
fn chapters(folder: &Path) -> Result<Vec<Chapter>, LabError> {
    let mut chapters = Vec::new();
    for experiment in registry::all() {
        match chapter(&folder.join(experiment.about().name)) {
            Err(LabError::Nothing(_)) => {}
            found => chapters.push(found?),
        }
    }
    if chapters.is_empty() {
        return Err(LabError::Nothing(folder.into()));
    }
    Ok(chapters)
}

fn chapter(folder: &Path) -> Result<Chapter, LabError> {
    let plan = load_plan(folder)?;
    let name = plan.experiment();
    let experiment = registry::named(name).map_err(|error| LabError::Data(error.to_string()))?;
    let table = load(experiment, &plan, folder)?;
    Chapter::new(experiment, plan, table, folder)
}
