//! A run and its metrics.

use std::ops::ControlFlow;

use experiment::{Measurements, Metric, RunError};
use scheduler::config::{Discipline, Monitor};
use simulator::{Ending, Limits, NodeId, OnEvent};
use units::{Duration, Instant};

use super::cell::Cell;
use super::fixed::{FixedHosts, Host};
use super::interface::Event;
use super::mobile::Mobile;
use super::network::{Network, SetUp};
use super::node::CsdpNode;
use super::queue::{Queue, Tally};
use super::receiver::Receiver;
use crate::metric;

/// The metrics of transfers by all connections.
pub(crate) const METRICS: &[Metric] = &[
    metric(
        "finish_max",
        "s",
        "when the last connection ends; the less, the better the air is used",
    ),
    metric("finish_min", "s", "when the first connection ends"),
    metric(
        "finish_spread",
        "s",
        "from the end of the first connection to that of the last: unfairness",
    ),
    metric(
        "finish_mean",
        "s",
        "when connections end, in the mean over them",
    ),
    metric(
        "utilisation",
        "%",
        "bytes that the base station delivered in a second in which it had something for a good channel, of what it \
         delivers in a second of backlog without errors",
    ),
    metric(
        "fairness",
        "",
        "Jain's index of airtime by time good and backlogged, over mobile hosts, until the first connection ends",
    ),
    metric(
        "spurious",
        "",
        "segments that fixed hosts sent again though they had arrived, or did later",
    ),
    metric("timeouts", "", "retransmission timeouts of all fixed hosts"),
    metric(
        "given_up",
        "",
        "frames that the base station dropped after the last try",
    ),
    metric(
        "put_back",
        "",
        "failed tries after which a frame went back to its queue",
    ),
    metric(
        "delay",
        "ms",
        "from the wire to the MAC's acknowledgement, in the mean over frames",
    ),
    metric(
        "longest_timeout",
        "s",
        "the longest retransmission timeout of any fixed host once it knew its round trip",
    ),
    metric(
        "broken",
        "",
        "connections that a host gave up; they count as ended then",
    ),
    metric(
        "overflows",
        "",
        "packets that a queue of a driver had no room for",
    ),
];

/// The metrics of each connection.
pub(crate) const CONNECTION_METRICS: &[Metric] =
    &[metric("finish", "s", "when the connection ends")];

/// The metrics of a span of time.
pub(crate) const SPAN_METRICS: &[Metric] = &[
    metric(
        "others",
        "kbit/s",
        "data that arrive at the application of a mobile host other than the last, in the mean over them",
    ),
    metric(
        "last",
        "kbit/s",
        "data that arrive at the last mobile host's application",
    ),
    metric(
        "others_airtime",
        "%",
        "time for which the base station used the air for a mobile host other than the last, in the mean over them",
    ),
    metric(
        "last_airtime",
        "%",
        "time for which it used the air for the last mobile host",
    ),
];

/// Transfers that have ended.
pub(crate) struct Transfers {
    network: Network,
    /// Time at which the data of each connection had arrived, or the connection was given up; by number.
    pub(crate) ends: Vec<Instant>,
    /// Jain's index at the first of these times.
    fairness: Option<f64>,
    /// Number of connections that were given up before.
    broken: u64,
}

impl Network {
    /// Returns the fixed hosts.
    pub(crate) fn fixed(&self) -> Result<&FixedHosts, RunError> {
        match self.simulation.node(self.fixed) {
            CsdpNode::Fixed(hosts) => Ok(hosts),
            CsdpNode::Cell(_) => Err(RunError::Failed("the fixed hosts are missing".into())),
        }
    }

    /// Returns the air with its stations.
    pub(crate) fn cell(&self) -> Result<&Cell<Receiver>, RunError> {
        match self.simulation.node(self.cell) {
            CsdpNode::Cell(cell) => Ok(cell),
            CsdpNode::Fixed(_) => Err(RunError::Failed("the air is missing".into())),
        }
    }

    /// Runs until the next event, or until `limit`.
    pub(crate) fn next_event(&mut self, limit: Instant) -> Result<Option<Event>, RunError> {
        let mut seen = None;
        let mut watch = OnEvent(|_: Instant, _: NodeId, event: &Event| {
            seen = Some(*event);
            ControlFlow::Break(())
        });
        let ending = self.simulation.run(Limits::until(limit), &mut watch);
        let ending = ending.map_err(|error| RunError::Failed(error.to_string()))?;
        Ok(seen.filter(|_| ending == Ending::Stopped))
    }
}

impl Transfers {
    /// Runs a case until all data have arrived.
    pub(crate) fn run(set_up: &SetUp) -> Result<Self, RunError> {
        let mut network = set_up.build()?;
        let count = usize::from(set_up.parameters.connections);
        let limit = Instant::ZERO + set_up.parameters.until;
        let mut ends = vec![None; count];
        let mut fairness = None;
        let mut broken = 0;
        while ends.contains(&None) {
            let event = network.next_event(limit)?;
            let now = network.simulation.now();
            let Some(Event::Done(mobile) | Event::Broken(mobile)) = event else {
                let what = format!("the transfers took too long: no end by {now} s; see `until`");
                return Err(RunError::Failed(what));
            };
            if ends.iter().all(Option::is_none) {
                fairness = jain(network.cell()?, now);
            }
            // A connection that breaks after its data have arrived does not matter.
            if let Some(end) = ends
                .get_mut(usize::from(mobile))
                .filter(|end| end.is_none())
            {
                *end = Some(now);
                broken += u64::from(event == Some(Event::Broken(mobile)));
            }
        }
        Ok(Self {
            network,
            ends: ends.into_iter().flatten().collect(),
            fairness,
            broken,
        })
    }

