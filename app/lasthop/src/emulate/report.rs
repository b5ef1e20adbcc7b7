//! The counters of an emulated link, as JSON.

use channel::{Amount, Counters};
use serde::{Deserialize, Serialize};

/// Packets and their bytes on the wire (of their Ethernet frames).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Traffic {
    /// Number of packets.
    pub(crate) packets: u64,
    /// Number of their bytes on the wire.
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

/// Counters of the packets of one direction:
/// `offered = delivered + dropped_queue + dropped_too_long + dropped_policer + dropped_air + damaged + inside`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct DirectionReport {
    /// Packets read from the interface where they entered.
    pub(crate) offered: Traffic,
    /// Packets written to the far interface.
    pub(crate) delivered: Traffic,
    /// Delivered packets that the far interface refused (it was down or full).
    pub(crate) refused_packets: u64,
    /// Packets dropped because the queue of the link was full.
    pub(crate) dropped_queue: Traffic,
    /// Packets dropped by a policer.
    #[serde(default)]
    pub(crate) dropped_policer: Traffic,
    /// Packets dropped because they were longer than the link carries.
    #[serde(default)]
    pub(crate) dropped_too_long: Traffic,
    /// Packets lost on the air.
    pub(crate) dropped_air: Traffic,
    /// Packets dropped at the far end because they were changed on their way.
    #[serde(default)]
    pub(crate) damaged: Traffic,
    /// Additional copies of delivered packets.
    #[serde(default)]
    pub(crate) duplicated: Traffic,
    /// Packets that wait, are in transmission, or are in flight.
    pub(crate) inside: Traffic,
    /// Packets whose transmission has started.
    pub(crate) transmitted: Traffic,
    /// Largest content of the queue.
    pub(crate) queue_peak: Traffic,
    /// Mean time in the queue, in milliseconds.
    pub(crate) mean_wait_ms: f64,
    /// Share of the time so far in the good state of the air, from 0 to 1.
    pub(crate) good_share: f64,
}

impl DirectionReport {
    /// Creates a report of `counters`.
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

/// Delays of the emulator at the deadlines of its channel.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Lateness {
    /// Number of deadlines.
    pub(crate) deadlines: u64,
    /// Mean delay, in microseconds.
    pub(crate) mean_us: f64,
    /// Largest delay, in microseconds.
    pub(crate) worst_us: f64,
    /// Number of delays of more than 2 ms: then the machine was too busy for reliable results.
    pub over_2_ms: u64,
}

/// Counters of an emulated link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Name of the link.
    pub(crate) link: String,
    /// Seed of its losses and fades.
    pub(crate) seed: u64,
    /// Beginning, in nanoseconds of `CLOCK_BOOTTIME`.
    pub(crate) origin_ns: u64,
    /// Duration so far, in nanoseconds.
    pub(crate) elapsed_ns: u64,
    /// True if this is the last report.
    pub(crate) ended: bool,
    /// From left to right: from the gateway to the mobile host.
    pub(crate) down: DirectionReport,
    /// From right to left.
    pub(crate) up: DirectionReport,
    /// Delays of the emulator.
    pub(crate) lateness: Lateness,
}

/// Counters of an emulated air with several mobile hosts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CellReport {
    /// Name of the link.
    pub(crate) link: String,
    /// Seed of all losses and fades.
    pub(crate) seed: u64,
    /// Beginning, in nanoseconds of `CLOCK_BOOTTIME`.
    pub(crate) origin_ns: u64,
    /// Duration so far, in nanoseconds.
    pub(crate) elapsed_ns: u64,
    /// True if this is the last report.
    pub(crate) ended: bool,
    /// Packets from the left to an address of no mobile host.
    pub(crate) unroutable_packets: u64,
    /// In the order of the command line.
    pub(crate) mobiles: Vec<MobileReport>,
    /// Delays of the emulator.
    pub(crate) lateness: Lateness,
}

/// Counters of one of several mobile hosts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MobileReport {
    /// Name of its interface.
    pub(crate) device: String,
    /// Name of the link with its error model.
    pub(crate) errors: String,
    /// From the gateway to the mobile host; the peak is that of the gateway's whole queue.
    pub(crate) down: DirectionReport,
    /// From the mobile host to the gateway.
    pub(crate) up: DirectionReport,
    /// Airtime of its packets down, lost ones included, in milliseconds.
    pub(crate) airtime_down_ms: f64,
    /// Airtime of its packets up, lost ones included, in milliseconds.
    pub(crate) airtime_up_ms: f64,
}

/// Returns indented JSON, without a line end.
pub(crate) fn to_json(report: &impl Serialize) -> String {
    serde_json::to_string_pretty(report).expect("a report is numbers under names")
}
