//! Why the lab has no results.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::plan::PlanError;

/// Why an experiment was not run, or not to its end.
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
        /// Which case.
        case: String,
        /// Which seed.
        seed: u64,
        /// What happened.
        what: String,
    },
    /// The folder holds runs of something else.
    #[error(
        "{} holds runs of another {what}; name another folder with --out, or begin anew with --fresh",
        folder.display()
    )]
    OtherRuns {
        /// The folder.
        folder: PathBuf,
        /// In what they differ.
        what: &'static str,
    },
    /// Another process works in the folder.
    #[error("another lasthop works in {}; wait for it, or name another folder with --out", .0.display())]
    Busy(PathBuf),
    /// A folder holds no results.
    #[error("{} holds no results; `lasthop lab run EXPERIMENT` makes some", .0.display())]
    Nothing(PathBuf),
    /// Two results of one run differ, which a deterministic program cannot do.
    #[error("two results of one run with seed {0} differ: this program is not deterministic")]
    Differs(u64),
    /// A data file of ours is wrong.
    #[error("{0}")]
    Data(String),
    /// The system refuses a file; a full disk, for example.
    #[error(
        "cannot {operation} {}: {source}; what was stored before is whole, \
         and the same command goes on from there",
        path.display()
    )]
    File {
        /// What was tried.
        operation: &'static str,
        /// Which file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A plot cannot be drawn.
    #[error("cannot draw a plot: {0}")]
    Plot(String),
    /// The user broke it off.
    #[error("interrupted; every run that ended is stored, and the same command goes on from there")]
    Interrupted,
}

impl LabError {
    /// For `map_err`.
    pub(crate) fn file(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File {
            operation,
            path,
            source,
        }
    }
}
