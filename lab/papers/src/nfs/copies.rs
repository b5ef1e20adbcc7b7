//! The experiments that are copies of files.

use std::io;

use experiment::{About, Case, Claim, Experiment, Measurements, PlanError, RunError, Tracer};
use simulator::{End, Pcap};
use units::Instant;

use super::interface::{AIR, LINK, WIRED};
use super::network::SetUp;
use super::parameters::{Parameters, Scheme};
use super::run::Run;
use crate::failed;

/// Bytes of a packet that a capture keeps: the headers of IP, UDP, RPC and NFS.
const SNAP: u16 = 256;

/// Copies in the settings of a plan.
#[derive(Debug)]
pub(crate) struct Copies {
    pub(crate) about: About,
    pub(crate) claims: fn() -> Vec<Claim>,
}

/// Reads and checks a case.
pub(crate) fn set_up(case: &Case, seed: u64) -> Result<SetUp, PlanError> {
    let parameters = Parameters::read(case)?;
    let scheme = Scheme::read(case, &parameters)?;
    Ok(SetUp {
        parameters,
        scheme,
        seed,
    })
}

impl Experiment for Copies {
    fn about(&self) -> &About {
        &self.about
    }

    fn check(&self, case: &Case) -> Result<(), PlanError> {
        set_up(case, 0).map(drop)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        let set_up = set_up(case, seed)?;
        Ok(Run::of(&set_up)?.measurements(&set_up))
    }

    fn claims(&self) -> Vec<Claim> {
        (self.claims)()
    }

    fn tracer(&self) -> Option<&dyn Tracer> {
        Some(self)
    }
}

impl Tracer for Copies {
    /// Captures the Ethernet at the server, as the papers' monitor did; the air at the base station; and the packets
    /// that the first client's card sends and receives.
    fn trace(&self, case: &Case, seed: u64, pcap: &mut dyn io::Write) -> Result<(), RunError> {
        let set_up = set_up(case, seed)?;
        let network = set_up.build()?;
        let at = |node, port| End { node, port };
        let first = network.clients.first().copied();
        let mut taps = vec![at(network.server, WIRED), at(network.station, AIR)];
        taps.extend(first.map(|client| at(client, LINK)));
        let wrong = |error: simulator::TraceError| RunError::Trace(io::Error::other(error));
        let mut capture = Pcap::new(pcap, &network.simulation, &taps, SNAP).map_err(wrong)?;
        let copy = &set_up.parameters.copy;
        let limit = copy.abort_after.unwrap_or(copy.give_up);
        Run::until(network, Instant::ZERO + limit, &mut capture).map_err(failed)?;
        capture.finish().map_err(wrong)?;
        Ok(())
    }
}
