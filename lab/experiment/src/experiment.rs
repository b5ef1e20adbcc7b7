//! What the author of an experiment writes.

use std::io;

use thiserror::Error;

use crate::claim::Claim;
use crate::measurements::Measurements;
use crate::plan::{Case, PlanError};

/// An experiment that the lab can run: a table or a figure of a paper, or a study of one's own.
///
/// The lab reads the plan, makes a [`Case`] of every combination of scheme and axis values, calls
/// [`run`](Self::run) for each case and seed on all cores, and does everything else: storage, resuming,
/// statistics, comparison with what was published, the report. An implementation
///
/// 1. reads the case's parameters and scheme into structs of its own, which derive
///    `serde::Deserialize` with `deny_unknown_fields` (quantities by the types of `units`);
/// 2. draws all chance from streams of the seed
///    ([`RandomStream::named`](machine::RandomStream::named)), under names that do not mention the scheme, so
///    that seed k brings the same fades to every scheme;
/// 3. gives equal measurements for an equal case and seed, on any machine and thread;
/// 4. never sees a published number: those stand in [`About::published`], which only the lab reads.
///
/// [`channel_errors`](crate::channel_errors) is a whole one to start from.
pub trait Experiment: Send + Sync {
    /// What it is called, what it measures, and its default plan.
    fn about(&self) -> &About;

    /// Whether this case makes sense; asked for every case before the first run.
    ///
    /// Reading parameters and scheme already refuses unknown keys and wrong units. What only the
    /// experiment knows (a range, two keys that exclude each other) is refused by
    /// [`Case::wrong_parameter`] or [`Case::wrong_scheme`], which add the place in the plan.
    fn check(&self, case: &Case) -> Result<(), PlanError>;

    /// One run.
    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError>;

    /// What the paper says in words, to be judged over the whole table.
    fn claims(&self) -> Vec<Claim> {
        Vec::new()
    }

    /// How to record the packets of a run, if this experiment offers it.
    fn tracer(&self) -> Option<&dyn Tracer> {
        None
    }
}

/// What an experiment is called, what it measures, and where it comes from; all of it is fixed text.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// As the command line names it, such as `ton97-table2`.
    pub name: &'static str,
    /// The experiments that belong together, such as `ton97`.
    pub group: &'static str,
    /// What it shows, in a line.
    pub title: &'static str,
    /// The paper with authors, year and the table or figure, or whatever else it follows.
    pub source: &'static str,
    /// The default plan, in TOML (`include_str!`); see [`Plan`](crate::Plan) for its form.
    pub plan: &'static str,
    /// What a run measures, the most telling first.
    pub metrics: &'static [Metric],
    /// The paper's data file, in TOML, or nothing; see [`Published`](crate::Published) for its form.
    pub published: &'static str,
    /// The parameters that the paper does not state.
    pub calibration: &'static [Calibration],
    /// What deviates from the paper and why, in Markdown; or nothing.
    pub deviations: &'static str,
}

/// A quantity that each run measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// In lower case with `_`, such as `throughput`: a column of the results.
    pub name: &'static str,
    /// Such as `Mbit/s` or `%`; empty for a plain number.
    pub unit: &'static str,
    /// What exactly is measured, in a line.
    pub description: &'static str,
}

/// A parameter that the paper does not state, and what its value rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calibration {
    /// Its dotted path within the plan's `[parameters]`.
    pub key: &'static str,
    /// What it was fitted to (only what the paper measured without loss), or why it was chosen.
    pub reason: &'static str,
}

/// The optional ability to record a run.
pub trait Tracer {
    /// Runs the case and writes all packets to `pcap`, in the pcap or pcapng format, with virtual times.
    fn trace(&self, case: &Case, seed: u64, pcap: &mut dyn io::Write) -> Result<(), RunError>;
}

/// Why a run has no measurements.
#[derive(Debug, Error)]
pub enum RunError {
    /// The case makes no sense; the check before the first run missed it.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// What is wrong, in a sentence.
    #[error("{0}")]
    Failed(String),
    /// The trace cannot be written.
    #[error("cannot write the trace: {0}")]
    Trace(#[from] io::Error),
}
