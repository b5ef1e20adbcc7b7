//! The figures of a run, and the table of several.

use std::fmt::Write as _;

use channel::Direction;
use serde::Serialize;
use units::{Duration, Instant};

use super::bound::{Span, fades, upper_bound};
use super::measure::telling;
use super::plan::{RunResult, Transfer};
use crate::emulate::DirectionReport;

/// One transfer, as `--json` prints it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) link: String,
    pub(crate) seed: u64,
    pub(crate) scheme: String,
    /// Congestion control of the sender.
    pub(crate) sender: String,
    pub(crate) direction: &'static str,
    #[serde(flatten)]
    pub(crate) goodput: Goodput,
    #[serde(flatten)]
    pub(crate) pings: Pings,
    #[serde(flatten)]
    pub(crate) cost: Cost,
    /// True if the received data are equal to the sent data.
    pub(crate) sha256_ok: bool,
    /// Reason why the transfer ended early, if it did.
    pub(crate) failure: Option<String>,
}

/// Received payload after the skipped beginning.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Goodput {
    /// Bytes of payload, counted from the start.
    pub(crate) payload_bytes: u64,
    /// Time from the start to the last byte, or to the end of the run.
    pub(crate) seconds: f64,
    /// Bits of payload per second.
    #[serde(rename = "goodput_bps")]
    pub(crate) bits_per_second: f64,
    /// Upper bound of the link in the same time; `None` if it has no rate.
    pub(crate) bound_bps: Option<f64>,
    /// Measured value divided by the bound.
    pub(crate) share: Option<f64>,
}

/// The small requests beside the transfer, without the skipped ones.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Pings {
    #[serde(rename = "pings")]
    pub(crate) count: usize,
    pub(crate) ping_p50_ms: Option<f64>,
    pub(crate) ping_p99_ms: Option<f64>,
    /// The 99th percentile, over all requests, of the time until the end of the fade that they met.
    pub(crate) fade_wait_p99_ms: Option<f64>,
}

/// Resources used.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Cost {
    /// Bytes offered to the air for each byte of payload, in the direction of the file.
    pub(crate) wire_bytes_per_payload_byte: Option<f64>,
    /// Processor time of the tunnel's processes.
    pub(crate) cpu_seconds_per_gb: Option<f64>,
    /// Largest resident memory of one of them.
    pub(crate) memory_peak_bytes: Option<u64>,
    /// Mean delay of the emulator, in microseconds.
    pub(crate) emulator_late_us: f64,
    /// Number of delays of more than 2 ms.
    pub(crate) emulator_over_2_ms: u64,
}

impl Row {
    /// Returns the rows of a run: one for each of its transfers.
    pub(crate) fn of(result: &RunResult) -> Vec<Self> {
        result
            .transfers
            .iter()
            .map(|transfer| Self::new(result, transfer))
            .collect()
    }

    fn new(result: &RunResult, transfer: &Transfer) -> Self {
        let plan = &result.plan;
        Self {
            link: plan.link.name().into(),
            seed: plan.seed,
            scheme: plan.scheme.name().into(),
            sender: plan.sender.clone(),
            direction: transfer.direction.name(),
            goodput: Goodput::of(result, transfer),
            pings: Pings::of(result),
            cost: Cost::of(result, transfer),
            sha256_ok: transfer.intact && transfer.bytes() > 0,
            failure: transfer.failure.clone(),
        }
    }
}

impl Goodput {
    fn of(result: &RunResult, transfer: &Transfer) -> Self {
        let (skip, end) = (result.plan.skip, transfer.end());
        let seconds = (end - skip).as_secs_f64();
        let bits = (transfer.bytes() - transfer.bytes_at(skip)) as f64 * 8.0;
        let bits_per_second = if seconds > 0.0 { bits / seconds } else { 0.0 };
        let span = Span {
            from: result.start + skip,
            until: result.start + end,
        };
        let measured = span.from < span.until;
        let bound_bps = measured
            .then(|| {
                upper_bound(
                    &result.plan.link,
                    transfer.direction,
                    span,
                    &result.emulator,
                )
            })
            .flatten();
        Self {
            payload_bytes: transfer.bytes(),
            seconds: end.as_secs_f64(),
            bits_per_second,
            bound_bps,
            share: bound_bps.map(|bound| bits_per_second / bound),
        }
    }
}

