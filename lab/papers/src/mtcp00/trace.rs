//! The experiments that show a run over time.

use experiment::{About, Case, Claim, Experiment, Measurements, Metric, PlanError, RunError};

use super::claims;
use super::run::read;
use super::tables::about;
use crate::metric;
use crate::moment::moment;

const SEQUENCE: &[Metric] = &[metric(
    "sequence",
    "bytes",
    "what the fixed host has had acknowledged",
)];

pub(super) const FIGURE_11: OverTime = OverTime {
    about: about(
        [
            "mtcp00-fig11",
            "Figure 11: the transfer as the fixed host sees it, 5 % of packets damaged, wireless",
        ],
        SEQUENCE,
        concat!(
            include_str!("plans/fig11.toml"),
            include_str!("plans/schemes.toml"),
            include_str!("plans/parameters.toml")
        ),
    ),
};

/// An experiment that shows a run at moments.
#[derive(Debug)]
pub(super) struct OverTime {
    about: About,
}

impl Experiment for OverTime {
    fn about(&self) -> &About {
        &self.about
    }

    fn check(&self, case: &Case) -> Result<(), PlanError> {
        moment(case, read(case, 0)?.parameters.at).map(drop)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        let set_up = read(case, seed)?;
        let network = set_up.at(moment(case, set_up.parameters.at)?)?;
        let (source, ..) = network.nodes()?;
        let sequence = source.endpoint().acknowledged_bytes();
        Ok(Measurements::new().with(SEQUENCE[0].name, sequence as f64))
    }

    fn claims(&self) -> Vec<Claim> {
        claims::trace()
    }
}
