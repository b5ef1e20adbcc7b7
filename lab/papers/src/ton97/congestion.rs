//! Air losses and congestion at once: the fixed host and a rival share a wired bottleneck.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::ControlFlow;

use channel::{Direction, DirectionConfig, QueueBound};
use experiment::{About, Case, Experiment, Measurements, Metric, PlanError, RunError};
use simulator::{Ending, Limits, Line, LinkId, NodeId, OnEvent, Port, Simulation};
use tcp::{Endpoint, Policy};
use units::{Bytes, Duration, Instant};

use super::base::Station;
use super::mobile::Mobile;
use super::network::{FIXED, MOBILE, SetUp, connection, failed};
use super::node::{AIR, Event, Node, WIRED};
use super::router::Router;
use super::source::Source;
use super::tables::{about, set_up};

/// Where the rival sends from and to.
const RIVAL: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 6_001);
const SINK: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 2, 1), 6_002);
/// More than the rival sends while the transfer lasts.
const ENDLESS: Bytes = Bytes::new(1 << 40);
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
];

const fn metric(name: &'static str, unit: &'static str, description: &'static str) -> Metric {
    Metric {
        name,
        unit,
        description,
    }
}

/// Transfers beside a rival.
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

/// The network with a rival, at rest.
struct Shared {
    simulation: Simulation<Node>,
    source: NodeId,
    rival: NodeId,
    bottleneck: LinkId,
}

impl Shared {
    fn build(set_up: &SetUp) -> Result<Self, RunError> {
        let mut simulation = Simulation::new();
        let rival = set_up.host("rival", Policy::Reno);
        let rival = Endpoint::new(connection(RIVAL, SINK, 5_000), rival).map_err(failed)?;
        let sink = set_up.host("sink", Policy::Reno);
        let sink = Endpoint::listening(connection(SINK, RIVAL, 6_000), sink).map_err(failed)?;
        let (near, far) = (
            vec![(FIXED, WIRED), (RIVAL, Port(1))],
            vec![(MOBILE, WIRED), (SINK, Port(1))],
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
        let [near, far] = sides.map(|routes| Node::Router(Router::new(routes)));
        let source = simulation.add("fixed", Node::Source(Box::new(set_up.source()?)));
        let rival = simulation.add("rival", Node::Source(Box::new(Source::new(rival, ENDLESS))));
        let near = simulation.add("near", near);
        let far = simulation.add("far", far);
        let station = Station::new(set_up.work()?, set_up.parameters.repairs_ahead);
        let station = simulation.add("base", Node::Station(Box::new(station)));
        let mobile = simulation.add("mobile", Node::Mobile(Box::new(set_up.mobile()?)));
        let sink = Mobile::new(sink, None, ENDLESS);
        let sink = simulation.add("sink", Node::Mobile(Box::new(sink)));
        let wire = set_up.parameters.wire().map_err(failed)?;
        let hop = set_up.parameters.hop(set_up.seed).map_err(failed)?;
        let ethernet = ethernet()?;
        let bottleneck = simulation.connect((near, BOTTLENECK), (far, BOTTLENECK), &wire);
        let links = [
            ((source, WIRED), (near, WIRED), &ethernet),
            ((rival, WIRED), (near, Port(1)), &ethernet),
            ((far, WIRED), (station, WIRED), &ethernet),
            ((far, Port(1)), (sink, AIR), &ethernet),
            ((station, AIR), (mobile, AIR), &hop),
        ];
        for (first, second, line) in links {
            simulation.connect(first, second, line).map_err(failed)?;
        }
        Ok(Self {
            bottleneck: bottleneck.map_err(failed)?,
            simulation,
            source,
            rival,
        })
    }

    fn endpoint(&self, id: NodeId) -> Result<&Endpoint, RunError> {
        match self.simulation.node(id) {
            Node::Source(source) => Ok(source.endpoint()),
            _ => Err(RunError::Failed("this node is no source".into())),
        }
    }
}

/// What joins hosts and routers.
fn ethernet() -> Result<Line, RunError> {
    let rate = "10 Mbit/s".parse().map_err(failed)?;
    let queue = QueueBound::Packets(50);
    let each = DirectionConfig::steady(rate, Duration::from_micros(100), queue);
    Line::wire(each).map_err(failed)
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
        let mut end = OnEvent(|_: Instant, _, _: &Event| ControlFlow::Break(()));
        let give_up = Instant::ZERO + set_up.parameters.give_up;
        let ending = shared.simulation.run(Limits::until(give_up), &mut end);
        if ending.map_err(failed)? != Ending::Stopped {
            return Err(RunError::Failed(
                "the transfer did not end; see `give_up`".into(),
            ));
        }
        let seconds = shared.simulation.now().since(Instant::ZERO).as_secs_f64();
        let (ours, theirs) = (
            shared.endpoint(shared.source)?,
            shared.endpoint(shared.rival)?,
        );
        let data = set_up.parameters.transfer.get() as f64;
        let rival = theirs.acknowledged_bytes() as f64;
        let refused = |way| {
            let counters = shared.simulation.link_counters(shared.bottleneck, way);
            counters.dropped_queue.packets as f64
        };
        let recovered = ours.counters().recovered;
        Ok(Measurements::new()
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
            .with("without_reduction", recovered.without_reduction as f64))
    }
}