impl Pings {
    fn of(result: &RunResult) -> Self {
        let skip = result.plan.skip;
        let counted: Vec<_> = result
            .echoes
            .iter()
            .filter(|echo| echo.sent >= skip)
            .copied()
            .collect();
        let took = telling(&counted);
        let until = Instant::from_nanos(result.emulator.elapsed_ns);
        let whole = Span {
            from: Instant::ZERO,
            until,
        };
        let plan = &result.plan;
        let fades = fades(&plan.link, plan.seed, Direction::Down, whole);
        let mut waits: Vec<_> = counted
            .iter()
            .map(|echo| wait(&fades, result.start + echo.sent))
            .collect();
        waits.sort_unstable();
        Self {
            count: took.len(),
            ping_p50_ms: percentile(&took, 50),
            ping_p99_ms: percentile(&took, 99),
            fade_wait_p99_ms: percentile(&waits, 99),
        }
    }
}

/// Returns the time from `time` until the end of the fade, if there is one.
fn wait(fades: &[Span], time: Instant) -> Duration {
    let next = fades.partition_point(|fade| fade.until <= time);
    fades
        .get(next)
        .filter(|fade| fade.from <= time)
        .map_or(Duration::ZERO, |fade| fade.until.since(time))
}

/// Returns the percentile by the nearest rank, in milliseconds.
fn percentile(sorted: &[Duration], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).map(|span| span.as_secs_f64() * 1e3)
}

impl Cost {
    fn of(result: &RunResult, transfer: &Transfer) -> Self {
        let counted: &DirectionReport = match transfer.direction {
            Direction::Down => &result.emulator.down,
            Direction::Up => &result.emulator.up,
        };
        let payload = transfer.bytes();
        let all: u64 = result.transfers.iter().map(Transfer::bytes).sum();
        let some = |bytes: u64| (bytes > 0).then_some(bytes as f64);
        Self {
            wire_bytes_per_payload_byte: some(payload)
                .map(|payload| counted.offered.bytes as f64 / payload),
            cpu_seconds_per_gb: result
                .tunnel
                .zip(some(all))
                .map(|(used, all)| used.processor.as_secs_f64() / (all / 1e9)),
            memory_peak_bytes: result.tunnel.map(|used| used.memory_peak.get()),
            emulator_late_us: result.emulator.lateness.mean_us,
            emulator_over_2_ms: result.emulator.lateness.over_2_ms,
        }
    }
}

const TITLES: [&str; 10] = [
    "scheme",
    "sender",
    "way",
    "goodput",
    "share",
    "time",
    "ping p50",
    "ping p99",
    "wire/payload",
    "sha256",
];

/// Returns the rows as text with aligned numbers.
pub(crate) fn table(rows: &[Row]) -> String {
    let lines: Vec<_> = std::iter::once(TITLES.map(str::to_owned))
        .chain(rows.iter().map(cells))
        .collect();
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let mut text = String::new();
    for line in &lines {
        for (column, cell) in line.iter().enumerate() {
            let width = width(column);
            // Writing to a String does not fail.
            let _ = match column {
                0..3 => write!(text, "{cell:<width$}  "),
                _ => write!(text, "{cell:>width$}  "),
            };
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

fn cells(row: &Row) -> [String; 10] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let milliseconds = |value: Option<f64>| or_dash(value.map(|ms| format!("{ms:.0} ms")));
    [
        row.scheme.clone(),
        row.sender.clone(),
        row.direction.into(),
        format!("{:.2} Mbit/s", row.goodput.bits_per_second / 1e6),
        or_dash(row.goodput.share.map(|share| format!("{share:.3}"))),
        format!("{:.1} s", row.goodput.seconds),
        milliseconds(row.pings.ping_p50_ms),
        milliseconds(row.pings.ping_p99_ms),
        or_dash(
            row.cost
                .wire_bytes_per_payload_byte
                .map(|ratio| format!("{ratio:.3}")),
        ),
        if row.sha256_ok { "equal" } else { "WRONG" }.into(),
    ]
}
