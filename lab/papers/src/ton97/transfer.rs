//! One transfer, or one in each direction, and its metrics.

use std::ops::ControlFlow;

use experiment::{Measurements, Metric, RunError};
use simulator::{Ending, Limits, NodeId, Observer, OnEvent};
use units::Instant;

use super::base::{Station, Work};
use super::end::Counts;
use super::interface::Event;
use super::mobile::Mobile;
use super::network::{Network, SetUp, hosts};
use super::node::TonNode;
use super::parameters::Direction;
use super::source::Source;
use crate::metric;

/// The metrics of a transfer.
pub(crate) const METRICS: &[Metric] = &[
    metric(
        "throughput",
        "Mbit/s",
        "data that arrive at the mobile host's application, from the SYN on",
    ),
    metric(
        "wireless_goodput",
        "%",
        "the transfer, of the data that the base station sent on the air",
    ),
    metric(
        "wired_goodput",
        "%",
        "the transfer, of the data that the fixed host sent",
    ),
    metric("timeouts", "", "retransmission timeouts of the fixed host"),
    metric(
        "fast_retransmissions",
        "",
        "recoveries that acknowledgements brought about at the fixed host",
    ),
    metric(
        "retransmissions",
        "",
        "segments that the fixed host sent again",
    ),
    metric(
        "hop_timeouts",
        "",
        "timeouts of the base station: its agent's, or its connection's",
    ),
    metric(
        "hop_retransmissions",
        "",
        "segments that the base station sent again: its agent, or its connection",
    ),
];

/// The metrics of a transfer from the mobile host, in the order of [`METRICS`].
pub(crate) const UPLOAD_METRICS: &[Metric] = &[
    metric(
        "up_throughput",
        "Mbit/s",
        "data that arrive at the fixed host's application, from the SYN on",
    ),
    metric(
        "up_wireless_goodput",
        "%",
        "the transfer, of the data that the mobile host sent on the air",
    ),
    metric(
        "up_wired_goodput",
        "%",
        "the transfer, of the data that the base station sent on the wire",
    ),
    metric(
        "up_timeouts",
        "",
        "retransmission timeouts of the mobile host",
    ),
    metric(
        "up_fast_retransmissions",
        "",
        "recoveries that acknowledgements brought about at the mobile host",
    ),
    metric(
        "up_retransmissions",
        "",
        "segments that the mobile host's TCP sent again",
    ),
    metric(
        "up_hop_timeouts",
        "",
        "timeouts of the base station's connection to the fixed host",
    ),
    metric(
        "up_hop_retransmissions",
        "",
        "segments sent again by the agent's half below the mobile host's TCP, or on the base station's connection",
    ),
];

/// The result of one direction.
#[derive(Debug, Clone, Copy)]
struct DirectionResult {
    /// Time at which the last byte arrived; the SYN of the connection is sent at zero.
    end: Instant,
    /// Bytes transferred, zero if a connection gave up before, and bytes that crossed the wire and the air for them.
    data: u64,
    on_wire: u64,
    on_air: u64,
    /// Counters of the sender.
    sender: Counts,
    /// Number of timeouts and retransmitted segments below the sender, if a layer there retransmits.
    hop: (Option<u64>, Option<u64>),
}

/// A transfer that has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer {
    down: Option<DirectionResult>,
    up: Option<DirectionResult>,
}

/// Times at which all data had arrived, in each direction.
#[derive(Debug, Clone, Copy, Default)]
struct Ends {
    down: Option<Instant>,
    up: Option<Instant>,
}

impl Ends {
    fn note(&mut self, now: Instant, up: bool) {
        *(if up { &mut self.up } else { &mut self.down }) = Some(now);
    }

    fn is_all_of(&self, direction: Direction) -> bool {
        self.down.is_some() == direction.is_down() && self.up.is_some() == direction.is_up()
    }
}

impl Transfer {
    /// Builds the network and runs it.
    pub(crate) fn of(set_up: &SetUp) -> Result<Self, RunError> {
        let mut network = set_up.build(|node| node)?;
        Self::run(set_up, &mut network, &mut (), |node| node)
    }

    /// Returns the throughput at the mobile host's application, in Mbit/s.
    pub(crate) fn throughput(&self) -> f64 {
        self.down.map_or(0.0, |way| way.throughput())
    }

