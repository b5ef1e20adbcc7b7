//! The keys of a plan.

pub(super) const EXPERIMENT: &str = "experiment";
pub(super) const PARAMETERS: &str = "parameters";
pub(super) const AXES: &str = "axes";
pub(super) const SCHEMES: &str = "schemes";
pub(super) const SEEDS: &str = "seeds";
/// The tables of a plan.
pub(super) const TABLES: [&str; 4] = [EXPERIMENT, PARAMETERS, AXES, SCHEMES];
