//! The experiments of the papers, one module for each paper: set-up, schemes, published numbers, claims.

mod host_work;
mod link_repair;
mod links;
mod moment;
mod nfs;
mod recordings;
mod router;

pub mod csdp96;
pub mod handoff;
pub mod matrix;
pub mod mtcp00;
pub mod nfs95;
pub mod nfs97;
pub mod nfs_csdp;
pub mod ton97;

/// Converts the error of a part to that of the run.
fn failed(error: impl std::fmt::Display) -> experiment::RunError {
    experiment::RunError::Failed(error.to_string())
}

/// Creates a metric: its name, unit and exact definition.
const fn metric(
    name: &'static str,
    unit: &'static str,
    description: &'static str,
) -> experiment::Metric {
    experiment::Metric {
        name,
        unit,
        description,
    }
}
