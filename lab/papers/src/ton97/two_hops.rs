//! The experiment of two hops between radio routers that lose whole packets.

use experiment::{About, Case, Experiment, Measurements, Metric, PlanError, RunError};
use units::Instant;

use super::about::about;
use super::parameters::Base;
use super::rival;
use crate::metric;
use network::Hops;
use plan::Plan;

mod network;
mod plan;

const METRICS: &[Metric] = &[
    metric(
        "throughput",
        "Mbit/s",
        "data that arrive at the mobile host's application",
    ),
    metric("timeouts", "", "retransmission timeouts of the fixed host"),
    metric("fast_retransmissions", "", "recoveries of the fixed host"),
    metric(
        "without_reduction",
        "",
        "of those, the ones that marks of air losses let leave the window as it was",
    ),
    metric(
        "congestion_losses",
        "",
        "data packets of the fixed host that a full queue refused and whose data came later (not for ARQ)",
    ),
    metric(
        "marked_by_mistake",
        "",
        "of those, the ones that acknowledgements told of as lost on the air, which never lost the same data",
    ),
    metric(
        "congestion_hidden",
        "",
        "of the refused, the ones that no smaller window answered since their data were first sent",
    ),
    metric(
        "air_losses",
        "",
        "data packets of the fixed host that a hop lost on the air (not told for ARQ)",
    ),
    metric(
        "missed",
        "",
        "of those, the ones that no acknowledgement told of as lost on the air",
    ),
    metric(
        "air_punished",
        "",
        "of those, the ones that a smaller window answered while nothing was missing that a queue had refused",
    ),
    metric(
        "rival_throughput",
        "Mbit/s",
        "data of all rivals in the same time",
    ),
];

/// The experiment of transfers across two hops.
#[derive(Debug)]
pub(super) struct TwoHops {
    about: About,
}

pub(super) const TWO_HOPS: TwoHops = TwoHops {
    about: About {
        metrics: METRICS,
        ..about(
            [
                "ton97-two-hops",
                "Beyond the paper: two lossy hops, ELN with exchanged queue lengths",
            ],
            concat!(
                include_str!("plans/two-hops.toml"),
                include_str!("plans/parameters.toml")
            ),
        )
    },
};

impl Experiment for TwoHops {
    fn about(&self) -> &About {
        &self.about
    }

    fn check(&self, case: &Case) -> Result<(), PlanError> {
        Plan::read(case, 0).map(drop)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        let plan = Plan::read(case, seed)?;
        let mut hops = Hops::build(&plan)?;
        let moved = hops.finish(&plan)?;
        let seconds = hops.simulation.now().since(Instant::ZERO).as_secs_f64();
        let rate = |bytes: u64| bytes as f64 * 8e-6 / seconds;
        let recovered = rival::endpoint(&hops.simulation, hops.source)?
            .counters()
            .recovered;
        let mut rivals = 0;
        for rival in &hops.rivals {
            rivals += rival::endpoint(&hops.simulation, *rival)?.acknowledged_bytes();
        }
        let measured = Measurements::new()
            .with("throughput", rate(moved))
            .with("timeouts", recovered.timeouts as f64)
            .with(
                "fast_retransmissions",
                recovered.fast_retransmissions as f64,
            )
            .with("without_reduction", recovered.without_reduction as f64)
            .with("rival_throughput", rate(rivals));
        Ok(match plan.ends.scheme.base {
            // Its hops carry frames, and its own queues are before those of the radios.
            Base::Arq => measured,
            _ => plan.with_losses(measured, &hops.losses.tally()),
        })
    }
}
