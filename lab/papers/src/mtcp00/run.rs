//! One transfer and its metrics.

use channel::Direction;
use channel::errors::{Distribution, ErrorConfig};
use experiment::{Case, Measurements, Metric, PlanError, RunError};
use mtcp::Clock;
use simulator::Limits;
use units::{Duration, Instant};

use super::watch::BufferObserver;
use crate::host_work::Stack;
use crate::metric;
use crate::ton97::base::{Station, Work};
use crate::ton97::end::Counts;
use crate::ton97::network::SetUp;
use crate::ton97::parameters::{Parameters, Scheme};
use crate::ton97::source::Source;

pub(super) const NORMALISED: Metric = metric(
    "normalised",
    "%",
    "throughput, of what the same protocol has on the same network without errors",
);
pub(super) const THROUGHPUT: Metric = metric(
    "throughput",
    "Mbit/s",
    "data that arrive at applications, of both hosts together, once the first socket buffer is full",
);
pub(super) const REACHED: Metric = metric(
    "reached",
    "%",
    "of that without errors, less the share of damaged frames",
);
pub(super) const STALL: Metric = metric(
    "stall",
    "round trips",
    "how much longer than an outage the longest time from one full buffer to the next was, by MTCP's own round trip",
);
pub(super) const PACKET_ERRORS: Metric = metric(
    "packet_errors",
    "%",
    "frames towards the mobile host that the air damaged",
);
pub(super) const INTERVAL: Metric = metric(
    "interval",
    "ms",
    "mean time from one full socket buffer to the next",
);
pub(super) const DEVIATION: Metric = metric("deviation", "ms", "standard deviation of these times");
pub(super) const LONGEST: Metric = metric("longest", "ms", "the longest of these times");
pub(super) const STALLED: Metric = metric(
    "stalled",
    "%",
    "share of the transfer in such times of 200 ms or more",
);
pub(super) const TIMEOUTS: Metric = metric(
    "timeouts",
    "",
    "timers that made whoever sends across the hop send something",
);
pub(super) const REPAIRS: Metric = metric(
    "repairs",
    "",
    "packets that whoever sends across the hop sent again",
);
pub(super) const USAGE: Metric = metric(
    "usage",
    "%",
    "share of the transfer in which the mobile host's processor works for it, as the model counts",
);
pub(super) const BUSY: Metric = metric(
    "busy",
    "s",
    "that work in all, which is the paper's CPU-duration",
);
pub(super) const FRAMES_IN: Metric = metric(
    "frames_in",
    "",
    "frames that arrive at the mobile host, damaged ones included",
);
pub(super) const FRAMES_OUT: Metric = metric("frames_out", "", "frames that it sends");
pub(super) const WAKE_UPS: Metric = metric(
    "wake_ups",
    "",
    "frames that arrive at it, and ticks of its timers, or timers that go off where they have no ticks",
);

/// Reads and checks a case.
pub(super) fn read(case: &Case, seed: u64) -> Result<SetUp, PlanError> {
    let parameters = Parameters::read(case)?;
    if parameters.two_hops.is_some() {
        return Err(case.wrong_parameter("two_hops", "only ton97-two-hops has two"));
    }
    Ok(SetUp {
        parameters,
        scheme: Scheme::read(case)?,
        seed,
    })
}

/// A transfer that has ended.
#[derive(Debug)]
pub(super) struct Transfer {
    watch: BufferObserver,
    /// Time since the first buffer was full.
    span: Duration,
    /// Bytes that arrived in that time; zero if a connection gave up.
    data: u64,
    /// Number of frames towards the mobile host, and number of those that were damaged.
    frames: (u64, u64),
    /// Counters of the sender across the hop, to the mobile host.
    sender: Counts,
    /// Round-trip time of that sender, if it is MTCP.
    round_trip: Option<Duration>,
    /// Length of outages, if all are equal.
    outage: Option<Duration>,
    /// Processor time of the mobile host.
    busy: Duration,
    ticks: u64,
}

impl Transfer {
    /// Runs a case to its end.
    pub(super) fn of(set_up: &SetUp) -> Result<Self, RunError> {
        let mut network = set_up.build(|node| node)?;
        let hop = network.hop;
        let parameters = &set_up.parameters;
        let direction = parameters.direction;
        let ways = u32::from(direction.is_down()) + u32::from(direction.is_up());
        let buffer = u64::from(parameters.tcp.maximum_segment_size);
        let mut watch = BufferObserver::new(network.mobile, hop, buffer, ways);
        let give_up = Instant::ZERO + parameters.give_up;
        network.run(Limits::until(give_up), &mut watch)?;
        let simulation = &network.simulation;
        let now = simulation.now();
        if now >= give_up {
            return Err(RunError::Failed(format!(
                "the transfer had not ended by {now} s; see `give_up`"
            )));
        }
        let counters = simulation.link_counters(hop, Direction::Down);
        let frames = (counters.transmitted.packets, counters.dropped_air.packets);
        let whole = parameters.transfer.get() * u64::from(ways);
        let span = now.since(watch.buffers.first());
        let (source, station, mobile) = network.nodes()?;
        let (sender, round_trip) = sender(source, station);
        let stack = Stack {
            mtcp: set_up.scheme.base.mtcp_profile().is_some(),
            ticks: ticks(set_up, span, mobile.counts().timeouts),
        };
        Ok(Self {
            span,
            data: watch.end.map_or(0, |_| whole.saturating_sub(buffer)),
            frames,
            sender,
            round_trip,
            outage: outage(&parameters.errors),
            busy: parameters.work.of(&watch.card, stack),
            ticks: stack.ticks,
            watch,
        })
    }

