//! The source, metrics and calibration of the experiments.

use experiment::{About, Calibration};

use super::transfer::METRICS;

const SOURCE: &str = "Balakrishnan, Padmanabhan, Seshan, Katz, \"A Comparison of Mechanisms for Improving TCP \
    Performance over Wireless Links\", IEEE/ACM Transactions on Networking 5(6), 1997";

/// Returns the description of an experiment with the metrics of a transfer.
pub(super) const fn about([name, title]: [&'static str; 2], plan: &'static str) -> About {
    About {
        name,
        group: "ton97",
        title,
        source: SOURCE,
        plan,
        metrics: METRICS,
        published: include_str!("published.toml"),
        calibration: CALIBRATION,
        deviations: include_str!("../../../../docs/papers/ton97.md"),
    }
}

const CALIBRATION: &[Calibration] = &[
    Calibration {
        key: "air.access",
        reason: "fitted to the peak in the local area, 1.5 Mbit/s",
    },
    Calibration {
        key: "wire.rate",
        reason: "in the wide area fitted to the peak there, 1.35 Mbit/s",
    },
    Calibration {
        key: "air.framing",
        reason: "header and checksum of an Ethernet frame, which errors meet too",
    },
    Calibration {
        key: "wire.delay",
        reason: "the round trips that the paper states: 10 ms in the local area, 135 ms in the wide area",
    },
    Calibration {
        key: "tcp.acknowledging.delayed",
        reason: "4.4BSD's; the paper leaves it open",
    },
    Calibration {
        key: "tcp.congestion.extra_eighth",
        reason: "4.4BSD's",
    },
    Calibration {
        key: "tcp.send_low_water",
        reason: "4.4BSD's: a writer waits for room for a cluster of 2,048 bytes",
    },
    Calibration {
        key: "tcp.recovery.careful",
        reason: "4.4BSD's; whether the paper's hosts had Floyd's fix of 1994 is not said",
    },
    Calibration {
        key: "snoop.duplicates",
        reason: "two in the comparison, one in the earlier papers of the group",
    },
    Calibration {
        key: "repairs_ahead",
        reason: "the agent's own papers have a queue of high priority",
    },
];
