//! One run and its metrics.

use std::ops::ControlFlow;

use channel::Direction;
use experiment::{Measurements, Metric, RunError};
use machine::RandomStream;
use simulator::{Limits, NodeId, Observer, OnEvent};
use units::{Duration, Instant};

use super::client::ClientHost;
use super::interface::Event;
use super::network::{Network, SetUp};
use super::node::NfsNode;
use crate::failed;
use crate::metric;

/// The metrics of a run.
pub(crate) const METRICS: &[Metric] = &[
    metric(
        "response",
        "s",
        "from the application's start to the end of the copy, at the first client",
    ),
    metric(
        "throughput",
        "KB/s",
        "1,000 bytes of the file in a second, at the first client",
    ),
    metric(
        "others",
        "s",
        "the same time at the other clients, in the mean",
    ),
    metric(
        "wired",
        "s",
        "the same time at the clients on the wire, in the mean",
    ),
    metric(
        "aborted",
        "",
        "runs before this one that took too long and were terminated; 50: none ended in time",
    ),
    metric("calls", "", "calls of the first client, each counted once"),
    metric(
        "retransmissions",
        "",
        "calls that the first client sent again",
    ),
    metric(
        "overflows",
        "",
        "packets for which the first client's card had no room",
    ),
    metric(
        "station_overflows",
        "",
        "packets for which the base station's card had no room",
    ),
    metric(
        "faded",
        "",
        "packets that fades swallowed in the first client's driver",
    ),
    metric(
        "incomplete",
        "",
        "datagrams to the first client of which fragments were missing",
    ),
    metric(
        "air",
        "MB",
        "1,000,000 bytes that crossed the air, both ways, headers included",
    ),
    metric("asked", "", "datagrams that reached the server"),
];

/// Largest number of runs in a row that exceed their time limit; after them, none is expected to end in time.
const ATTEMPTS: u64 = 50;

/// Duration of the copy of each client; `None` until it ends.
type Ends = Vec<Option<Duration>>;

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) network: Network,
    pub(crate) ends: Ends,
    /// Number of earlier runs that were terminated.
    aborted: u64,
}

impl SetUp {
    /// Returns the same set-up with other randomness.
    fn again(&self, attempt: u64) -> Self {
        let seed = match attempt {
            0 => self.seed,
            _ => RandomStream::named(self.seed, &format!("nfs/attempt/{attempt}")).next_u64(),
        };
        Self {
            parameters: self.parameters.clone(),
            scheme: self.scheme.clone(),
            seed,
        }
    }
}

impl Run {
    /// Runs a case until all files are copied, and repeats it as the plan demands. If no run ends in time, the last one
    /// stands for them, without end.
    pub(crate) fn of(set_up: &SetUp) -> Result<Self, RunError> {
        let copy = &set_up.parameters.copy;
        let Some(limit) = copy.abort_after else {
            let run = Self::until(set_up.build()?, Instant::ZERO + copy.give_up, &mut ())?;
            if run.ends.iter().any(Option::is_none) {
                let moved = run.client(0).map_or(0, |client| client.counts().copied);
                let what = format!("after {} only {moved} bytes were copied", copy.give_up);
                return Err(RunError::Failed(what));
            }
            run.check(set_up)?;
            return Ok(run);
        };
        let mut aborted = 0;
        loop {
            let network = set_up.again(aborted).build()?;
            let run = Self::until(network, Instant::ZERO + limit, &mut ())?;
            if run.ends.iter().all(Option::is_some) {
                run.check(set_up)?;
                return Ok(Self { aborted, ..run });
            }
            aborted += 1;
            if aborted == ATTEMPTS {
                let ends = vec![None; run.ends.len()];
                return Ok(Self {
                    ends,
                    aborted,
                    ..run
                });
            }
        }
    }

