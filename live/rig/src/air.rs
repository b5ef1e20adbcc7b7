//! An emulated link, in a process of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use edges::namespace::Namespace;
use edges::tun::TunDevice;
use rustix::process::Signal;
use serde::de::DeserializeOwned;

use crate::Failure;
use crate::hosts::{End, make_device, on, parse};
use crate::process::{Process, Usage, wait};

/// Time that the emulator may take to start, and to report.
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest IP packet, in bytes.
const MTU: u32 = 1500;

/// Parameters of `lasthop emulate`.
#[derive(Debug, Clone, Copy)]
pub struct Link<'a> {
    /// Path of the program `lasthop`.
    pub program: &'a Path,
    /// Folder of the emulator's files.
    pub folder: &'a Path,
    /// Name of a built-in link, or a file that describes one.
    pub link: &'a str,
    /// Seed of losses and fades.
    pub seed: u64,
}

/// An emulated link; it ends when this is dropped.
#[derive(Debug)]
pub struct Air {
    process: Process,
    report: PathBuf,
}

impl Air {
    /// Joins two hosts; `down` goes from the first to the second.
    pub fn between(link: Link<'_>, [left, right]: [End<'_>; 2]) -> Result<Self, Failure> {
        let device = |end: End<'_>| {
            let address = parse(end.address)?;
            on(end.host, || make_device(end.device, &[address], MTU))
        };
        Self::through(link, [device(left)?, device(right)?])
    }

    /// Joins two devices; `down` goes from the first to the second.
    pub fn through(link: Link<'_>, [left, right]: [TunDevice; 2]) -> Result<Self, Failure> {
        let mut command = link.command();
        command.args(["--left", "stdin", "--right", "stdout"]);
        // The command holds the devices, and is gone when this returns: they end with the emulator.
        command.stdin(left.into_descriptor());
        command.stdout(right.into_descriptor());
        Self::start(link, command, None)
    }

    pub(crate) fn start(
        link: Link<'_>,
        command: Command,
        host: Option<&Namespace>,
    ) -> Result<Self, Failure> {
        let report = link.report();
        let _ = fs::remove_file(&report);
        let process = Process::with_streams(command, "emulator", link.folder, host)?;
        let mut air = Self { process, report };
        air.wait_for_report()?;
        Ok(air)
    }

    fn wait_for_report(&mut self) -> Result<(), Failure> {
        let (process, report) = (&mut self.process, &self.report);
        wait("the emulator reports", PATIENCE, || {
            report.exists() || process.has_ended()
        })?;
        if report.exists() {
            return Ok(());
        }
        process.check()
    }

    /// Returns the last report of the emulator.
    pub fn last_report<R: DeserializeOwned>(&self) -> Result<R, Failure> {
        let text = fs::read_to_string(&self.report);
        let text = text.map_err(Failure::file("read", &self.report))?;
        serde_json::from_str(&text)
            .map_err(|error| Failure::Found(format!("the emulator's report is no report: {error}")))
    }

    /// Requests a report of the link so far, and returns it.
    pub fn report<R: DeserializeOwned>(&mut self) -> Result<R, Failure> {
        let _ = fs::remove_file(&self.report);
        self.process.signal(Signal::USR1);
        self.wait_for_report()?;
        self.last_report()
    }

    /// Returns an error if the emulator has ended.
    pub fn check(&mut self) -> Result<(), Failure> {
        self.process.check()
    }

    /// Returns the resources that the emulator has used so far.
    pub fn usage(&self) -> Usage {
        self.process.usage()
    }

    /// Ends the emulator, and returns its last report.
    pub fn end<R: DeserializeOwned>(mut self) -> Result<R, Failure> {
        let status = self.process.end()?;
        if status.success() {
            return self.last_report();
        }
        Err(self.process.check().err().unwrap_or(Failure::Found(
            "the emulator has left no last report".into(),
        )))
    }
}

impl Link<'_> {
    fn report(&self) -> PathBuf {
        self.folder.join("emulator.json")
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        command.args(["emulate", "--link", self.link]);
        command
            .args(["--seed", &self.seed.to_string()])
            .arg("--json");
        command.arg(self.report());
        command
    }
}
