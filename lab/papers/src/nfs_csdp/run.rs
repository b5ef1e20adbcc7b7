//! A run, and what is measured of it.

use std::ops::ControlFlow;

use experiment::{Measurements, Metric, RunError};
use simulator::{Ending, Limits, NodeId, OnEvent};
use units::{Duration, Instant};

use super::network::{Network, SetUp};
use crate::csdp96::mobile::Mobile;
use crate::csdp96::queue::Tally;
use crate::csdp96::run::jains_index;
use crate::metric;
use crate::nfs::client::{ClientHost, Counts};
use crate::nfs::network::failed;
use crate::nfs::node::Event;

/// What copies by all clients measure.
pub(super) const METRICS: &[Metric] = &[
    metric(
        "throughput",
        "KB/s",
        "1,000 bytes of all clients' files in a second, until the last client ends",
    ),
    metric("finish_max", "s", "when the last client ends"),
    metric("finish_min", "s", "when the first client ends"),
    metric(
        "spurious",
        "%",
        "of the calls that clients sent, again ones included: sent again though the reply was on its way, so that \
         another came to a call that had been answered",
    ),
    metric(
        "repeats",
        "%",
        "of the calls that clients sent: those that had been sent before",
    ),
    metric(
        "fairness",
        "",
        "Jain's index of the bytes that clients have copied when the first ends",
    ),
    metric("busy", "%", "of the time, frames were on the air"),
    metric(
        "collisions",
        "%",
        "of the turns on the air: several stations began at once",
    ),
    metric(
        "waiting",
        "ms",
        "from a driver's queue to the MAC's acknowledgement, in the mean over frames, both ways",
    ),
    metric(
        "given_up",
        "%",
        "of the packets that drivers had: dropped after the last try",
    ),
    metric(
        "overflows",
        "",
        "packets that a queue of a driver had no room for",
    ),
];

/// Copies that have ended.
#[derive(Debug)]
pub(super) struct Run {
    network: Network,
    /// When clients ended, in this order.
    ends: Vec<Instant>,
    /// What clients had copied when the first ended, in bytes.
    at_first: Vec<u64>,
}

impl Network {
    /// Runs until the next copy has ended.
    fn next_end(&mut self, limit: Instant) -> Result<Instant, RunError> {
        let mut seen = None;
        let mut watch = OnEvent(|_: Instant, _: NodeId, event: &Event| {
            seen = Some(event.clone());
            ControlFlow::Break(())
        });
        let ending = self.simulation.run(Limits::until(limit), &mut watch);
        let ending = ending.map_err(failed)?;
        match seen.filter(|_| ending == Ending::Stopped) {
            Some(Event::Copied(_)) => Ok(self.simulation.now()),
            Some(Event::Failed(why)) => Err(RunError::Failed(format!("a copy failed: {why}"))),
            None => {
                let what = format!("the copies took too long: no end by {limit} s; see `give_up`");
                Err(RunError::Failed(what))
            }
        }
    }

    /// The hosts of the clients.
    fn clients(&self) -> Result<impl Iterator<Item = Counts>, RunError> {
        let mobiles = self.cell()?.mobiles().iter();
        Ok(mobiles.map(Mobile::host).map(ClientHost::counts))
    }
}

impl Run {
    /// Runs a case until all files are copied.
    pub(super) fn of(set_up: &SetUp) -> Result<Self, RunError> {
        let mut network = set_up.build()?;
        let parameters = &set_up.parameters;
        let limit = Instant::ZERO + parameters.copy.give_up;
        let mut ends = vec![network.next_end(limit)?];
        let at_first = network.clients()?.map(|client| client.copied).collect();
        for _ in 1..parameters.hosts.mobile {
            ends.push(network.next_end(limit)?);
        }
        parameters.site(set_up.seed).check(network.server()?)?;
        Ok(Self {
            network,
            ends,
            at_first,
        })
    }

    /// As the lab stores it, under the names of [`METRICS`].
    pub(super) fn measurements(&self, set_up: &SetUp) -> Result<Measurements, RunError> {
        let seconds = |end: Option<&Instant>| end.map(|end| end.since_origin().as_secs_f64());
        let (first, last) = (seconds(self.ends.first()), seconds(self.ends.last()));
        let file = set_up.parameters.copy.file.get() as f64;
        let files = file * self.ends.len() as f64;
        let of_calls = |count: fn(&Counts) -> u64| -> Result<f64, RunError> {
            let clients = self.network.clients()?.collect::<Vec<_>>();
            let sum = |count: fn(&Counts) -> u64| clients.iter().map(count).sum::<u64>();
            Ok(percent(sum(count), sum(|client| client.sent)))
        };
        let air = self.network.cell()?.air();
        let busy = last.map(|last| 100.0 * air.busy.as_secs_f64() / last);
        let tallies = self.tallies()?;
        let total = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
        let waited: Duration = tallies.iter().map(|tally| tally.waited).sum();
        let frames = total(|tally| tally.frames);
        let given_up = total(|tally| tally.given_up);
        let shares = self.at_first.iter().map(|copied| *copied as f64);
        Ok(Measurements::new()
            .with_some("throughput", last.map(|last| files / last / 1e3))
            .with_some("finish_max", last)
            .with_some("finish_min", first)
            .with("spurious", of_calls(|client| client.late)?)
            .with("repeats", of_calls(|client| client.again)?)
            .with_some("fairness", jains_index(&shares.collect::<Vec<_>>()))
            .with_some("busy", busy)
            .with(
                "collisions",
                percent(air.collisions, air.collisions + air.turns),
            )
            .with("waiting", waited.as_secs_f64() * 1e3 / frames as f64)
            .with("given_up", percent(given_up, given_up + frames))
            .with("overflows", total(|tally| tally.refused) as f64))
    }

    /// What happened in the queues of all drivers.
    fn tallies(&self) -> Result<Vec<Tally>, RunError> {
        let cell = self.network.cell()?;
        let of_mobiles = cell.mobiles().iter().map(Mobile::queue);
        let queues = cell.station().queues().iter().chain(of_mobiles);
        Ok(queues.map(|queue| *queue.tally()).collect())
    }
}

/// A part of a whole, in per cent.
fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole as f64
}
