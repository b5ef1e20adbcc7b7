//! The experiments that show a run over time.

use std::ops::ControlFlow;

use experiment::{About, Case, Claim, Experiment, Measurements, Metric, PlanError, RunError};
use simulator::{Limits, OnEvent};
use units::Instant;

use super::claims;
use super::run::read;
use super::tables::about;
use crate::metric;
use crate::moment::moment;
use crate::ton97::network::failed;
use crate::ton97::node::{Event, Node};

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

/// A run at a moment.
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
        let at = moment(case, set_up.parameters.at)?;
        let mut network = set_up.build(|node: Node| node)?;
        let mut end = OnEvent(|_: Instant, _, _: &Event| ControlFlow::Break(()));
        let simulation = &mut network.simulation;
        simulation
            .run(Limits::until(at), &mut end)
            .map_err(failed)?;
        let Node::Source(source) = simulation.node(network.source) else {
            return Err(failed("the network is not the comparison's"));
        };
        let sequence = source.endpoint().acknowledged_bytes();
        Ok(Measurements::new().with(SEQUENCE[0].name, sequence as f64))
    }

    fn claims(&self) -> Vec<Claim> {
        claims::trace()
    }
}