    /// Returns the bytes that the base station delivered per second with packets for a good channel.
    fn rate(&self) -> Result<f64, RunError> {
        let station = self.network.cell()?.station();
        let open = station.channels().any_open(self.network.simulation.now());
        let delivered = station.queues().iter().map(|queue| queue.tally().delivered);
        let delivered: u64 = delivered.map(units::Bytes::get).sum();
        Ok(delivered as f64 / open.as_secs_f64())
    }

    /// Returns the measurements, under the names of [`METRICS`].
    pub(crate) fn measurements(&self, set_up: &SetUp) -> Result<Measurements, RunError> {
        let (cell, fixed) = (self.network.cell()?, self.network.fixed()?);
        let ends = self.ends.iter().map(|end| end.since_origin().as_secs_f64());
        let ends: Vec<f64> = ends.collect();
        let first = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let last = ends.iter().copied().fold(0.0, f64::max);
        let reference = Self::run(&set_up.reference())?.rate()?;
        let tallies = cell.station().queues().iter().map(Queue::tally);
        let total = |of: fn(&Tally) -> u64| tallies.clone().map(of).sum::<u64>() as f64;
        let waited: Duration = tallies.clone().map(|tally| tally.waited).sum();
        let mobiles = cell.mobiles().iter();
        let endpoints = mobiles
            .clone()
            .filter_map(|mobile| mobile.host().endpoint());
        let spurious = endpoints.map(|endpoint| endpoint.counters().received.duplicates);
        let refused = mobiles.map(|mobile| mobile.queue().tally().refused);
        let refused = refused.sum::<u64>() as f64 + total(|tally| tally.refused);
        let hosts = fixed.hosts().iter();
        let timeouts = hosts
            .clone()
            .map(|host| host.endpoint().counters().recovered.timeouts);
        let longest = hosts.map(Host::longest_timeout).max();
        let measured = Measurements::new()
            .with("finish_max", last)
            .with("finish_min", first)
            .with("finish_spread", last - first)
            .with("finish_mean", ends.iter().sum::<f64>() / ends.len() as f64)
            .with("utilisation", 100.0 * self.rate()? / reference)
            .with_some("fairness", self.fairness)
            .with("spurious", spurious.sum::<u64>() as f64)
            .with("timeouts", timeouts.sum::<u64>() as f64)
            .with("given_up", total(|tally| tally.given_up))
            .with("put_back", total(|tally| tally.put_back))
            .with(
                "delay",
                waited.as_secs_f64() * 1e3 / total(|tally| tally.frames),
            )
            .with("broken", self.broken as f64)
            .with("overflows", refused);
        let longest = longest.map(Duration::as_secs_f64);
        Ok(measured.with_some("longest_timeout", longest))
    }
}

impl SetUp {
    /// Returns the run without errors that is the reference of utilisation.
    fn reference(&self) -> Self {
        Self {
            parameters: self.parameters.without_errors(),
            scheme: scheduler::Config {
                discipline: Discipline::RoundRobin,
                monitor: Monitor::Perfect,
            },
            seed: self.seed,
        }
    }

    /// Runs a case until its time is over; returns the measurements under the names of [`SPAN_METRICS`].
    pub(crate) fn span(&self) -> Result<Measurements, RunError> {
        let mut network = self.build()?;
        let end = Instant::ZERO + self.parameters.until;
        while network.next_event(end)?.is_some() {}
        let seconds = self.parameters.until.as_secs_f64();
        let cell = network.cell()?;
        let mobiles = cell.mobiles().iter().map(Mobile::host);
        let endpoints = mobiles.filter_map(Receiver::endpoint);
        let rates = endpoints.map(|endpoint| {
            let received = endpoint.counters().received.bytes;
            received as f64 * 8e-3 / seconds
        });
        let airtimes = (0..self.parameters.connections).map(|mobile| {
            let airtime = cell.station().status(mobile).airtime;
            100.0 * airtime.as_secs_f64() / seconds
        });
        let (others, last) = apart(&rates.collect::<Vec<_>>());
        let (others_airtime, last_airtime) = apart(&airtimes.collect::<Vec<_>>());
        Ok(Measurements::new()
            .with_some("others", others)
            .with_some("last", last)
            .with_some("others_airtime", others_airtime)
            .with_some("last_airtime", last_airtime))
    }
}

/// Returns the mean of all but the last, and the last.
fn apart(values: &[f64]) -> (Option<f64>, Option<f64>) {
    let Some((last, others)) = values.split_last() else {
        return (None, None);
    };
    let mean = others.iter().sum::<f64>() / others.len() as f64;
    (Some(mean).filter(|mean| mean.is_finite()), Some(*last))
}

/// Returns Jain's index of airtime divided by time good and backlogged; `None` without such time.
fn jain(cell: &Cell<Receiver>, now: Instant) -> Option<f64> {
    let station = cell.station();
    let shares = (0..).zip(station.queues()).filter_map(|(mobile, _)| {
        let open = station.channels().open(now, mobile);
        let airtime = station.status(mobile).airtime;
        (!open.is_zero()).then(|| airtime.as_secs_f64() / open.as_secs_f64())
    });
    jains_index(&shares.collect::<Vec<_>>())
}

/// Returns Jain's fairness index of these shares (Jain, Chiu, Hawe 1984): 1 if they are equal, 1 ÷ their number if one
/// has all; `None` if all are zero.
pub(crate) fn jains_index(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}
