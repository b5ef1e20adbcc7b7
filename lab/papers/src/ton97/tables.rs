//! The experiments that are transfers: Tables 2 to 5, Figure 12, and those beyond the paper.

use std::io;

use experiment::{About, Case, Claim, Experiment, Measurements, PlanError, RunError, Tracer};
use simulator::{End, Pcap};

use super::about::about;
use super::claims;
use super::interface::{AIR, WIRED};
use super::network::SetUp;
use super::parameters::{Direction, Parameters, Scheme};
use super::transfer::Transfer;

/// Bytes of a packet that a capture keeps: all headers, as those of IPv4 and TCP take at most 80. The rest is not real
/// data.
const SNAP: u16 = 80;

/// The name, title and claims of an experiment, and its plan: its own part, then the common ones.
macro_rules! transfers {
    ($name:literal, $title:literal, $claims:expr, [$($part:literal),+]) => {
        Transfers {
            about: about(
                [$name, $title],
                concat!($(include_str!(concat!("plans/", $part, ".toml"))),+, include_str!("plans/parameters.toml")),
            ),
            claims: $claims,
            set_up,
        }
    };
}

pub(super) const PEAK: Transfers = transfers!(
    "ton97-peak",
    "Throughput without losses: what the model is calibrated to",
    Vec::new,
    ["peak"]
);
pub(super) const TABLE_2: Transfers = transfers!(
    "ton97-table2",
    "Table 2: link-layer schemes, one error in 64 KB",
    Vec::new,
    ["table2", "settings", "link-layer"]
);
pub(super) const TABLE_3: Transfers = transfers!(
    "ton97-table3",
    "Table 3: end-to-end schemes, one error in 64 KB",
    Vec::new,
    ["table3", "settings", "end-to-end"]
);
pub(super) const TABLE_4: Transfers = transfers!(
    "ton97-table4",
    "Table 4: split connections, one error in 64 KB",
    Vec::new,
    ["table4", "settings", "split"]
);
pub(super) const TABLE_5: Transfers = transfers!(
    "ton97-table5",
    "Table 5: bursts of 2, 4 and 6 packets",
    claims::bursts,
    ["table5"]
);
pub(super) const FIGURE_12: Transfers = transfers!(
    "ton97-fig12",
    "Figure 12: throughput over the spacing of errors",
    claims::spacings,
    ["fig12"]
);
pub(super) const CLAIMS: Transfers = transfers!(
    "ton97-claims",
    "What the paper says in words, and how close the model is to its tables",
    claims::all,
    ["claims", "settings", "link-layer", "end-to-end", "split"]
);
pub(super) const LOSS: Transfers = transfers!(
    "ton97-loss",
    "Beyond the paper: up to 30 % of packets lost",
    Vec::new,
    ["loss", "link-layer", "end-to-end", "split"]
);
pub(super) const VARIATION: Transfers = transfers!(
    "ton97-variation",
    "Beyond the paper: a hop whose delay jumps",
    Vec::new,
    ["variation", "link-layer", "end-to-end", "split"]
);
pub(super) const ASYMMETRY: Transfers = transfers!(
    "ton97-asymmetry",
    "Beyond the paper: a slow return channel",
    Vec::new,
    ["asymmetry", "link-layer", "end-to-end", "split"]
);

/// An experiment: transfers in the settings of a plan.
#[derive(Debug)]
pub(super) struct Transfers {
    pub(super) about: About,
    pub(super) claims: fn() -> Vec<Claim>,
    /// Reads and checks a case.
    pub(super) set_up: fn(&Case, u64) -> Result<SetUp, PlanError>,
}

/// Reads and checks a case, in any direction.
pub(super) fn read(case: &Case, seed: u64) -> Result<SetUp, PlanError> {
    let parameters = Parameters::read(case)?;
    if parameters.two_hops.is_some() {
        return Err(case.wrong_parameter("two_hops", "only ton97-two-hops has two"));
    }
    Ok(SetUp {
        parameters,
        scheme: Scheme::read(case)?,
        seed,
    })
}

/// Reads and checks a case of an experiment that downloads.
pub(crate) fn set_up(case: &Case, seed: u64) -> Result<SetUp, PlanError> {
    let set_up = read(case, seed)?;
    if set_up.parameters.direction != Direction::Download {
        let what = "this experiment only downloads; ton97-upload and ton97-both do not";
        return Err(case.wrong_parameter("direction", what));
    }
    Ok(set_up)
}

/// Runs a case, and captures the packets at the hosts and on the air.
pub(crate) fn capture(set_up: &SetUp, pcap: &mut dyn io::Write) -> Result<(), RunError> {
    let mut network = set_up.build(|node| node)?;
    let at = |node, port| End { node, port };
    let taps = [
        at(network.source, WIRED),
        at(network.station, AIR),
        at(network.mobile, AIR),
    ];
    let failed = |error: simulator::TraceError| RunError::Trace(io::Error::other(error));
    let mut capture = Pcap::new(pcap, &network.simulation, &taps, SNAP).map_err(failed)?;
    Transfer::run(set_up, &mut network, &mut capture, |node| node)?;
    capture.finish().map_err(failed)?;
    Ok(())
}

impl Experiment for Transfers {
    fn about(&self) -> &About {
        &self.about
    }

    fn check(&self, case: &Case) -> Result<(), PlanError> {
        (self.set_up)(case, 0).map(drop)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        let set_up = (self.set_up)(case, seed)?;
        Ok(Transfer::of(&set_up)?.measurements())
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
        capture(&(self.set_up)(case, seed)?, pcap)
    }
}
