//! The experiments that are transfers.

use std::io;

use experiment::{
    About, Calibration, Case, Claim, Experiment, Measurements, Metric, PlanError, RunError, Tracer,
};

use super::claims;
use super::run::{
    BUSY, DEVIATION, FRAMES_IN, FRAMES_OUT, INTERVAL, LONGEST, NORMALISED, PACKET_ERRORS, REACHED,
    REPAIRS, STALL, STALLED, THROUGHPUT, TIMEOUTS, USAGE, WAKE_UPS, measure, read,
};
use crate::ton97::tables::capture;

const SOURCE: &str =
    "Haas, Warkhedi, \"The Design and Performance of Mobile TCP for Wireless Networks\", 2000";

/// Throughput over errors.
pub(super) const SPEED: &[Metric] = &[
    NORMALISED,
    THROUGHPUT,
    PACKET_ERRORS,
    TIMEOUTS,
    REPAIRS,
    STALLED,
];
const PEAK_METRICS: &[Metric] = &[THROUGHPUT, TIMEOUTS, REPAIRS, FRAMES_IN, FRAMES_OUT];
const ARRIVALS: &[Metric] = &[INTERVAL, DEVIATION, LONGEST, STALLED, PACKET_ERRORS];
const REACH: &[Metric] = &[
    REACHED,
    NORMALISED,
    THROUGHPUT,
    PACKET_ERRORS,
    TIMEOUTS,
    REPAIRS,
    FRAMES_OUT,
];
const STALLS: &[Metric] = &[STALL, LONGEST, THROUGHPUT, TIMEOUTS, REPAIRS];
pub(super) const WORK: &[Metric] = &[
    BUSY,
    USAGE,
    FRAMES_IN,
    FRAMES_OUT,
    WAKE_UPS,
    THROUGHPUT,
    PACKET_ERRORS,
];

/// An experiment's name and title, its metrics, its claims, and its plan: its own parts, then the common ones.
macro_rules! transfers {
    ($name:literal, $title:literal, $seeds:literal, $metrics:expr, $claims:expr, [$($part:literal),+]) => {
        Transfers {
            about: about(
                [$name, $title],
                $metrics,
                concat!(
                    "[experiment]\nname = \"", $name, "\"\nseeds = ", $seeds, "\n",
                    $(include_str!(concat!("plans/", $part, ".toml"))),+,
                    include_str!("plans/parameters.toml")
                ),
            ),
            claims: $claims,
        }
    };
}

pub(super) const PEAK: Transfers = transfers!(
    "mtcp00-peak",
    "Throughput without errors: what the model is calibrated to",
    20,
    PEAK_METRICS,
    Vec::new,
    ["axes", "both", "schemes"]
);
pub(super) const FIGURE_10A: Transfers = transfers!(
    "mtcp00-fig10a",
    "Figure 10a: throughput over packet errors, wireless",
    20,
    SPEED,
    claims::speed,
    ["errors", "wireless", "schemes"]
);
pub(super) const FIGURE_10B: Transfers = transfers!(
    "mtcp00-fig10b",
    "Figure 10b: throughput over packet errors, Ethernet",
    20,
    SPEED,
    claims::speed,
    ["errors", "ethernet", "schemes"]
);
pub(super) const FIGURE_12A: Transfers = transfers!(
    "mtcp00-fig12a",
    "Figure 12a: wireless and Ethernet by packet errors",
    20,
    SPEED,
    claims::networks,
    ["errors", "both", "schemes"]
);
pub(super) const FIGURE_12B: Transfers = transfers!(
    "mtcp00-fig12b",
    "Figure 12b: wireless and Ethernet by the time in outages",
    10,
    SPEED,
    claims::outages,
    ["outages", "schemes"]
);
pub(super) const OUTAGES: Transfers = transfers!(
    "mtcp00-outages",
    "Figure 12b, with outages that end in time, whatever is sent",
    10,
    SPEED,
    Vec::new,
    ["outages-in-time", "schemes"]
);
pub(super) const FIGURE_13: Transfers = transfers!(
    "mtcp00-fig13",
    "Figures 13a and 13b: from one socket buffer to the next, wireless",
    20,
    ARRIVALS,
    claims::arrivals,
    ["errors", "wireless", "schemes"]
);
pub(super) const FIGURE_14: Transfers = transfers!(
    "mtcp00-fig14",
    "Figures 14a and 14b: the mobile host's work as it is counted, wireless",
    20,
    WORK,
    claims::work,
    ["errors", "wireless", "schemes"]
);
pub(super) const TABLE_3: Transfers = transfers!(
    "mtcp00-table3",
    "Table 3: both ways at once without errors, Ethernet",
    20,
    WORK,
    claims::both_ways,
    ["axes", "both-ways", "schemes"]
);

