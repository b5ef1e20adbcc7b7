//! The counters of an emulated link, as JSON.

use channel::{Amount, Counters};
use serde::{Deserialize, Serialize};

/// Packets and their bytes on the wire (of their Ethernet frames).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Traffic {
    /// How many packets.
    pub(crate) packets: u64,
    /// Their bytes on the wire.
    pub(crate) bytes: u64,
}

impl From<Amount> for Traffic {
    fn from(amount: Amount) -> Self {
        Self {
            packets: amount.packets,
            bytes: amount.bytes.get(),
        }
    }
}

/// What happened to the packets of one direction:
/// `offered = delivered + dropped_queue + dropped_too_long + dropped_policer + dropped_air + damaged + inside`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct DirectionReport {
    /// Taken from the interface where they entered.
    pub(crate) offered: Traffic,
    /// Handed out at the far end.
    pub(crate) delivered: Traffic,
    /// Of those delivered, how many the far interface refused (it was down, or had no room).
    pub(crate) refused_packets: u64,
    /// Refused because the link's queue was full.
    pub(crate) dropped_queue: Traffic,
    /// Refused by a policer.
    #[serde(default)]
    pub(crate) dropped_policer: Traffic,
    /// Refused because they were longer than the link carries.
    #[serde(default)]
    pub(crate) dropped_too_long: Traffic,
    /// Lost on the air.
    pub(crate) dropped_air: Traffic,
    /// Dropped at the far end, as they had been changed on their way.
    #[serde(default)]
    pub(crate) damaged: Traffic,
    /// Handed out once more than they came.
    #[serde(default)]
    pub(crate) duplicated: Traffic,
    /// Waiting, being transmitted, or on their way.
    pub(crate) inside: Traffic,
    /// Whose transmission has started.
    pub(crate) transmitted: Traffic,
    /// The most that waited at once.
    pub(crate) queue_peak: Traffic,
    /// The mean time in the queue, in milliseconds.
    pub(crate) mean_wait_ms: f64,
    /// How much of the time so far the air was in its good state, from 0 to 1.
    pub(crate) good_share: f64,
}

impl DirectionReport {
    /// A report of `counters`.
    pub(crate) fn new(counters: &Counters, refused_packets: u64, good_share: f64) -> Self {
        Self {
            offered: counters.offered.into(),
            delivered: counters.delivered.into(),
            refused_packets,
            dropped_queue: counters.dropped_queue.into(),
            dropped_policer: counters.dropped_policer.into(),
            dropped_too_long: counters.dropped_too_long.into(),
            dropped_air: counters.dropped_air.into(),
            damaged: counters.damaged.into(),
            duplicated: counters.duplicated.into(),
            inside: counters.inside.into(),
            transmitted: counters.transmitted.into(),
            queue_peak: counters.queue_peak.into(),
            mean_wait_ms: counters.mean_wait().as_secs_f64() * 1e3,
            good_share,
        }
    }
}

/// How late the emulator was for the deadlines of its channel.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Lateness {
    /// How many deadlines there were.
    pub(crate) deadlines: u64,
    /// The mean, in microseconds.
    pub(crate) mean_us: f64,
    /// The worst, in microseconds.
    pub(crate) worst_us: f64,
    /// How many were missed by more than 2 ms: then the machine was too busy to be trusted.
    pub over_2_ms: u64,
}

/// What an emulated link has seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The link's name.
    pub(crate) link: String,
    /// The seed of its losses and fades.
    pub(crate) seed: u64,
    /// When it began, in nanoseconds of `CLOCK_MONOTONIC`.
    pub(crate) origin_ns: u64,
    /// How long it has lasted, in nanoseconds.
    pub(crate) elapsed_ns: u64,
    /// Whether this is the last report.
    pub(crate) ended: bool,
    /// From left to right: from the gateway to the mobile host.
    pub(crate) down: DirectionReport,
    /// From right to left.
    pub(crate) up: DirectionReport,
    /// Whether the machine kept up.
    pub(crate) lateness: Lateness,
}

/// What an emulated air with several mobile hosts has seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CellReport {
    /// The link's name.
    pub(crate) link: String,
    /// The seed of all losses and fades.
    pub(crate) seed: u64,
    /// When it began, in nanoseconds of `CLOCK_MONOTONIC`.
    pub(crate) origin_ns: u64,
    /// How long it has lasted, in nanoseconds.
    pub(crate) elapsed_ns: u64,
    /// Whether this is the last report.
    pub(crate) ended: bool,
    /// Packets from the left to an address that no mobile host has.
    pub(crate) unroutable_packets: u64,
    /// In the order of the command line.
    pub(crate) mobiles: Vec<MobileReport>,
    /// Whether the machine kept up.
    pub(crate) lateness: Lateness,
}

/// What one of several mobile hosts has seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MobileReport {
    /// Its interface.
    pub(crate) device: String,
    /// The link whose errors it meets.
    pub(crate) errors: String,
    /// From the gateway to it; the peak is that of the gateway's whole queue.
    pub(crate) down: DirectionReport,
    /// From it to the gateway.
    pub(crate) up: DirectionReport,
    /// How long its packets down have occupied the air, lost ones with them, in milliseconds.
    pub(crate) airtime_down_ms: f64,
    /// The same for those up.
    pub(crate) airtime_up_ms: f64,
}

/// As indented JSON, without a line end.
pub(crate) fn to_json(report: &impl Serialize) -> String {
    serde_json::to_string_pretty(report).expect("a report is numbers under names")
}
