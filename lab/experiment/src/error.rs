//! Errors of the lab.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::plan::PlanError;

/// Reason why an experiment was not run, or not to its end.
#[derive(Debug, Error)]
pub enum LabError {
    /// The plan is wrong.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A run failed.
    #[error("{experiment}, {case}, seed {seed}: {what}")]
    Run {
        /// The experiment's name.
        experiment: &'static str,
        /// The case, as text for people.
        case: String,
        /// The seed.
        seed: u64,
        /// The reason, as a sentence.
        what: String,
    },
    /// The folder holds runs of another plan or program.
    #[error(
        "{} holds runs of another {what}; name another folder with --out, or begin anew with --fresh",
        folder.display()
    )]
    OtherRuns {
        /// The folder.
        folder: PathBuf,
        /// `plan` or `program`: where the two differ.
        what: &'static str,
    },
    /// Another process uses the folder.
    #[error("another lasthop works in {}; wait for it, or name another folder with --out", .0.display())]
    Busy(PathBuf),
    /// The folder holds no results.
    #[error("{} holds no results; `lasthop lab run EXPERIMENT` makes some", .0.display())]
    Nothing(PathBuf),
    /// Two results of one run differ, although the program is deterministic. Holds the seed.
    #[error("two results of one run with seed {0} differ: this program is not deterministic")]
    Differs(u64),
    /// A data file of the lab is wrong.
    #[error("{0}")]
    Data(String),
    /// A file operation failed; for example, the disk is full.
    #[error(
        "cannot {operation} {}: {source}; what was stored before is whole, \
         and the same command goes on from there",
        path.display()
    )]
    File {
        /// The operation that failed, as a verb.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A plot cannot be drawn.
    #[error("cannot draw a plot: {0}")]
    Plot(String),
    /// The user interrupted the lab.
    #[error("interrupted; every run that ended is stored, and the same command goes on from there")]
    Interrupted,
}

impl LabError {
    /// Returns a conversion of an I/O error, for `map_err`.
    pub(crate) fn file(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File {
            operation,
            path,
            source,
        }
    }
}
