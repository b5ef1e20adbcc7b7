//! One connection over time.

use experiment::{Measurements, Metric, RunError};
use units::Instant;

use super::network::SetUp;
use crate::metric;

/// The metrics of the first connection at a moment.
pub(crate) const TRACE_METRICS: &[Metric] = &[
    metric(
        "sequence",
        "bytes",
        "what the fixed host has had acknowledged",
    ),
    metric("window", "bytes", "its congestion window"),
    metric("timeout", "s", "its retransmission timeout"),
    metric("timeouts", "", "its retransmission timeouts so far"),
    metric(
        "fast_retransmissions",
        "",
        "its recoveries that duplicate acknowledgements brought about so far",
    ),
    metric(
        "given_up",
        "",
        "frames that the base station dropped after the last try, so far",
    ),
];

/// Runs up to the moment that the plan names.
pub(crate) fn moment(set_up: &SetUp) -> Result<Measurements, RunError> {
    let mut network = set_up.build()?;
    let end = Instant::ZERO + set_up.parameters.until;
    while network.next_event(end)?.is_some() {}
    let host = network.fixed()?.hosts().first();
    let Some(endpoint) = host.map(super::fixed::Host::endpoint) else {
        return Ok(Measurements::new());
    };
    let queues = network.cell()?.station().queues().iter();
    let given_up: u64 = queues.map(|queue| queue.tally().given_up).sum();
    let recovered = endpoint.counters().recovered;
    Ok(Measurements::new()
        .with("sequence", endpoint.acknowledged_bytes() as f64)
        .with("window", endpoint.congestion_window() as f64)
        .with("timeout", endpoint.retransmission_timeout().as_secs_f64())
        .with("timeouts", recovered.timeouts as f64)
        .with(
            "fast_retransmissions",
            recovered.fast_retransmissions as f64,
        )
        .with("given_up", given_up as f64))
}