    /// Runs `network` with an observer until all data have arrived; `inner` returns the node inside its wrapping.
    pub(crate) fn run<N>(
        set_up: &SetUp,
        network: &mut Network<N>,
        observer: &mut impl Observer<N>,
        inner: impl Fn(&N) -> &TonNode,
    ) -> Result<Self, RunError>
    where
        N: simulator::Node<Event = Event>,
    {
        let direction = set_up.parameters.direction;
        let mut ends = Ends::default();
        let source = network.source;
        let watch = OnEvent(|now: Instant, node: NodeId, event: &Event| {
            if *event == Event::Broken {
                return ControlFlow::Break(());
            }
            ends.note(now, node == source);
            if ends.is_all_of(direction) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        let give_up = Instant::ZERO + set_up.parameters.give_up;
        let ending = network.run(Limits::until(give_up), &mut (watch, observer))?;
        let simulation = &network.simulation;
        let now = simulation.now();
        if ending != Ending::Stopped {
            let what = format!(
                "the transfer stood still, or took too long: no end by {now} s; see `give_up`"
            );
            return Err(RunError::Failed(what));
        }
        let nodes = [network.source, network.station, network.mobile];
        let (source, station, mobile) = hosts(nodes.map(|id| inner(simulation.node(id))))?;
        // Half a file is of no use: a connection that gives up has transferred nothing.
        let whole = |end: Option<Instant>| end.map_or(0, |_| set_up.parameters.transfer.get());
        let down = DirectionResult {
            end: ends.down.unwrap_or(now),
            data: whole(ends.down),
            ..DirectionResult::down(source, station)
        };
        let up = DirectionResult {
            end: ends.up.unwrap_or(now),
            data: whole(ends.up),
            ..DirectionResult::up(mobile, station)
        };
        Ok(Self {
            down: direction.is_down().then_some(down),
            up: direction.is_up().then_some(up),
        })
    }

    /// Returns the measurements: under the names of [`METRICS`] from the fixed host, of [`UPLOAD_METRICS`] from the
    /// mobile host.
    pub(crate) fn measurements(&self) -> Measurements {
        let ways = [(METRICS, self.down), (UPLOAD_METRICS, self.up)];
        let values = ways.into_iter().flat_map(|(metrics, way)| {
            let values = way.into_iter().flat_map(|way| way.values());
            metrics.iter().zip(values)
        });
        values.fold(Measurements::new(), |measured, (metric, value)| {
            measured.with_some(metric.name, value)
        })
    }
}

impl DirectionResult {
    /// Returns the direction from the fixed host; nothing has arrived yet.
    fn down(source: &Source, station: &Station) -> Self {
        let sender = Counts::of_tcp(source.endpoint());
        Self {
            end: Instant::ZERO,
            data: 0,
            on_wire: sender.bytes,
            on_air: station.to_air(),
            sender,
            hop: repeats(station.work()),
        }
    }

    /// Returns the direction from the mobile host; nothing has arrived yet.
    fn up(mobile: &Mobile, station: &Station) -> Self {
        let hop = match station.work() {
            Work::Split(split) => of_connection(split.wired()),
            Work::Forward | Work::Arq(_) | Work::Snoop(_) => (None, mobile.repairs()),
        };
        Self {
            end: Instant::ZERO,
            data: 0,
            on_wire: station.to_wire(),
            on_air: mobile.to_air(),
            sender: mobile.counts(),
            hop,
        }
    }

    /// Returns the throughput in Mbit/s.
    fn throughput(&self) -> f64 {
        self.data as f64 * 8e-6 / self.end.since(Instant::ZERO).as_secs_f64()
    }

    /// Returns the values in the order of [`METRICS`].
    fn values(&self) -> [Option<f64>; 8] {
        // Nothing was sent if no connection was made.
        let share = |sent: u64| (sent > 0).then(|| 100.0 * self.data as f64 / sent as f64);
        let count = |count: u64| count as f64;
        [
            Some(self.throughput()),
            share(self.on_air),
            share(self.on_wire),
            Some(count(self.sender.timeouts)),
            Some(count(self.sender.recoveries)),
            Some(count(self.sender.again)),
            self.hop.0.map(count),
            self.hop.1.map(count),
        ]
    }
}

/// Returns the timeouts and retransmitted segments of the base station, if it retransmits.
fn repeats(work: &Work) -> (Option<u64>, Option<u64>) {
    match work {
        Work::Forward | Work::Arq(_) => (None, None),
        Work::Snoop(agent) => {
            let counters = agent.counters();
            (Some(counters.timeouts), Some(counters.repairs))
        }
        Work::Split(split) => of_connection(split.hop().counts()),
    }
}

fn of_connection(counts: Counts) -> (Option<u64>, Option<u64>) {
    (Some(counts.timeouts), Some(counts.again))
}
