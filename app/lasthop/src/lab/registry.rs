//! The experiments that this program knows.

use experiment::Experiment;
use experiment::channel_errors;
use papers::{csdp96, matrix, mtcp00, nfs_csdp, nfs95, nfs97, ton97};

use crate::failure::Failure;

/// The experiments of each group, in the order in which they are listed.
const GROUPS: &[&[&dyn Experiment]] = &[
    channel_errors::EXPERIMENTS,
    nfs95::EXPERIMENTS,
    csdp96::EXPERIMENTS,
    nfs97::EXPERIMENTS,
    nfs_csdp::EXPERIMENTS,
    ton97::EXPERIMENTS,
    mtcp00::EXPERIMENTS,
    matrix::EXPERIMENTS,
];

/// All experiments.
pub(crate) fn all() -> impl Iterator<Item = &'static dyn Experiment> {
    GROUPS.iter().copied().flatten().copied()
}

/// The experiment called `name`.
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

/// The experiment called `name`, or all of the group of that name.
pub(crate) fn named_or_group(name: &str) -> Result<Vec<&'static dyn Experiment>, Failure> {
    let group: Vec<_> = all()
        .filter(|experiment| experiment.about().group == name)
        .collect();
    if group.is_empty() {
        return Ok(vec![named(name)?]);
    }
    Ok(group)
}
