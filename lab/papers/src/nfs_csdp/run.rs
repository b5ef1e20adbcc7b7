//! A run and its metrics.

use std::ops::ControlFlow;

use experiment::{Measurements, Metric, RunError};
use simulator::{Ending, Limits, NodeId, OnEvent};
use units::{Duration, Instant};

use super::network::{Network, SetUp};
use crate::csdp96::mobile::Mobile;
use crate::csdp96::queue::Tally;
use crate::csdp96::run::jains_index;
use crate::failed;
use crate::metric;
use crate::nfs::client::Counts;
use crate::nfs::interface::Event;

/// The metrics of copies by all clients.
pub(super) const METRICS: &[Metric] = &[
    metric(
        "throughput",
        "KB/s",
        "1,000 bytes of files that cross the network in a second, of all clients, until the last ends or the run is \
         terminated",
    ),
    metric(
        "finish_max",
        "s",
        "when the last client ends, where all do in time",
    ),
    metric(
        "finish_min",
        "s",
        "when the first client ends, where one does in time",
    ),
    metric(
        "unfinished",
        "",
        "clients that have not ended when the run is terminated",
    ),
    metric(
        "spurious",
        "%",
        "of the calls that clients send, repeats included: those that were sent again though a reply came, so that \
         another came to a call that had been answered",
    ),
    metric(
        "repeats",
        "%",
        "of the calls that clients send: those that have been sent before",
    ),
    metric(
        "fairness",
        "",
        "Jain's index over clients of what has crossed the network when the first ends",
    ),
    metric("busy", "%", "of the time: frames are on the air"),
    metric(
        "collisions",
        "%",
        "of the turns on the air: several stations begin at once",
    ),
    metric(
        "waiting",
        "ms",
        "from a driver's queue to the MAC's acknowledgement, in the mean over frames, both ways",
    ),
    metric(
        "given_up",
        "%",
        "of the packets that leave drivers: dropped after the last try",
    ),
    metric(
        "refused",
        "%",
        "of the packets that come to drivers: their queue had no room",
    ),
];

/// Copies that have ended, or have been terminated.
#[derive(Debug)]
pub(super) struct Run {
    network: Network,
    /// Times at which clients ended, in this order.
    ends: Vec<Instant>,
    /// Time at which the last one ended, or the run was terminated.
    until: Instant,
    /// Jain's index when the first one ended, or the run was terminated.
    fairness: Option<f64>,
}

impl Network {
    /// Runs until the next copy has ended, or until `limit`.
    fn next_end(&mut self, limit: Instant) -> Result<Option<Instant>, RunError> {
        let mut seen = None;
        let mut watch = OnEvent(|_: Instant, _: NodeId, event: &Event| {
            seen = Some(event.clone());
            ControlFlow::Break(())
        });
        let ending = self.simulation.run(Limits::until(limit), &mut watch);
        let ending = ending.map_err(failed)?;
        match seen.filter(|_| ending == Ending::Stopped) {
            Some(Event::Copied(_)) => Ok(Some(self.simulation.now())),
            Some(Event::Failed(why)) => Err(RunError::Failed(format!("a copy failed: {why}"))),
            None => Ok(None),
        }
    }

    /// Returns the counters of each client.
    fn clients(&self) -> Result<Vec<Counts>, RunError> {
        let mobiles = self.cell()?.mobiles().iter();
        Ok(mobiles.map(|mobile| mobile.host().counts()).collect())
    }

    /// Returns Jain's index of the bytes that have crossed the network for each client.
    fn fairness(&self) -> Result<Option<f64>, RunError> {
        let clients = self.clients()?.into_iter();
        let shares: Vec<_> = clients.map(|client| client.crossed as f64).collect();
        Ok(jains_index(&shares))
    }
}

impl Run {
    /// Runs a case until all files are copied, or its time is over.
    pub(super) fn of(set_up: &SetUp) -> Result<Self, RunError> {
        let mut network = set_up.build()?;
        let parameters = &set_up.parameters;
        let limit = Instant::ZERO + parameters.copy.give_up;
        let first = network.next_end(limit)?;
        let fairness = network.fairness()?;
        let mut ends = Vec::from_iter(first);
        let count = parameters.hosts.mobile as usize;
        while !ends.is_empty() && ends.len() < count {
            match network.next_end(limit)? {
                Some(end) => ends.push(end),
                None => break,
            }
        }
        let all = ends.len() == count;
        if all {
            parameters.site(set_up.seed).check(network.server()?)?;
        }
        Ok(Self {
            until: ends.last().copied().filter(|_| all).unwrap_or(limit),
            network,
            ends,
            fairness,
        })
    }

    /// Returns the measurements, under the names of [`METRICS`].
    pub(super) fn measurements(&self) -> Result<Measurements, RunError> {
        let seconds = |end: &Instant| end.since_origin().as_secs_f64();
        let until = seconds(&self.until);
        let clients = self.network.clients()?;
        let sum = |count: fn(&Counts) -> u64| clients.iter().map(count).sum::<u64>();
        let sent = sum(|client| client.sent);
        let unfinished = clients.len() - self.ends.len();
        let last = self.ends.last().filter(|_| unfinished == 0);
        let measured = Measurements::new()
            .with(
                "throughput",
                sum(|client| client.crossed) as f64 / until / 1e3,
            )
            .with_some("finish_max", last.map(seconds))
            .with_some("finish_min", self.ends.first().map(seconds))
            .with("unfinished", unfinished as f64)
            .with("spurious", percent(sum(|client| client.late), sent))
            .with("repeats", percent(sum(|client| client.again), sent))
            .with_some("fairness", self.fairness);
        let air = self.network.cell()?.air();
        let turns = air.collisions + air.turns;
        let tallies = self.tallies()?;
        let total = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
        let waited: Duration = tallies.iter().map(|tally| tally.waited).sum();
        let [frames, given_up, refused] = [
            total(|tally| tally.frames),
            total(|tally| tally.given_up),
            total(|tally| tally.refused),
        ];
        Ok(measured
            .with("busy", 100.0 * air.busy.as_secs_f64() / until)
            .with("collisions", percent(air.collisions, turns))
            .with("waiting", waited.as_secs_f64() * 1e3 / frames as f64)
            .with("given_up", percent(given_up, given_up + frames))
            .with("refused", percent(refused, refused + given_up + frames)))
    }

    /// Returns the counters of the queues of all drivers.
    fn tallies(&self) -> Result<Vec<Tally>, RunError> {
        let cell = self.network.cell()?;
        let of_mobiles = cell.mobiles().iter().map(Mobile::queue);
        let queues = cell.station().queues().iter().chain(of_mobiles);
        Ok(queues.map(|queue| *queue.tally()).collect())
    }
}

/// Returns a part of a whole in per cent.
fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole as f64
}
