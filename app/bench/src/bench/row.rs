//! One transfer, as the demo reports it.

use serde::{Deserialize, Serialize};

/// A transfer with its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) link: String,
    pub(crate) scheme: String,
    pub(crate) sender: String,
    pub(crate) direction: String,
    /// Bits of payload per second.
    pub(crate) goodput_bps: f64,
    /// Share of the link's upper bound.
    pub(crate) share: Option<f64>,
    pub(crate) ping_p99_ms: Option<f64>,
    pub(crate) fade_wait_p99_ms: Option<f64>,
    pub(crate) cpu_seconds_per_gb: Option<f64>,
    pub(crate) memory_peak_bytes: Option<u64>,
    pub(crate) wire_bytes_per_payload_byte: Option<f64>,
    pub(crate) sha256_ok: bool,
}

/// The head of the table.
pub(crate) const HEAD: &str = "\
| link | sender | way | scheme | share | aim | Mbit/s | request p99, ms | aim | wire/payload | CPU s/GB | peak MiB |
|---|---|---|---|---|---|---|---|---|---|---|---|";

impl Row {
    /// Returns a line of the table; `way` is the direction of the run, and the others are goals.
    pub(crate) fn line(&self, way: &str, share_aim: Option<f64>, wait_aim: Option<f64>) -> String {
        let number = |value: Option<f64>, places: usize| {
            value.map_or_else(|| "–".into(), |value| format!("{value:.places$}"))
        };
        let way = if way == "both" {
            format!("both, {}", self.direction)
        } else {
            way.into()
        };
        let mark = if self.sha256_ok { "" } else { " (not intact)" };
        format!(
            "| {} | {} | {way} | {}{mark} | {} | {} | {:.2} | {} | {} | {} | {} | {} |",
            self.link,
            self.sender,
            self.scheme,
            number(self.share, 3),
            number(share_aim, 2),
            self.goodput_bps / 1e6,
            number(self.ping_p99_ms, 0),
            number(wait_aim, 0),
            number(self.wire_bytes_per_payload_byte, 3),
            number(self.cpu_seconds_per_gb, 1),
            number(
                self.memory_peak_bytes
                    .map(|bytes| bytes as f64 / f64::from(1 << 20)),
                0
            ),
        )
    }
}
