//! The delay of connections and of the flows beside them, over a span of time.

use experiment::{Measurements, Metric, RunError};
use units::Instant;

use super::fixed::Host;
use super::flow::{Delays, FlowSender};
use super::mobile::Mobile;
use super::network::SetUp;
use super::queue::Queue;
use super::receiver::Receiver;
use crate::metric;

/// The metrics of connections and flows.
pub(crate) const DELAY_METRICS: &[Metric] = &[
    metric(
        "queueing",
        "ms",
        "of connections' frames: from the wire to the MAC's acknowledgement, in the mean",
    ),
    metric(
        "round_trip",
        "ms",
        "smoothed round trip of fixed hosts at the end, in ticks, in the mean over them",
    ),
    metric(
        "timeout",
        "s",
        "retransmission timeout of fixed hosts at the end, in the mean over them",
    ),
    metric(
        "longest_timeout",
        "s",
        "the longest retransmission timeout of any fixed host",
    ),
    metric("throughput", "kbit/s", "of all connections together"),
    metric("voice_delay", "ms", "of a call's datagrams, in the mean"),
    metric(
        "voice_p99",
        "ms",
        "the delay that 99 % of a call's datagrams keep",
    ),
    metric(
        "voice_jitter",
        "ms",
        "difference between the delays of a call's successive datagrams, in the mean",
    ),
    metric("voice_lost", "%", "of a call's datagrams, never arrived"),
    metric(
        "interactive_delay",
        "ms",
        "of a typist's datagrams, in the mean",
    ),
    metric(
        "interactive_p99",
        "ms",
        "the delay that 99 % of a typist's datagrams keep",
    ),
    metric(
        "interactive_jitter",
        "ms",
        "difference between the delays of a typist's successive datagrams, in the mean",
    ),
    metric(
        "interactive_lost",
        "%",
        "of a typist's datagrams, never arrived",
    ),
];

/// Runs until the time is over, and measures it under the names of [`DELAY_METRICS`].
pub(crate) fn measure(set_up: &SetUp) -> Result<Measurements, RunError> {
    let mut network = set_up.build()?;
    let end = Instant::ZERO + set_up.parameters.until;
    while network.next_event(end)?.is_some() {}
    let (cell, fixed) = (network.cell()?, network.fixed()?);
    let connections = usize::from(set_up.parameters.connections);
    let tallies = cell.station().queues().iter().take(connections);
    let tallies = tallies.map(Queue::tally);
    let frames: u64 = tallies.clone().map(|tally| tally.frames).sum();
    let waited: units::Duration = tallies.map(|tally| tally.waited).sum();
    let endpoints = fixed.hosts().iter().map(Host::endpoint);
    let round_trips = endpoints
        .clone()
        .filter_map(tcp::Endpoint::smoothed_round_trip);
    let timeouts = endpoints.map(tcp::Endpoint::retransmission_timeout);
    let longest = fixed.hosts().iter().map(Host::longest_timeout).max();
    let mobiles = cell.mobiles().iter().map(Mobile::host);
    let received = mobiles.clone().filter_map(Receiver::endpoint);
    let received: u64 = received
        .map(|endpoint| endpoint.counters().received.bytes)
        .sum();
    let seconds = set_up.parameters.until.as_secs_f64();
    let measured = Measurements::new()
        .with(
            "queueing",
            waited.as_secs_f64() * 1e3 / frames.max(1) as f64,
        )
        .with_some("round_trip", mean(round_trips).map(|trip| trip * 1e3))
        .with_some("timeout", mean(timeouts))
        .with_some("longest_timeout", longest.map(units::Duration::as_secs_f64))
        .with("throughput", received as f64 * 8e-3 / seconds);
    let delays = mobiles.filter_map(Receiver::delays);
    let mut flows = delays.zip(fixed.talkers());
    let measured = match flows.next() {
        Some((voice, talker)) => measured
            .with_some("voice_delay", voice.mean())
            .with_some("voice_p99", voice.percentile_99())
            .with_some("voice_jitter", voice.jitter())
            .with_some("voice_lost", lost(voice, talker)),
        None => measured,
    };
    Ok(match flows.next() {
        Some((typed, talker)) => measured
            .with_some("interactive_delay", typed.mean())
            .with_some("interactive_p99", typed.percentile_99())
            .with_some("interactive_jitter", typed.jitter())
            .with_some("interactive_lost", lost(typed, talker)),
        None => measured,
    })
}

/// Returns the share that never arrived, in per cent; datagrams in flight count as lost.
fn lost(delays: &Delays, talker: &FlowSender) -> Option<f64> {
    let sent = talker.sent();
    let missing = sent.saturating_sub(delays.count());
    (sent > 0).then(|| 100.0 * missing as f64 / sent as f64)
}

/// Returns the mean in seconds; `None` without any durations.
fn mean(durations: impl Iterator<Item = units::Duration>) -> Option<f64> {
    let durations: Vec<_> = durations.collect();
    let sum: units::Duration = durations.iter().copied().sum();
    (!durations.is_empty()).then(|| sum.as_secs_f64() / durations.len() as f64)
}
