//! The matrix: every scheme on every paper's channel.
//!
//! Each paper tried its own remedy on its own channel. Here the twelve schemes of the comparison ([`ton97`]), I-TCP,
//! MTCP in both profiles and our own link repair transfer the same data across the channels of all five papers, and a
//! recorded one, with common seeds. docs/papers/matrix.md has the results and explains them.
//!
//! # How to read it
//! 1. `plans/matrix.toml`: the channels, each with the link of its paper; parameters that are missing there are as in
//!    [`ton97`].
//! 2. This file: a run is a transfer of [`ton97`], and two more without errors as references.
//! 3. `claims.rs`: the general statements of the papers.
//!
//! [`ton97`]: crate::ton97

mod claims;

use channel::errors::ErrorConfig;
use experiment::{
    About, Calibration, Case, Claim, Experiment, Measurements, Metric, PlanError, RunError,
};

use crate::metric;
use crate::ton97::network::SetUp;
use crate::ton97::parameters::Scheme;
use crate::ton97::tables::set_up;
use crate::ton97::transfer::{METRICS as TRANSFER, Transfer};

/// The only experiment of the group `matrix`.
pub const EXPERIMENTS: &[&dyn Experiment] = &[&Matrix];

/// Share of the throughput without errors.
const SHARE: Metric = metric(
    "share",
    "%",
    "of what plain TCP (E2E) moves across the same link without errors",
);
const OWN_SHARE: Metric = metric(
    "own_share",
    "%",
    "of what the scheme itself moves across the same link without errors",
);

/// Throughput, its shares, and the other metrics of transfers.
const METRICS: &[Metric] = &{
    let mut metrics = [TRANSFER[0]; 2 + TRANSFER.len()];
    metrics[1] = SHARE;
    metrics[2] = OWN_SHARE;
    let mut place = 1;
    while place < TRANSFER.len() {
        metrics[2 + place] = TRANSFER[place];
        place += 1;
    }
    metrics
};

const CALIBRATION: &[Calibration] = &[
    Calibration {
        key: "tcp",
        reason: "that of ton97 for all channels, so that only schemes and channels differ",
    },
    Calibration {
        key: "air",
        reason: "each channel has that of its paper's room: fitted to the no-loss peak where the paper gives one \
            (ton97, nfs95, mtcp00)",
    },
    Calibration {
        key: "mtcp",
        reason: "the paper's profile with its 16 KiB; packets as long as TCP's, so that errors meet as much",
    },
    Calibration {
        key: "mtcp_wide",
        reason: "TCP's 32 KiB; the base station chooses a packet when none waits for the air, as our gateways do",
    },
];

const ABOUT: About = About {
    name: "matrix",
    group: "matrix",
    title: "Every scheme on every paper's channel",
    source: "Ours; schemes and channels are those of the five papers",
    plan: concat!(
        include_str!("plans/matrix.toml"),
        include_str!("../ton97/plans/link-layer.toml"),
        include_str!("../ton97/plans/end-to-end.toml"),
        include_str!("../ton97/plans/split.toml"),
        include_str!("plans/schemes.toml"),
        include_str!("../ton97/plans/parameters.toml"),
        include_str!("plans/mtcp.toml")
    ),
    metrics: METRICS,
    published: "",
    calibration: CALIBRATION,
    deviations: include_str!("../../../../docs/papers/matrix.md"),
};

/// The experiment of all schemes on all channels.
#[derive(Debug)]
struct Matrix;

/// Returns the throughput of a transfer without errors, with this scheme or another, in Mbit/s.
fn without_errors(set_up: &SetUp, scheme: Scheme) -> Result<f64, RunError> {
    let mut set_up = set_up.clone();
    set_up.parameters.errors = ErrorConfig::default();
    set_up.scheme = scheme;
    Ok(Transfer::of(&set_up)?.throughput())
}

impl Experiment for Matrix {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn check(&self, case: &Case) -> Result<(), PlanError> {
        set_up(case, 0).map(drop)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        let set_up = set_up(case, seed)?;
        let transfer = Transfer::of(&set_up)?;
        let share = |scheme| {
            let peak = without_errors(&set_up, scheme)?;
            Ok::<_, RunError>(100.0 * transfer.throughput() / peak)
        };
        Ok(transfer
            .measurements()
            .with(SHARE.name, share(Scheme::default())?)
            .with(OWN_SHARE.name, share(set_up.scheme.clone())?))
    }

    fn claims(&self) -> Vec<Claim> {
        claims::all()
    }
}
