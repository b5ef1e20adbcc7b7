//! From a plan to runs, a table and a report.
//!
//! An [`Experiment`] knows how to run one case with one seed. A [`Plan`] says which cases and seeds; the
//! [runner](run) spreads them over all cores, stores each as it ends, and goes on from there when it was
//! broken off. The [`Table`] has the statistics, beside what was published; the [report] shows it.
//!
//! Results are a function of plan and program: not of the number of cores, nor of the order in which runs
//! ended, nor of interruptions.

pub mod channel_errors;
mod claim;
mod error;
mod experiment;
mod grid;
mod journal;
mod measurements;
mod plan;
mod published;
pub mod report;
mod runner;
mod schedule;
mod statistics;
pub mod storage;
mod table;
pub mod text;

pub use claim::{Claim, Judged, Unknown, Verdict};
pub use error::LabError;
pub use experiment::{About, Calibration, Experiment, Metric, RunError, Tracer};
pub use measurements::Measurements;
pub use plan::{Adaptive, Axis, Case, Override, Plan, PlanError, Seeds};
pub use published::Published;
pub use runner::{Campaign, Progress, check, forget, load, load_plan, run};
pub use statistics::{Paired, Summary};
pub use storage::Program;
pub use table::{Row, RunKey, Table};
