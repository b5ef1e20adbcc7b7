//! The cost of fades for many mobile hosts on one air, and the fades that their monitor detects, over a span of time.

use experiment::{Measurements, Metric, RunError};
use units::{Duration, Instant};

use super::network::SetUp;
use super::receiver::Receiver;
use super::watch::Account;
use crate::csdp96::mobile::Mobile;
use crate::metric;

/// The metrics of a crowd.
pub(crate) const CROWD_METRICS: &[Metric] = &[
    metric(
        "lost",
        "%",
        "of the time for which the base station used the air for packets, that for tries that channels lost",
    ),
    metric("probed", "%", "time for which it used the air for probes"),
    metric(
        "between",
        "ms",
        "from one turn of a mobile host to its next, in the mean",
    ),
    metric(
        "noticing",
        "ms",
        "from the beginning of a fade to the mark, in the mean over fades in which there was one",
    ),
    metric(
        "unnoticed",
        "%",
        "fades that were over before their mobile host was marked",
    ),
    metric(
        "stale",
        "%",
        "of the time of good channels, that for which their mobile hosts were marked",
    ),
    metric("throughput", "kbit/s", "of all connections together"),
];

/// Runs until the time is over, and measures it under the names of [`CROWD_METRICS`].
pub(crate) fn measure(set_up: &SetUp) -> Result<Measurements, RunError> {
    let mut network = set_up.build()?;
    let end = Instant::ZERO + set_up.parameters.until;
    while network.next_event(end)?.is_some() {}
    let cell = network.cell()?;
    let station = cell.station();
    let mobiles = cell.mobiles().iter().map(Mobile::host);
    let received = mobiles.filter_map(Receiver::endpoint);
    let received: u64 = received
        .map(|endpoint| endpoint.counters().received.bytes)
        .sum();
    let count = set_up.parameters.connections;
    let good = (0..count).map(|mobile| station.channels().good(end, mobile));
    let Account {
        fades,
        unnoticed,
        noticing,
        stale,
        turns,
        between,
        used,
        lost,
        probed,
    } = *station.account();
    let span = set_up.parameters.until;
    let milliseconds =
        |sum: Duration, count: u64| (count > 0).then(|| sum.as_secs_f64() * 1e3 / count as f64);
    Ok(Measurements::new()
        .with_some("lost", percent(lost, used))
        .with_some("probed", percent(probed, span))
        .with_some("between", milliseconds(between, turns))
        .with_some("noticing", milliseconds(noticing, fades - unnoticed))
        .with_some(
            "unnoticed",
            (fades > 0).then(|| 100.0 * unnoticed as f64 / fades as f64),
        )
        .with_some("stale", percent(stale, good.sum()))
        .with("throughput", received as f64 * 8e-3 / span.as_secs_f64()))
}

fn percent(part: Duration, whole: Duration) -> Option<f64> {
    (!whole.is_zero()).then(|| 100.0 * part.as_secs_f64() / whole.as_secs_f64())
}