    /// Runs a network with an observer until all files are copied or the time is over.
    pub(crate) fn until(
        mut network: Network,
        limit: Instant,
        observer: &mut impl Observer<NfsNode>,
    ) -> Result<Self, RunError> {
        let mut ends: Ends = vec![None; network.clients.len()];
        let mut failure = None;
        let clients = network.clients.clone();
        let watch = OnEvent(|_: Instant, node: NodeId, event: &Event| {
            match event {
                Event::Copied(took) => {
                    if let Some(place) = clients.iter().position(|client| *client == node) {
                        ends[place] = Some(*took);
                    }
                }
                Event::Failed(why) => failure = Some(why.clone()),
            }
            if failure.is_some() || ends.iter().all(Option::is_some) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        let simulation = &mut network.simulation;
        simulation
            .run(Limits::until(limit), &mut (watch, observer))
            .map_err(failed)?;
        match failure {
            Some(why) => Err(RunError::Failed(format!("a copy failed: {why}"))),
            None => Ok(Self {
                network,
                ends,
                aborted: 0,
            }),
        }
    }

    /// Checks that the server has all of every file.
    fn check(&self, set_up: &SetUp) -> Result<(), RunError> {
        let NfsNode::Server(server) = self.network.simulation.node(self.network.server) else {
            return Err(RunError::Failed("there is no server".into()));
        };
        set_up.site().check(server)
    }

    /// Returns the host of a client.
    pub(crate) fn client(&self, number: usize) -> Option<&ClientHost> {
        let id = self.network.clients.get(number)?;
        match self.network.simulation.node(*id) {
            NfsNode::Client(client) => Some(client),
            NfsNode::Server(_) | NfsNode::Station(_) | NfsNode::Air(_) => None,
        }
    }

    /// Returns the number of datagrams that reached the server.
    fn asked(&self) -> u64 {
        match self.network.simulation.node(self.network.server) {
            NfsNode::Server(server) => server.datagrams(),
            NfsNode::Station(_) | NfsNode::Air(_) | NfsNode::Client(_) => 0,
        }
    }

    /// Returns the number of packets that the base station's card dropped because its buffer was full.
    fn station_overflows(&self) -> u64 {
        match self.network.simulation.node(self.network.station) {
            NfsNode::Station(station) => station.overflows(),
            NfsNode::Server(_) | NfsNode::Air(_) | NfsNode::Client(_) => 0,
        }
    }

    /// Returns the measurements.
    pub(crate) fn measurements(&self, set_up: &SetUp) -> Measurements {
        let response = mean(self.ends.get(..1).unwrap_or_default());
        let file = set_up.parameters.copy.file.get() as f64;
        let mobile = set_up.parameters.hosts.mobile as usize;
        let (mobiles, wired) = self.ends.split_at(mobile.min(self.ends.len()));
        let others = mobiles.get(1..).unwrap_or_default();
        let crossed = Direction::BOTH.map(|way| {
            let counters = self.network.simulation.link_counters(self.network.air, way);
            counters.transmitted.bytes.get()
        });
        let measured = Measurements::new()
            .with_some("response", response)
            .with_some("throughput", response.map(|response| file / response / 1e3))
            .with_some("others", mean(others))
            .with_some("wired", mean(wired))
            .with("aborted", self.aborted as f64)
            .with("air", crossed.iter().sum::<u64>() as f64 / 1e6)
            .with("station_overflows", self.station_overflows() as f64)
            .with("asked", self.asked() as f64);
        let Some(client) = self.client(0) else {
            return measured;
        };
        let client = client.counts();
        let counts = [
            ("calls", client.calls),
            ("retransmissions", client.again),
            ("overflows", client.overflows),
            ("faded", client.faded),
            ("incomplete", client.incomplete),
        ];
        let counts = counts.into_iter();
        counts.fold(measured, |measured, (name, count)| {
            measured.with(name, count as f64)
        })
    }
}

/// Returns the mean of the copies that ended, in seconds.
fn mean(ends: &[Option<Duration>]) -> Option<f64> {
    let seconds = ends.iter().flatten().map(|took| took.as_secs_f64());
    let count = ends.iter().flatten().count();
    (count > 0).then(|| seconds.sum::<f64>() / count as f64)
}
