//! The experiments of this program.

use experiment::Experiment;
use experiment::channel_errors;
use papers::{csdp96, handoff, matrix, mtcp00, nfs_csdp, nfs95, nfs97, ton97};

use crate::failure::Failure;

/// The experiments of each group, in the order of the list.
const GROUPS: &[&[&dyn Experiment]] = &[
    channel_errors::EXPERIMENTS,
    nfs95::EXPERIMENTS,
    csdp96::EXPERIMENTS,
    nfs97::EXPERIMENTS,
    nfs_csdp::EXPERIMENTS,
    ton97::EXPERIMENTS,
    mtcp00::EXPERIMENTS,
    matrix::EXPERIMENTS,
    handoff::EXPERIMENTS,
];

/// Returns all experiments.
pub(crate) fn all() -> impl Iterator<Item = &'static dyn Experiment> {
    GROUPS.iter().copied().flatten().copied()
}

/// Returns the experiment `name`.
pub(crate) fn named(name: &str) -> Result<&'static dyn Experiment, Failure> {
    let found = all().find(|experiment| experiment.about().name == name);
    found.ok_or_else(|| {
        let known: Vec<_> = all().map(|experiment| experiment.about().name).collect();
        let known = known.join(", ");
        Failure::setting(format!(
            "there is no experiment '{name}'; known are {known}"
        ))
    })
}

/// Returns the experiment `name`, or all experiments of the group `name`.
pub(crate) fn named_or_group(name: &str) -> Result<Vec<&'static dyn Experiment>, Failure> {
    let group: Vec<_> = all()
        .filter(|experiment| experiment.about().group == name)
        .collect();
    if group.is_empty() {
        return Ok(vec![named(name)?]);
    }
    Ok(group)
}
