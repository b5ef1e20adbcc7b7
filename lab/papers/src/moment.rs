//! Runs over time, as figures and captures of the papers show them.
//!
//! Time is an axis of their plans, and a run shows the state at one moment. With a single seed, as in the plans, all
//! moments belong to the same run.

use experiment::{Case, PlanError};
use units::{Duration, Instant};

/// Returns the moment at which a run of a case is observed, from the plan's `at`; an experiment over time needs one.
pub(crate) fn moment(case: &Case, at: Option<Duration>) -> Result<Instant, PlanError> {
    let missing = || case.wrong_parameter("at", "give a moment, such as \"10 s\"");
    at.map(|at| Instant::ZERO + at).ok_or_else(missing)
}
