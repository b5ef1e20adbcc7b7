//! The experiments.

use experiment::{
    About, Calibration, Case, Claim, Experiment, Measurements, Metric, PlanError, RunError,
};

use super::claims;
use super::crowd::{self, CROWD_METRICS};
use super::delay::{self, DELAY_METRICS};
use super::network::SetUp;
use super::run::{CONNECTION_METRICS, METRICS, SPAN_METRICS, Transfers};
use super::trace::{self, TRACE_METRICS};

const SOURCE: &str = "Bhagwat, Bhattacharya, Krishna, Tripathi, \"Enhancing Throughput over Wireless LANs Using \
    Channel State Dependent Packet Scheduling\", IEEE INFOCOM 1996; all numbers of the paper are lost";

/// Concatenates the parts of a plan.
macro_rules! plan {
    ($($part:literal),+) => {
        concat!($(include_str!(concat!("plans/", $part, ".toml"))),+, include_str!("plans/parameters.toml"))
    };
}

/// Transfers by all connections: name, title, claims, and the plan's own parts.
macro_rules! transfers {
    ($name:literal, $title:literal, $claims:expr, [$($part:literal),+]) => {
        CsdpExperiment {
            about: about([$name, $title], METRICS, plan!($($part),+)),
            claims: $claims,
            measure: transfers,
        }
    };
}

pub(super) const FINISH: CsdpExperiment = transfers!(
    "csdp96-finish",
    "When connections end, by discipline, at two burst lengths",
    claims::finish,
    ["finish", "transfer", "fades", "schemes", "beyond"]
);
pub(super) const BURST: CsdpExperiment = transfers!(
    "csdp96-burst",
    "Burst lengths at a constant ratio of good and bad",
    claims::burst,
    ["burst", "transfer", "fades", "schemes"]
);
pub(super) const RANDOM: CsdpExperiment = transfers!(
    "csdp96-random",
    "Random errors in place of bursts",
    claims::random,
    ["random", "transfer"]
);
pub(super) const SWEEP: CsdpExperiment = transfers!(
    "csdp96-sweep",
    "The findings over link rate, number of mobile hosts, burst length and retries",
    claims::sweep,
    ["sweep", "transfer-small", "fades"]
);
pub(super) const MONITOR: CsdpExperiment = transfers!(
    "csdp96-monitor",
    "How the channels' states are known, and what receivers tell of losses",
    claims::monitor,
    ["monitor", "transfer", "fades"]
);
pub(super) const ACCURACY: CsdpExperiment = transfers!(
    "csdp96-accuracy",
    "How often the monitor is right, from never to always, each look by itself",
    claims::accuracy,
    ["accuracy", "right", "transfer-small", "fades"]
);
pub(super) const ACCURACY_PERIODS: CsdpExperiment = transfers!(
    "csdp96-accuracy-periods",
    "How often the monitor is right, from never to always, for a whole period of a channel",
    claims::accuracy,
    ["accuracy-periods", "right", "transfer-small", "fades"]
);
pub(super) const COLLISIONS: CsdpExperiment = transfers!(
    "csdp96-collisions",
    "Collisions that are taken for fades, beside hosts that send",
    claims::collisions,
    ["collisions", "monitors", "transfer-small", "fades"]
);
pub(super) const REQUEUE: CsdpExperiment = transfers!(
    "csdp96-requeue",
    "What it costs to put a frame back, over the rate at which frames are copied",
    claims::requeue,
    ["requeue", "requeue-schemes", "transfer-small", "fades"]
);
pub(super) const CONNECTIONS: CsdpExperiment = CsdpExperiment {
    about: about(
        [
            "csdp96-connections",
            "When each connection ends, in one run: the paper's figures",
        ],
        CONNECTION_METRICS,
        plan!("connections", "transfer", "fades", "schemes"),
    ),
    claims: Vec::new,
    measure: connection,
};
pub(super) const TRACE: CsdpExperiment = CsdpExperiment {
    about: about(
        [
            "csdp96-trace",
            "One connection and three bursts, over time: the paper's Figure 1",
        ],
        TRACE_METRICS,
        plan!("trace", "moments"),
    ),
    claims: claims::trace,
    measure: trace::moment,
};
pub(super) const ISOLATION: CsdpExperiment = CsdpExperiment {
    about: about(
        [
            "csdp96-isolation",
            "Beyond the paper: one mobile host in fades half of the time, and what the others get",
        ],
        SPAN_METRICS,
        plan!("isolation", "span", "isolation-schemes"),
    ),
    claims: claims::isolation,
    measure: SetUp::span,
};

