//! The traits and types that the author of an experiment uses.

use std::io;

use thiserror::Error;

use crate::claim::Claim;
use crate::measurements::Measurements;
use crate::plan::{Case, PlanError};

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

/// The name, metrics and source of an experiment; all of it is fixed text.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Name on the command line, such as `ton97-table2`.
    pub name: &'static str,
    /// Name of the group of related experiments, such as `ton97`.
    pub group: &'static str,
    /// Title, in one line.
    pub title: &'static str,
    /// The paper with authors, year and the table or figure, or another source.
    pub source: &'static str,
    /// The default plan, in TOML (`include_str!`); see [`Plan`](crate::Plan) for its form.
    pub plan: &'static str,
    /// The metrics of a run, the most important first.
    pub metrics: &'static [Metric],
    /// The data file of the paper, in TOML, or empty; see [`Published`](crate::Published) for its form.
    pub published: &'static str,
    /// The parameters that the paper does not state.
    pub calibration: &'static [Calibration],
    /// Deviations from the paper with their reasons, in Markdown, or empty.
    pub deviations: &'static str,
}

/// A quantity that each run measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Name in lower case with `_`, such as `throughput`: a column of the results.
    pub name: &'static str,
    /// Unit, such as `Mbit/s` or `%`; empty for a plain number.
    pub unit: &'static str,
    /// Exact definition, in one line.
    pub description: &'static str,
}

/// A parameter that the paper does not state, and the reason for its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calibration {
    /// Dotted path within the `[parameters]` of the plan.
    pub key: &'static str,
    /// The measurement that it was fitted to (only those without loss), or the reason for the choice.
    pub reason: &'static str,
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
