//! The folder of an experiment's results.
//!
//! | file | content |
//! |---|---|
//! | `plan.toml` | the plan that was run, with its overrides |
//! | `runs.csv` | one line a run: scheme, each axis, seed, each metric (empty where there is none) |
//! | `summary.csv` | one line for each case and metric: mean, 95 % confidence, least, greatest, runs, published |
//! | `provenance.json` | program, compiler, commit, hash and text of the plan, seeds, and how long it took |
//! | `runs.journal` | the runs in the order in which they ended, to resume from; sorted once all are there |
//!
//! All but `provenance.json` are the same bytes whenever the same program runs the same plan. Files are written
//! atomically. CSV is that of RFC 4180 with `\n`; numbers have as many digits as needed to distinguish
//! them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::error::LabError;
use crate::plan::Plan;
use crate::table::Table;

/// Name of the plan in the folder of an experiment.
pub(crate) const PLAN: &str = "plan.toml";
/// Name of the journal in the folder of an experiment.
pub(crate) const JOURNAL: &str = "runs.journal";
/// Name of the provenance in the folder of an experiment.
pub(crate) const PROVENANCE: &str = "provenance.json";

/// Files that are made from the journal once all runs are there.
const DERIVED: [&str; 3] = ["runs.csv", "summary.csv", PROVENANCE];

/// Removes all files; the journal first, because the others are useless without it.
pub(crate) fn forget(folder: &Path) -> Result<(), LabError> {
    remove(&folder.join(JOURNAL))?;
    forget_derived(folder)?;
    remove(&folder.join(PLAN))
}

/// Removes the files made from fewer runs, so that they are not taken for the results of more.
pub(crate) fn forget_derived(folder: &Path) -> Result<(), LabError> {
    DERIVED
        .iter()
        .try_for_each(|name| remove(&folder.join(name)))
}

fn remove(path: &Path) -> Result<(), LabError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(LabError::file("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// The program that made the results.
#[derive(Debug, Clone, Serialize)]
pub struct Program {
    /// Version of lasthop.
    pub lasthop: String,
    /// Version of the compiler.
    pub rustc: String,
    /// Commit that it was built from; `unknown` without a repository.
    pub commit: String,
    /// True if its source differed from the commit; `None` if unknown.
    pub dirty: Option<bool>,
    /// Hash of the program itself: runs of different programs are never mixed.
    pub digest: String,
}

#[derive(Serialize)]
struct Provenance<'a> {
    #[serde(flatten)]
    program: &'a Program,
    experiment: &'a str,
    plan_hash: String,
    first_seed: u64,
    runs: usize,
    seeds_per_case: BTreeMap<String, usize>,
    wall_seconds: f64,
    plan: String,
}

/// Writes all final files.
pub(crate) fn write(
    folder: &Path,
    plan: &Plan,
    table: &Table,
    origin: (&Program, Duration),
) -> Result<(), LabError> {
    let file = |name: &str| folder.join(name);
    write_atomically(&file("runs.csv"), &runs_csv(plan, table))?;
    write_atomically(&file("summary.csv"), &summary_csv(plan, table))?;
    let (program, wall) = origin;
    let mut seeds_per_case = BTreeMap::new();
    for (key, _) in table.runs() {
        *seeds_per_case
            .entry(table.cases()[key.case].describe())
            .or_default() += 1;
    }
    let provenance = Provenance {
        program,
        experiment: plan.experiment(),
        plan_hash: plan.hash(),
        first_seed: plan.first_seed(),
        runs: table.count_runs(),
        seeds_per_case,
        wall_seconds: wall.as_secs_f64(),
        plan: plan.text(),
    };
    let text = serde_json::to_string_pretty(&provenance).expect("words and numbers under names");
    write_atomically(&file(PROVENANCE), format!("{text}\n").as_bytes())
}

fn runs_csv(plan: &Plan, table: &Table) -> Vec<u8> {
    let metrics = table.metrics().iter().map(|metric| metric.name.to_owned());
    let mut lines = vec![header(plan, ["seed".to_owned()].into_iter().chain(metrics))];
    for (key, values) in table.runs() {
        let values = values.iter().map(|value| number(*value));
        let case = &table.cases()[key.case];
        let labels = case.labels().iter().map(|(_, label)| label.clone());
        let scheme = std::iter::once(case.scheme_name().to_owned());
        let line = scheme.chain(labels).chain([key.seed.to_string()]);
        lines.push(line.chain(values).collect());
    }
    csv(&lines)
}

fn summary_csv(plan: &Plan, table: &Table) -> Vec<u8> {
    let names = "metric unit mean ci95 min max runs published";
    let mut lines = vec![header(plan, names.split(' ').map(Into::into))];
    for row in table.rows() {
        let mut line = vec![row.scheme];
        line.extend(row.parameters.into_iter().map(|(_, label)| label));
        line.extend([row.metric.to_owned(), row.unit.to_owned()]);
        let summary = row.summary;
        line.push(summary.mean.to_string());
        line.push(number(summary.ci95));
        line.extend([summary.min, summary.max].map(|value| value.to_string()));
        line.extend([summary.runs.to_string(), number(row.published)]);
        lines.push(line);
    }
    csv(&lines)
}

fn header(plan: &Plan, rest: impl Iterator<Item = String>) -> Vec<String> {
    let axes = plan.axes().iter().map(|axis| axis.name().to_owned());
    let scheme = std::iter::once("scheme".to_owned());
    scheme.chain(axes).chain(rest).collect()
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn csv(lines: &[Vec<String>]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer
            .write_record(line)
            .expect("lines of equal length, in memory");
    }
    writer.into_inner().expect("memory takes what is written")
}

/// Replaces a file by `content`, which is on disk before it appears under that name.
pub(crate) fn write_atomically(path: &Path, content: &[u8]) -> Result<(), LabError> {
    let failed = |error| LabError::file("write", path)(error);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut draft = tempfile::Builder::new()
        .prefix(".lasthop-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))
        .tempfile_in(folder)
        .map_err(failed)?;
    draft.write_all(content).map_err(failed)?;
    draft.as_file().sync_all().map_err(failed)?;
    draft.persist(path).map_err(|error| failed(error.error))?;
    // The new name must survive a power failure too.
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(failed)
}
