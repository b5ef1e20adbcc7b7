//! One transfer, and what is measured of it.

use std::ops::ControlFlow;

use experiment::{Measurements, Metric, RunError};
use simulator::{Ending, Limits, Observer, OnEvent};
use tcp::Counters;
use units::{Duration, Instant};

use super::base::Work;
use super::network::{Network, SetUp};
use super::node::{Event, Node};

/// What a transfer measures.
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

const fn metric(name: &'static str, unit: &'static str, description: &'static str) -> Metric {
    Metric {
        name,
        unit,
        description,
    }
}

/// A transfer that has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer {
    /// From the connection's SYN to the last byte's arrival.
    took: Duration,
    /// What was moved, nothing if a connection gave up, and what crossed the wire and the air for that, in bytes.
    data: u64,
    on_wire: u64,
    on_air: u64,
    /// The fixed host's counters.
    source: Counters,
    /// Timeouts and repeated segments of the base station, where it repeats anything.
    hop: Option<(u64, u64)>,
}

impl Transfer {
    /// Runs `network` until all data have arrived, before an observer; `inner` finds a node in its wrapping.
    pub(crate) fn run<N>(
        set_up: &SetUp,
        network: &mut Network<N>,
        observer: &mut impl Observer<N>,
        inner: impl Fn(&N) -> &Node,
    ) -> Result<Self, RunError>
    where
        N: simulator::Node<Event = Event>,
    {
        let mut broken = false;
        let watch = OnEvent(|_: Instant, _, event: &Event| {
            broken |= *event == Event::Broken;
            ControlFlow::Break(())
        });
        let give_up = Instant::ZERO + set_up.parameters.give_up;
        let simulation = &mut network.simulation;
        let ending = simulation.run(Limits::until(give_up), &mut (watch, observer));
        let ending = ending.map_err(|error| RunError::Failed(error.to_string()))?;
        let now = simulation.now();
        if ending != Ending::Stopped {
            let what = format!(
                "the transfer stood still, or took too long: no end by {now} s; see `give_up`"
            );
            return Err(RunError::Failed(what));
        }
        let source = inner(simulation.node(network.source));
        let station = inner(simulation.node(network.station));
        let (Node::Source(source), Node::Station(station)) = (source, station) else {
            return Err(RunError::Failed(
                "the network is not the comparison's".into(),
            ));
        };
        Ok(Self {
            took: now.since(Instant::ZERO),
            // Half a file is of no use: a connection that gives up has moved nothing.
            data: if broken {
                0
            } else {
                set_up.parameters.transfer.get()
            },
            on_wire: source.endpoint().counters().sent.bytes,
            on_air: station.to_air(),
            source: source.endpoint().counters(),
            hop: repeats(station.work()),
        })
    }

    /// As the lab stores it.
    pub(crate) fn measurements(&self) -> Measurements {
        let share = |sent: u64| 100.0 * self.data as f64 / sent as f64;
        let recovered = self.source.recovered;
        Measurements::new()
            .with(
                "throughput",
                self.data as f64 * 8e-6 / self.took.as_secs_f64(),
            )
            .with("wireless_goodput", share(self.on_air))
            .with("wired_goodput", share(self.on_wire))
            .with("timeouts", recovered.timeouts as f64)
            .with(
                "fast_retransmissions",
                recovered.fast_retransmissions as f64,
            )
            .with(
                "retransmissions",
                self.source.sent.retransmitted_segments as f64,
            )
            .with_some(
                "hop_timeouts",
                self.hop.map(|(timeouts, _)| timeouts as f64),
            )
            .with_some(
                "hop_retransmissions",
                self.hop.map(|(_, again)| again as f64),
            )
    }
}

/// Timeouts and repeated segments of the base station.
fn repeats(work: &Work) -> Option<(u64, u64)> {
    match work {
        Work::Forward | Work::Arq(_) => None,
        Work::Snoop(agent) => {
            let counters = agent.counters();
            Some((counters.timeouts, counters.repairs))
        }
        Work::Split(split) => {
            let counters = split.hop().counters();
            let again = counters.sent.retransmitted_segments;
            Some((counters.recovered.timeouts, again))
        }
    }
}