pub(super) const ABLATION: Transfers = transfers!(
    "mtcp00-ablation",
    "Beyond the paper: MTCP without one of its mechanisms, or with another window",
    10,
    SPEED,
    claims::parts,
    ["ablation"]
);
pub(super) const WIRED: Transfers = transfers!(
    "mtcp00-wired",
    "Beyond the paper: what a split brings over the length of the wire",
    10,
    SPEED,
    claims::splits,
    ["wired"]
);
pub(super) const LEAN: Transfers = transfers!(
    "mtcp00-lean",
    "Beyond the paper: a mobile host without timers, wireless",
    10,
    WORK,
    claims::lean,
    ["lean", "mtcp"]
);
pub(super) const BUFFER: Transfers = transfers!(
    "mtcp00-buffer",
    "Beyond the paper: MTCP over its receive buffer",
    10,
    SPEED,
    Vec::new,
    ["buffer", "mtcp"]
);
pub(super) const WIDE: Transfers = transfers!(
    "mtcp00-wide",
    "Beyond the paper: the wide profile with a window of four bandwidth-delay products",
    10,
    REACH,
    claims::wide,
    ["wide", "mtcp"]
);
pub(super) const HAND_OFF: Transfers = transfers!(
    "mtcp00-hand-off",
    "Beyond the paper: from one access point to another",
    10,
    STALLS,
    claims::hand_off,
    ["hand-off", "mtcp", "tcp"]
);

pub(super) const fn about(
    [name, title]: [&'static str; 2],
    metrics: &'static [Metric],
    plan: &'static str,
) -> About {
    About {
        name,
        group: "mtcp00",
        title,
        source: SOURCE,
        plan,
        metrics,
        published: include_str!("published.toml"),
        calibration: CALIBRATION,
        deviations: include_str!("../../../../docs/papers/mtcp00.md"),
    }
}

const CALIBRATION: &[Calibration] = &[
    Calibration {
        key: "air.access",
        reason: "fitted to TCP's peaks, 0.70 Mbit/s (wireless) and 8 Mbit/s (Ethernet)",
    },
    Calibration {
        key: "air.medium",
        reason: "one channel for both directions, as a radio LAN and an Ethernet of 1998 are",
    },
    Calibration {
        key: "wire",
        reason: "another Ethernet; the paper does not say what joins fixed host and base station",
    },
    Calibration {
        key: "tcp.timing",
        reason: "the timeouts of 200 to 500 ms that the paper saw of Microsoft's TCP",
    },
    Calibration {
        key: "tcp.acknowledging",
        reason: "every second segment, 200 ms; the paper names such timers",
    },
    Calibration {
        key: "tcp.recovery",
        reason: "Reno, with three duplicates; the paper does not say",
    },
    Calibration {
        key: "redirector.buffer",
        reason: "another 16 KB; the paper does not say",
    },
    Calibration {
        key: "work",
        reason: "guessed, and the same for all protocols but for IP and a copy, which MTCP does without",
    },
];

/// Transfers in the settings of a plan.
#[derive(Debug)]
pub(super) struct Transfers {
    pub(super) about: About,
    pub(super) claims: fn() -> Vec<Claim>,
}

impl Experiment for Transfers {
    fn about(&self) -> &About {
        &self.about
    }

    fn check(&self, case: &Case) -> Result<(), PlanError> {
        read(case, 0).map(drop)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        measure(&read(case, seed)?, self.about.metrics)
    }

    fn claims(&self) -> Vec<Claim> {
        (self.claims)()
    }

    fn tracer(&self) -> Option<&dyn Tracer> {
        Some(self)
    }
}

impl Tracer for Transfers {
    fn trace(&self, case: &Case, seed: u64, pcap: &mut dyn io::Write) -> Result<(), RunError> {
        capture(&read(case, seed)?, pcap)
    }
}
