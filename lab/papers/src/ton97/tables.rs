//! The experiments of Tables 2 to 4: transfers in three settings.

use std::io;

use experiment::{
    About, Calibration, Case, Claim, Experiment, Measurements, PlanError, RunError, Tracer,
};
use simulator::{End, Pcap};

use super::network::SetUp;
use super::node::{AIR, WIRED};
use super::parameters::{Parameters, Scheme};
use super::transfer::{METRICS, Transfer};

/// Bytes of a packet that a capture keeps: all of it.
const SNAP: u16 = u16::MAX;

const SOURCE: &str = "Balakrishnan, Padmanabhan, Seshan, Katz, \"A Comparison of Mechanisms for Improving TCP \
    Performance over Wireless Links\", IEEE/ACM Transactions on Networking 5(6), 1997";

/// The plan of an experiment: what is its own, then what all have.
macro_rules! plan {
    ($($part:literal),+) => {
        concat!($(include_str!(concat!("plans/", $part, ".toml"))),+, include_str!("plans/parameters.toml"))
    };
}

/// The experiments, in the paper's order.
pub(super) const EXPERIMENTS: &[&dyn Experiment] = &[
    &Transfers(about(
        [
            "ton97-peak",
            "Throughput without losses: what the model is calibrated to",
        ],
        plan!("peak"),
    )),
    &Transfers(about(
        [
            "ton97-table2",
            "Table 2: link-layer schemes, one error in 64 KB",
        ],
        plan!("table2", "settings"),
    )),
    &Transfers(about(
        [
            "ton97-table3",
            "Table 3: end-to-end schemes, one error in 64 KB",
        ],
        plan!("table3", "settings"),
    )),
    &Transfers(about(
        [
            "ton97-table4",
            "Table 4: split connections, one error in 64 KB",
        ],
        plan!("table4", "settings"),
    )),
];

const fn about([name, title]: [&'static str; 2], plan: &'static str) -> About {
    About {
        name,
        group: "ton97",
        title,
        source: SOURCE,
        plan,
        metrics: METRICS,
        published: include_str!("published.toml"),
        calibration: CALIBRATION,
        deviations: "",
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
];

/// Transfers in the settings of a plan.
#[derive(Debug)]
struct Transfers(About);

fn set_up(case: &Case, seed: u64) -> Result<SetUp, PlanError> {
    Ok(SetUp {
        parameters: Parameters::read(case)?,
        scheme: Scheme::read(case)?,
        seed,
    })
}

impl Experiment for Transfers {
    fn about(&self) -> &About {
        &self.0
    }

    fn check(&self, case: &Case) -> Result<(), PlanError> {
        set_up(case, 0).map(drop)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        let set_up = set_up(case, seed)?;
        let mut network = set_up.build(|node| node)?;
        let transfer = Transfer::run(&set_up, &mut network, &mut (), |node| node)?;
        Ok(transfer.measurements())
    }

    fn claims(&self) -> Vec<Claim> {
        Vec::new()
    }

    fn tracer(&self) -> Option<&dyn Tracer> {
        Some(self)
    }
}

impl Tracer for Transfers {
    fn trace(&self, case: &Case, seed: u64, pcap: &mut dyn io::Write) -> Result<(), RunError> {
        let set_up = set_up(case, seed)?;
        let mut network = set_up.build(|node| node)?;
        let at = |node, port| End { node, port };
        let taps = [
            at(network.source, WIRED),
            at(network.station, AIR),
            at(network.mobile, AIR),
        ];
        let failed = |error: simulator::TraceError| RunError::Trace(io::Error::other(error));
        let mut capture = Pcap::new(pcap, &network.simulation, &taps, SNAP).map_err(failed)?;
        Transfer::run(&set_up, &mut network, &mut capture, |node| node)?;
        capture.finish().map_err(failed)?;
        Ok(())
    }
}
