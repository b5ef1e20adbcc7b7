//! The experiments.

use experiment::{About, Calibration, Case, Claim, Experiment, Measurements, PlanError, RunError};

use super::claims;
use super::network::SetUp;
use super::run::{METRICS, Run};

const SOURCE: &str = "Ours; it joins Dube, Rais, Tripathi, \"Improving NFS Performance over Wireless Links\", IEEE \
    Trans. Computers 46(3), 1997, and Bhagwat, Bhattacharya, Krishna, Tripathi, \"Enhancing Throughput over Wireless \
    LANs Using Channel State Dependent Packet Scheduling\", IEEE INFOCOM 1996";

/// Concatenates the parts of a plan, and then the common ones.
macro_rules! plan {
    ($($part:literal),+) => {
        concat!(
            $(include_str!(concat!("plans/", $part, ".toml")),)+
            include_str!("../csdp96/plans/fades.toml"),
            include_str!("plans/parameters.toml")
        )
    };
}

pub(super) const READ: Copies = Copies {
    about: about(
        [
            "nfs-csdp-read",
            "1 to 32 clients read files: by discipline and back-off",
        ],
        plan!("read", "grid", "schemes"),
    ),
    claims: claims::claims,
};

pub(super) const WRITE: Copies = Copies {
    about: about(
        [
            "nfs-csdp-write",
            "1 to 32 clients write files: by discipline and back-off",
        ],
        plan!("write", "grid", "schemes"),
    ),
    claims: claims::claims,
};

pub(super) const ONSET: Copies = Copies {
    about: about(
        [
            "nfs-csdp-onset",
            "Where congestion sets in, from 4 to 8 clients",
        ],
        plan!("onset", "schemes"),
    ),
    claims: claims::between,
};

pub(super) const CHOICES: Copies = Copies {
    about: about(
        [
            "nfs-csdp-choices",
            "What congestion rests on: each choice that neither paper makes",
        ],
        plan!("choices"),
    ),
    claims: Vec::new,
};

const fn about([name, title]: [&'static str; 2], plan: &'static str) -> About {
    About {
        name,
        group: "nfs-csdp",
        title,
        source: SOURCE,
        plan,
        metrics: METRICS,
        published: "",
        calibration: CALIBRATION,
        deviations: include_str!("../../../../docs/papers/nfs-csdp.md"),
    }
}

const CALIBRATION: &[Calibration] = &[
    Calibration {
        key: "copy.file",
        reason: "ours: 8 MB by all clients together, so that runs without congestion take equally long",
    },
    Calibration {
        key: "client.window",
        reason: "that of nfs95 and nfs97, an assumption there",
    },
    Calibration {
        key: "timeouts",
        reason: "those of nfs95 and nfs97: 700 ms is the paper's, the step and the maximum are assumptions there",
    },
    Calibration {
        key: "server.service.per_call",
        reason: "that of nfs95 and nfs97, an assumption there; the server is never short of time",
    },
    Calibration {
        key: "hosts.reassembly",
        reason: "ours: more than 32 clients send to the server at once, so that the air is what is short",
    },
    Calibration {
        key: "wire",
        reason: "that of csdp96, where the paper's is lost",
    },
    Calibration {
        key: "air",
        reason: "that of csdp96, where the paper's is lost; the NFS papers had 1 Mbit/s",
    },
    Calibration {
        key: "driver.retries",
        reason: "that of csdp96, where the paper's is lost",
    },
    Calibration {
        key: "driver.queue",
        reason: "4.3BSD's bound of an interface's queue, as in the testbed of nfs95",
    },
    Calibration {
        key: "errors",
        reason: "those of csdp96: fades of 100 ms, good periods of 1 s; both papers' bursts are of that order",
    },
];

/// An experiment: copies in the settings of a plan.
#[derive(Debug)]
pub(super) struct Copies {
    pub(super) about: About,
    claims: fn() -> Vec<Claim>,
}

impl Experiment for Copies {
    fn about(&self) -> &About {
        &self.about
    }

    fn check(&self, case: &Case) -> Result<(), PlanError> {
        SetUp::read(case, 0).map(drop)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        let set_up = SetUp::read(case, seed)?;
        Run::of(&set_up)?.measurements()
    }

    fn claims(&self) -> Vec<Claim> {
        (self.claims)()
    }
}
