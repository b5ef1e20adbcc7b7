//! Losses on the air and congestion at once: the fixed host and a rival share a wired bottleneck.

use std::net::SocketAddrV4;

use channel::Direction;
use experiment::{About, Case, Experiment, Measurements, Metric, PlanError, RunError};
use simulator::{LinkId, NodeId, Port, Simulation};
use units::Instant;

use super::about::about;
use super::base::Station;
use super::interface::{AIR, FIXED, MOBILE, WIRED};
use super::losses::{Losses, Tally};
use super::network::SetUp;
use super::node::TonNode;
use super::parameters::Base;
use super::rival::{self, Rival, ethernet};
use super::tables::set_up;
use crate::router::Router;
use crate::{failed, metric};

/// The only rival.
const RIVAL: Rival = Rival { index: 0 };
/// The port of a router that leads to the bottleneck.
const BOTTLENECK: Port = Port(2);

const METRICS: &[Metric] = &[
    metric(
        "throughput",
        "Mbit/s",
        "data that arrive at the mobile host's application",
    ),
    metric(
        "rival_throughput",
        "Mbit/s",
        "data of the rival, E2E without losses on the air, in the same time",
    ),
    metric("share", "%", "of the fixed host, in what both moved"),
    metric(
        "congestion_losses",
        "",
        "packets that the bottleneck's full queue refused, of both",
    ),
    metric("timeouts", "", "retransmission timeouts of the fixed host"),
    metric("fast_retransmissions", "", "recoveries of the fixed host"),
    metric(
        "without_reduction",
        "",
        "of those, the ones that marks of air losses let leave the window as it was",
    ),
    metric(
        "own_congestion_losses",
        "",
        "data packets of the fixed host that a full queue refused and whose data were acknowledged later",
    ),
    metric(
        "congestion_hidden",
        "",
        "of those, the ones that no smaller window answered since their data were first sent",
    ),
    metric(
        "congestion_marked",
        "",
        "of the hidden, the ones that acknowledgements told of as lost on the air",
    ),
    metric(
        "own_air_losses",
        "",
        "data packets of the fixed host that the air lost (not for SPLIT and ARQ, whose hop carries none)",
    ),
    metric(
        "air_punished",
        "",
        "of those, the ones that a smaller window answered while nothing was missing that a queue had refused",
    ),
];

/// An experiment: transfers beside a rival.
#[derive(Debug)]
pub(super) struct Rivalry {
    about: About,
}

pub(super) const CONGESTION: Rivalry = Rivalry {
    about: About {
        metrics: METRICS,
        ..about(
            [
                "ton97-congestion",
                "Beyond the paper: air losses, and a rival at a wired bottleneck",
            ],
            concat!(
                include_str!("plans/congestion.toml"),
                include_str!("plans/link-layer.toml"),
                include_str!("plans/end-to-end.toml"),
                include_str!("plans/split.toml"),
                include_str!("plans/parameters.toml")
            ),
        )
    },
};

/// The network with a rival, before its first event.
struct Shared {
    simulation: Simulation<TonNode>,
    source: NodeId,
    rival: NodeId,
    bottleneck: LinkId,
    losses: Losses,
}

