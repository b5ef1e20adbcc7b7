//! The traits and types that the author of an experiment uses.

use std::io;

use thiserror::Error;

use crate::about::About;
use crate::claim::{Claim, Judged};
use crate::measurements::Measurements;
use crate::plan::{Case, PlanError};
use crate::table::Table;

/// An experiment that the lab can run: a table or a figure of a paper, or a study of your own.
///
/// The lab reads the plan, makes a [`Case`] of every combination of scheme and axis values, calls [`run`](Self::run)
/// for each case and seed on all cores, and does everything else: storage, resuming, statistics, comparison with the
/// published numbers, the report. An implementation
///
/// 1. reads the case's parameters and scheme into structs of its own, which derive
///    `serde::Deserialize` with `deny_unknown_fields` (quantities by the types of `units`);
/// 2. draws all randomness from streams of the seed ([`RandomStream::named`](machine::RandomStream::named)), under
///    names that do not contain the scheme, so that seed k gives every scheme the same fades;
/// 3. gives equal measurements for an equal case and seed, on any machine and thread;
/// 4. never reads a published number: those are in [`About::published`], which only the lab reads.
///
/// [`channel_errors`](crate::channel_errors) is a complete one to start from.
pub trait Experiment: Send + Sync {
    /// Returns its name, metrics and default plan.
    fn about(&self) -> &About;

    /// Checks that this case is valid; called for every case before the first run.
    ///
    /// Reading parameters and scheme already refuses unknown keys and wrong units. Refuse everything else (a range, two
    /// keys that exclude each other) with [`Case::wrong_parameter`] or [`Case::wrong_scheme`], which add the place in
    /// the plan.
    fn check(&self, case: &Case) -> Result<(), PlanError>;

    /// Runs the case once with this seed.
    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError>;

    /// Returns the statements of the paper, to be judged against the whole table.
    fn claims(&self) -> Vec<Claim> {
        Vec::new()
    }

    /// Returns the recorder of the packets of a run, if this experiment has one.
    fn tracer(&self) -> Option<&dyn Tracer> {
        None
    }
}

impl Table {
    /// Returns the claims of the experiment with their verdicts.
    pub fn judge(&self, experiment: &dyn Experiment) -> Vec<Judged> {
        let claims = experiment.claims().into_iter();
        claims
            .map(|claim| Judged {
                claim,
                verdict: (claim.judge)(self),
            })
            .collect()
    }
}

/// The optional ability to record a run.
pub trait Tracer {
    /// Runs the case and writes all packets to `pcap`, in the pcap or pcapng format, with virtual times.
    fn trace(&self, case: &Case, seed: u64, pcap: &mut dyn io::Write) -> Result<(), RunError>;
}

/// Reason why a run has no measurements.
#[derive(Debug, Error)]
pub enum RunError {
    /// The case is invalid, but the check before the first run did not find it.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The run failed; holds the reason as a sentence.
    #[error("{0}")]
    Failed(String),
    /// The trace cannot be written.
    #[error("cannot write the trace: {0}")]
    Trace(#[from] io::Error),
}