    /// Returns the throughput in Mbit/s.
    fn throughput(&self) -> f64 {
        self.data as f64 * 8e-6 / self.span.as_secs_f64()
    }

    /// Returns the longest pause minus the length of an outage, in round-trip times.
    fn stall(&self) -> Option<f64> {
        let over = self.watch.buffers.longest().as_secs_f64() - self.outage?.as_secs_f64();
        Some(over / self.round_trip?.as_secs_f64())
    }

    /// Returns the values of these metrics; those relative to `peak`, the same run without errors, are left out without
    /// it.
    fn measure(&self, metrics: &[Metric], peak: Option<&Self>) -> Measurements {
        let Self { watch, busy, .. } = self;
        let card = &watch.card;
        let count = |count: u64| Some(count as f64);
        let share = |span: Duration| 100.0 * span.as_secs_f64() / self.span.as_secs_f64();
        let intervals = watch.buffers.intervals();
        let (frames, damaged) = self.frames;
        let damaged = (frames > 0).then(|| damaged as f64 / frames as f64);
        let normalised = peak.map(|peak| 100.0 * self.throughput() / peak.throughput());
        let reached = normalised.zip(damaged);
        let values = [
            (NORMALISED, normalised),
            (
                REACHED,
                reached.map(|(normalised, damaged)| normalised / (1.0 - damaged)),
            ),
            (STALL, self.stall()),
            (THROUGHPUT, Some(self.throughput())),
            (PACKET_ERRORS, damaged.map(|damaged| 100.0 * damaged)),
            (INTERVAL, intervals.map(|(mean, _)| 1e3 * mean)),
            (DEVIATION, intervals.map(|(_, deviation)| 1e3 * deviation)),
            (LONGEST, Some(1e3 * watch.buffers.longest().as_secs_f64())),
            (STALLED, Some(share(watch.buffers.stalled()))),
            (TIMEOUTS, count(self.sender.timeouts)),
            (REPAIRS, count(self.sender.again)),
            (USAGE, Some(share(*busy))),
            (BUSY, Some(busy.as_secs_f64())),
            (FRAMES_IN, count(card.frames_in)),
            (FRAMES_OUT, count(card.frames_out)),
            (WAKE_UPS, count(card.frames_in + self.ticks)),
        ];
        let wanted = |name| metrics.iter().any(|metric| metric.name == name);
        let values = values.into_iter().filter(|(metric, _)| wanted(metric.name));
        values.fold(Measurements::new(), |measured, (metric, value)| {
            measured.with_some(metric.name, value)
        })
    }
}

/// Runs a case, and the same without errors if a metric needs it, and measures it.
pub(super) fn measure(set_up: &SetUp, metrics: &[Metric]) -> Result<Measurements, RunError> {
    let transfer = Transfer::of(set_up)?;
    let compares = metrics.iter().any(|metric| metric.name == NORMALISED.name);
    let peak = compares.then(|| {
        let mut without = set_up.clone();
        without.parameters.errors = ErrorConfig::default();
        Transfer::of(&without)
    });
    Ok(transfer.measure(metrics, peak.transpose()?.as_ref()))
}

/// Returns the number of times that the timers of the mobile host wake it in a span: at every tick, whether one is due
/// or not; with a measured clock, at each of the `gone_off` expiries.
fn ticks(set_up: &SetUp, span: Duration, gone_off: u64) -> u64 {
    let parameters = &set_up.parameters;
    let in_span = |tick: Duration| span.as_nanos() / tick.as_nanos().max(1);
    if let Some(wide) = set_up.scheme.base.mtcp_profile() {
        let mtcp = parameters.mtcp_of(wide);
        return match mtcp.acknowledging.clock {
            _ if mtcp.lean => 0,
            Clock::Ticks => in_span(mtcp.timing.tick),
            Clock::Measured => gone_off,
        };
    }
    let tcp = &parameters.tcp;
    let delaying = tcp.acknowledging.delayed && tcp.acknowledging.aligned;
    let delays = if delaying {
        in_span(tcp.acknowledging.delay)
    } else {
        0
    };
    in_span(tcp.timing.tick) + delays
}

/// Returns the counters of the sender across the hop to the mobile host, and its round-trip time.
fn sender(source: &Source, station: &Station) -> (Counts, Option<Duration>) {
    match station.work() {
        Work::Split(split) => (split.hop().counts(), split.hop().round_trip()),
        Work::Forward | Work::Arq(_) | Work::Snoop(_) => (Counts::of_tcp(source.endpoint()), None),
    }
}

/// Returns the length of all outages, if they are equal.
fn outage(errors: &ErrorConfig) -> Option<Duration> {
    match errors {
        ErrorConfig::Temporal(states) => states
            .bad
            .mean
            .filter(|_| states.bad.distribution == Distribution::Deterministic),
        _ => None,
    }
}