impl Shared {
    fn build(set_up: &SetUp) -> Result<Self, RunError> {
        let mut simulation = Simulation::new();
        let (near, far) = (
            vec![(FIXED, WIRED), (RIVAL.local(), Port(1))],
            vec![(MOBILE, WIRED), (RIVAL.remote(), Port(1))],
        );
        let to = |hosts: &[(SocketAddrV4, Port)]| {
            hosts
                .iter()
                .map(|(host, _)| (*host, BOTTLENECK))
                .collect::<Vec<_>>()
        };
        let sides = [
            [near.clone(), to(&far)].concat(),
            [far.clone(), to(&near)].concat(),
        ];
        let [near, far] = sides.map(|routes| TonNode::Router(Router::new(routes)));
        let source = simulation.add("fixed", TonNode::Source(Box::new(set_up.source()?)));
        let rival = simulation.add("rival", RIVAL.source(set_up)?);
        let near = simulation.add("near", near);
        let far = simulation.add("far", far);
        let station = Station::new(set_up.work()?, set_up.parameters.repairs_ahead);
        let station = simulation.add("base", TonNode::Station(Box::new(station)));
        let mobile = simulation.add("mobile", TonNode::Mobile(Box::new(set_up.mobile()?)));
        let sink = simulation.add("sink", RIVAL.sink(set_up)?);
        let wire = set_up.parameters.wire().map_err(failed)?;
        let hop = set_up.parameters.hop(set_up.seed).map_err(failed)?;
        let ethernet = ethernet()?;
        // The path from the fixed host to the mobile host comes first.
        let links = [
            ((source, WIRED), (near, WIRED), &ethernet),
            ((near, BOTTLENECK), (far, BOTTLENECK), &wire),
            ((far, WIRED), (station, WIRED), &ethernet),
            ((station, AIR), (mobile, AIR), &hop),
            ((rival, WIRED), (near, Port(1)), &ethernet),
            ((far, Port(1)), (sink, AIR), &ethernet),
        ];
        let mut laid = Vec::new();
        for (first, second, line) in links {
            laid.push(simulation.connect(first, second, line).map_err(failed)?);
        }
        let own = if carries_own(set_up) { 4 } else { 3 };
        Ok(Self {
            losses: Losses::new(source, laid[0], laid[..own].to_vec()),
            bottleneck: laid[1],
            simulation,
            source,
            rival,
        })
    }
}

/// Returns true if the hop carries the fixed host's own segments, and not another connection's or frames.
fn carries_own(set_up: &SetUp) -> bool {
    match set_up.scheme.base {
        Base::Forward | Base::Snoop | Base::Mark => true,
        Base::Split | Base::Arq | Base::Mtcp | Base::MtcpWide => false,
    }
}

impl Experiment for Rivalry {
    fn about(&self) -> &About {
        &self.about
    }

    fn check(&self, case: &Case) -> Result<(), PlanError> {
        set_up(case, 0).map(drop)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        let set_up = set_up(case, seed)?;
        let mut shared = Shared::build(&set_up)?;
        let (simulation, losses) = (&mut shared.simulation, &mut shared.losses);
        let data = rival::finish(simulation, &set_up, &[shared.rival], losses)? as f64;
        let seconds = shared.simulation.now().since(Instant::ZERO).as_secs_f64();
        let (ours, theirs) = (
            rival::endpoint(&shared.simulation, shared.source)?,
            rival::endpoint(&shared.simulation, shared.rival)?,
        );
        let rival = theirs.acknowledged_bytes() as f64;
        let refused = |way| {
            let counters = shared.simulation.link_counters(shared.bottleneck, way);
            counters.dropped_queue.packets as f64
        };
        let recovered = ours.counters().recovered;
        let measured = Measurements::new()
            .with("throughput", data * 8e-6 / seconds)
            .with("rival_throughput", rival * 8e-6 / seconds)
            .with("share", 100.0 * data / (data + rival))
            .with(
                "congestion_losses",
                refused(Direction::Down) + refused(Direction::Up),
            )
            .with("timeouts", recovered.timeouts as f64)
            .with(
                "fast_retransmissions",
                recovered.fast_retransmissions as f64,
            )
            .with("without_reduction", recovered.without_reduction as f64);
        Ok(with_losses(measured, &shared.losses.tally(), &set_up))
    }
}

fn with_losses(measured: Measurements, tally: &Tally, set_up: &SetUp) -> Measurements {
    let on_air = |count: u64| carries_own(set_up).then_some(count as f64);
    measured
        .with("own_congestion_losses", tally.refused as f64)
        .with("congestion_hidden", tally.hidden as f64)
        .with("congestion_marked", tally.hidden_by_mark as f64)
        .with_some("own_air_losses", on_air(tally.corrupted))
        .with_some("air_punished", on_air(tally.punished))
}
