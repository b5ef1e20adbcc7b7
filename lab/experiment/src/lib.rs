//! From a plan to runs, a table and a report.
//!
//! An [`Experiment`] runs one case with one seed. A [`Plan`] lists the cases and seeds; the [runner](run) distributes
//! them over all cores, stores each run when it ends, and resumes after an interruption. The [`Table`] has the
//! statistics beside the published numbers; the [report] shows it.
//!
//! Results depend only on plan and program: not on the number of cores, the order in which runs end, or interruptions.

mod about;
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

pub use about::{About, Calibration, Metric};
pub use claim::{Claim, Judged, Verdict};
pub use error::LabError;
pub use experiment::{Experiment, RunError, Tracer};
pub use measurements::Measurements;
pub use plan::{Adaptive, Axis, Case, Override, Plan, PlanError, Seeds};
pub use published::Published;
pub use runner::{Campaign, Progress, check, forget, load, load_plan, run};
pub use statistics::{Paired, Summary};
pub use storage::Program;
pub use table::{Row, RunKey, Table, Unknown};
