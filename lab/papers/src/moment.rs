//! Runs over time, as the papers' figures and captures show them.
//!
//! Time is an axis of their plans, and a run shows the state at one moment. With one seed, as the plans have it, the
//! moments are those of one and the same run.

use experiment::{Case, PlanError};
use units::{Duration, Instant};

/// The moment at which a run of a case is looked at, whose plan says `at`; an experiment over time needs one.
pub(crate) fn moment(case: &Case, at: Option<Duration>) -> Result<Instant, PlanError> {
    let missing = || case.wrong_parameter("at", "give a moment, such as \"10 s\"");
    at.map(|at| Instant::ZERO + at).ok_or_else(missing)
}
