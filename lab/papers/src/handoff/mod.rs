//! A download while its mobile host moves from one gateway of a site to another, again and again.
//!
//! The papers say what hand-off should cost, and measured none of it (Balakrishnan et al. for snoop and I-TCP, Haas and
//! Warkhedi for MTCP). Here the hosts are those that run live (`protocols/hosts`), in virtual time (`sim/sites`): three
//! gateways, of which one is the mobile host's home, on hops of their own. docs/papers/handoff.md has the results.
//!
//! # How to read it
//! 1. `plans/`: the default plans; a scheme is what happens to TCP on the hop.
//! 2. `run.rs`: a run and its metrics. 3. `claims.rs`: the statements of the papers, and ours.

mod claims;
mod run;

use experiment::{
    About, Calibration, Case, Claim, Experiment, Measurements, Metric, PlanError, RunError,
};

/// The experiments of the group `handoff`.
pub const EXPERIMENTS: &[&dyn Experiment] = &[&DEPARTURES, &INTERVALS];

const METRICS: &[Metric] = &[
    run::STALL,
    run::WORST,
    run::GOODPUT,
    run::SHARE,
    run::REPEATS,
    run::TIMEOUTS,
];

const CALIBRATION: &[Calibration] = &[
    Calibration {
        key: "rate",
        reason: "chosen: a cellular link; no paper has such an experiment",
    },
    Calibration {
        key: "beyond",
        reason: "chosen: the sender's window fills the path, and no queue, so that each stall is one of hand-off",
    },
];

/// An experiment's name and title, its claims, and its plan: its own part, then the common one.
macro_rules! hand_offs {
    ($name:literal, $title:literal, $part:literal, $claims:expr) => {
        HandOffs {
            about: About {
                name: $name,
                group: "handoff",
                title: $title,
                source: "Ours; the schemes are those of Balakrishnan et al. 1997, and Haas and Warkhedi 2000",
                plan: concat!(
                    "[experiment]\nname = \"",
                    $name,
                    "\"\nseeds = 5\n",
                    include_str!(concat!("plans/", $part, ".toml")),
                    include_str!("plans/parameters.toml")
                ),
                metrics: METRICS,
                published: "",
                calibration: CALIBRATION,
                deviations: include_str!("../../../../docs/papers/handoff.md"),
            },
            claims: $claims,
        }
    };
}

const DEPARTURES: HandOffs = hand_offs!(
    "handoff-departures",
    "Hand-off by how the former gateway is left, and the distance of gateways",
    "departures",
    claims::departures
);
const INTERVALS: HandOffs = hand_offs!(
    "handoff-intervals",
    "Hand-off by the time between two, and the distance of gateways",
    "intervals",
    claims::intervals
);

/// Downloads with hand-offs, in the settings of a plan.
#[derive(Debug)]
struct HandOffs {
    about: About,
    claims: fn() -> Vec<Claim>,
}

impl Experiment for HandOffs {
    fn about(&self) -> &About {
        &self.about
    }

    fn check(&self, case: &Case) -> Result<(), PlanError> {
        run::read(case, 0).map(drop)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        run::measure(&run::read(case, seed)?)
    }

    fn claims(&self) -> Vec<Claim> {
        (self.claims)()
    }
}
