//! What stands between mobile host and gateway: the air, and what crosses it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use channel::PerDirection;
use edges::clock;
use edges::tun::TunDevice;
use units::Instant;

use super::daemons;
use super::error::DemoError;
use super::network::Network;
use super::plan::{Machinery, RunPlan, Scheme};
use super::process::{PATIENCE, PAUSE, Process, Usage};
use crate::emulate::Report;

/// Everything between mobile host and gateway.
pub(crate) struct Hop {
    emulator: Emulator,
    /// Those of the scheme, in the order of their start.
    tunnel: Vec<Process>,
}

impl Hop {
    /// Starts the air of `plan`, and the tunnel if there is one.
    pub(crate) fn start(
        plan: &RunPlan,
        machinery: &Machinery,
        network: Network,
    ) -> Result<Self, DemoError> {
        let Network {
            mobile,
            gateway,
            air,
            ..
        } = network;
        let emulator = Emulator::start(plan, machinery, air)?;
        let tunnel = match &plan.scheme {
            Scheme::Plain => Vec::new(),
            Scheme::Lasthop(tcp) => {
                let method = (*tcp, plan.sender.as_str());
                daemons::start(machinery, [&gateway, &mobile], method)?
            }
            Scheme::Peer(peer) => peer.start(&machinery.folder, &gateway, &mobile)?,
        };
        Ok(Self { emulator, tunnel })
    }

    /// Time zero of the link, by the monotonic clock.
    pub(crate) fn origin(&self) -> Instant {
        self.emulator.origin
    }

    /// An error if one of the processes has ended of itself.
    pub(crate) fn check(&mut self) -> Result<(), DemoError> {
        self.emulator.process.check()?;
        self.tunnel.iter_mut().try_for_each(Process::check)
    }

    /// What the processes of the tunnel have used, if there is one.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.tunnel.iter().map(Process::usage).reduce(Usage::and)
    }

    /// Ends everything; gives the air's counters.
    pub(crate) fn end(mut self) -> Result<Report, DemoError> {
        let report = self.emulator.end()?;
        self.tunnel.iter_mut().rev().try_for_each(Process::end)?;
        Ok(report)
    }
}

/// The air, in a process of its own.
struct Emulator {
    process: Process,
    json: PathBuf,
    origin: Instant,
}

impl Emulator {
    /// Starts the air of `plan` between two devices.
    fn start(
        plan: &RunPlan,
        machinery: &Machinery,
        air: PerDirection<TunDevice>,
    ) -> Result<Self, DemoError> {
        let json = machinery.folder.join("emulator.json");
        let _ = fs::remove_file(&json);
        let mut command = Command::new(&machinery.program);
        command
            .args(["emulate", "--left", "stdin", "--right", "stdout"])
            .args([
                "--link",
                &plan.link_choice,
                "--seed",
                &plan.seed.to_string(),
                "--json",
            ])
            .arg(&json)
            .stdin(air.down.into_descriptor())
            .stdout(air.up.into_descriptor());
        // The command holds the devices as well; it is gone when this returns, so they go with the
        // emulator.
        let mut process = Process::start(command, "emulator", &machinery.folder, None)?;
        let deadline = clock::monotonic() + PATIENCE;
        while !json.exists() {
            process.check()?;
            if clock::monotonic() > deadline {
                return Err(DemoError::Child("the emulator does not begin".into()));
            }
            thread::sleep(PAUSE);
        }
        let origin = Instant::from_nanos(read_report(&json)?.origin_ns);
        Ok(Self {
            process,
            json,
            origin,
        })
    }

    /// Ends the air; gives its counters.
    fn end(mut self) -> Result<Report, DemoError> {
        self.process.end()?;
        let report = read_report(&self.json)?;
        if report.ended {
            return Ok(report);
        }
        self.process.check()?;
        Err(DemoError::Child(
            "the emulator has left no last report".into(),
        ))
    }
}

fn read_report(path: &Path) -> Result<Report, DemoError> {
    let text = fs::read_to_string(path).map_err(DemoError::failed("read the emulator's report"))?;
    serde_json::from_str(&text)
        .map_err(|error| DemoError::Child(format!("the emulator's report is no report: {error}")))
}