pub(super) const DELAY: CsdpExperiment = CsdpExperiment {
    about: about(
        [
            "csdp96-delay",
            "Beyond the paper: round trips, and the delay of a call and of a typist beside the connections",
        ],
        DELAY_METRICS,
        plan!("delay", "span", "fades", "schemes", "known"),
    ),
    claims: claims::delay,
    measure: delay::measure,
};

pub(super) const CROWD: CsdpExperiment = CsdpExperiment {
    about: about(
        [
            "csdp96-crowd",
            "Beyond the paper: what fades cost many mobile hosts, and what the monitor sees of them",
        ],
        CROWD_METRICS,
        plan!("crowd", "fades"),
    ),
    claims: claims::crowd,
    measure: crowd::measure,
};

const fn about(
    [name, title]: [&'static str; 2],
    metrics: &'static [Metric],
    plan: &'static str,
) -> About {
    About {
        name,
        group: "csdp96",
        title,
        source: SOURCE,
        plan,
        metrics,
        published: "",
        calibration: CALIBRATION,
        deviations: include_str!("../../../../docs/papers/csdp96.md"),
    }
}

const CALIBRATION: &[Calibration] = &[
    Calibration {
        key: "connections",
        reason: "lost; the paper's figure has eight boxes of hosts",
    },
    Calibration {
        key: "transfer",
        reason: "lost; ours",
    },
    Calibration {
        key: "air.rate",
        reason: "lost; the wire is said to be an order of magnitude faster, and WaveLAN of the time had 2 Mbit/s",
    },
    Calibration {
        key: "wire.rate",
        reason: "lost; Ethernet of the time",
    },
    Calibration {
        key: "wire.delay",
        reason: "lost but for \"representative of LANs\"; ours",
    },
    Calibration {
        key: "errors.bad.mean",
        reason: "lost; the NFS papers of the same group have 10 to 100 ms",
    },
    Calibration {
        key: "errors.good.mean",
        reason: "lost but for \"sec\"; ours",
    },
    Calibration {
        key: "errors.loss_bad",
        reason: "lost; ours",
    },
    Calibration {
        key: "errors.loss_good",
        reason: "said to be far below that in bad periods; ours",
    },
    Calibration {
        key: "driver.retries",
        reason: "lost; ours",
    },
    Calibration {
        key: "driver.queue",
        reason: "\"sufficient buffering\": more than the window of a connection",
    },
    Calibration {
        key: "tcp.timing.tick",
        reason: "the paper says \"coarse\", with a lost number of milliseconds; 4.4BSD's",
    },
    Calibration {
        key: "tcp.receive_buffer",
        reason: "not stated; that of ton97",
    },
];

/// An experiment: runs of a plan.
#[derive(Debug)]
pub(super) struct CsdpExperiment {
    pub(super) about: About,
    claims: fn() -> Vec<Claim>,
    measure: fn(&SetUp) -> Result<Measurements, RunError>,
}

/// Runs all connections to their ends, and measures one of them.
fn connection(set_up: &SetUp) -> Result<Measurements, RunError> {
    let transfers = Transfers::run(set_up)?;
    let number = set_up.parameters.connection.unwrap_or(1);
    let end = transfers.ends.get(usize::from(number) - 1);
    let end = end.map(|end| end.since_origin().as_secs_f64());
    Ok(Measurements::new().with_some("finish", end))
}

/// Runs all connections to their ends.
fn transfers(set_up: &SetUp) -> Result<Measurements, RunError> {
    Transfers::run(set_up)?.measurements(set_up)
}

impl Experiment for CsdpExperiment {
    fn about(&self) -> &About {
        &self.about
    }

    fn check(&self, case: &Case) -> Result<(), PlanError> {
        SetUp::read(case, 0).map(drop)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        (self.measure)(&SetUp::read(case, seed)?)
    }

    fn claims(&self) -> Vec<Claim> {
        (self.claims)()
    }
}
