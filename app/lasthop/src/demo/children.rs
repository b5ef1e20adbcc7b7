//! Processes between mobile host and gateway: the air, and the tunnel that crosses it.

use channel::PerDirection;
use rig::{Air, Link, Process, Usage};
use units::Instant;

use super::daemons;
use super::error::DemoError;
use super::network::Network;
use super::plan::{Environment, RunPlan, Scheme};
use crate::emulate::Report;

/// Everything between mobile host and gateway.
pub(crate) struct Hop {
    air: Air,
    origin: Instant,
    /// Processes of the scheme, in the order of their start.
    tunnel: Vec<Process>,
}

impl Hop {
    /// Starts the air of `plan`, and the tunnel if there is one.
    pub(crate) fn start(
        plan: &RunPlan,
        machinery: &Environment,
        network: Network,
    ) -> Result<Self, DemoError> {
        let Environment { program, folder } = machinery;
        let link = Link {
            program,
            folder,
            link: &plan.link_choice,
            seed: plan.seed,
        };
        let PerDirection { down, up } = network.air;
        let air = Air::through(link, [down, up])?;
        let report: Report = air.last_report()?;
        let hosts = [&network.gateway, &network.mobile];
        let tunnel = match &plan.scheme {
            Scheme::Plain => Vec::new(),
            Scheme::Lasthop(tcp) => daemons::start(machinery, hosts, *tcp, &plan.sender)?,
            Scheme::Peer(peer) => peer.start(folder, hosts)?,
        };
        Ok(Self {
            air,
            origin: Instant::from_nanos(report.origin_ns),
            tunnel,
        })
    }

    /// Returns time zero of the link, by the monotonic clock.
    pub(crate) fn origin(&self) -> Instant {
        self.origin
    }

    /// Returns an error if one of the processes has ended early.
    pub(crate) fn check(&mut self) -> Result<(), DemoError> {
        self.air.check()?;
        Ok(self.tunnel.iter_mut().try_for_each(Process::check)?)
    }

    /// Returns the resource usage of the tunnel's processes, if there is a tunnel.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.tunnel.iter().map(Process::usage).reduce(Usage::and)
    }

    /// Ends everything; returns the air's counters.
    pub(crate) fn end(mut self) -> Result<Report, DemoError> {
        let report: Report = self.air.end()?;
        for process in self.tunnel.iter_mut().rev() {
            process.end()?;
        }
        if report.ended {
            return Ok(report);
        }
        let reason = "the emulator has left no last report";
        Err(DemoError::Child(reason.into()))
    }
}
