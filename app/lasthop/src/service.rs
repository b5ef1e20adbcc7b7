//! The daemons of `gateway up` and `join` as services of systemd: where it runs, and their units are installed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::failure::Failure;
use crate::state::STATE;

/// Exists if systemd runs this host (`sd_booted(3)`).
const BOOTED: &str = "/run/systemd/system";
/// Network namespaces of systemd and of this process.
const NETWORKS: [&str; 2] = ["/proc/1/ns/net", "/proc/self/ns/net"];
/// Most lines of a log that are searched for the error of a start.
const LINES: &str = "20";

/// The service of a role.
#[derive(Debug)]
pub(crate) struct Service {
    unit: String,
}

impl Service {
    /// Returns the service of a role, if this host has it for this state folder.
    pub(crate) fn find(role: &str, folder: &Path) -> Option<Self> {
        let service = Self {
            unit: format!("lasthop-{role}.service"),
        };
        let is_usual = folder == Path::new(STATE) && Path::new(BOOTED).is_dir();
        (is_usual && is_here() && service.is_installed()).then_some(service)
    }

    /// Returns the name of its unit.
    pub(crate) fn unit(&self) -> &str {
        &self.unit
    }

    /// Starts it now and at every boot. If it does not become ready, it is as before.
    pub(crate) fn start(&self) -> Result<(), Failure> {
        let unit = &self.unit;
        let started = systemctl(&["enable", "--now", unit])?;
        if started.status.success() {
            return Ok(());
        }
        let said = self.error().unwrap_or_else(|| text(&started.stderr));
        self.stop()?;
        Err(Failure::setting(format!(
            "{unit} does not start: {said}; `journalctl -u {unit}` shows more"
        )))
    }

    /// Starts it anew. It leaves its connections to systemd, which gives them to the next process.
    pub(crate) fn restart(&self) -> Result<(), Failure> {
        let restarted = systemctl(&["restart", &self.unit])?;
        if restarted.status.success() {
            return Ok(());
        }
        Err(Failure::broken(text(&restarted.stderr)))
    }

    /// Ends it now, and starts it at no boot any more.
    pub(crate) fn stop(&self) -> Result<(), Failure> {
        let stopped = systemctl(&["disable", "--now", &self.unit])?;
        if stopped.status.success() {
            return Ok(());
        }
        Err(Failure::broken(text(&stopped.stderr)))
    }

    /// Returns true if it runs, or is to start at the next boot.
    pub(crate) fn is_used(&self) -> bool {
        let is = |question| {
            let answer = systemctl(&[question, "--quiet", &self.unit]);
            answer.is_ok_and(|answer| answer.status.success())
        };
        is("is-enabled") || is("is-active")
    }

    fn is_installed(&self) -> bool {
        let state = systemctl(&["show", "--property=LoadState", "--value", &self.unit]);
        state.is_ok_and(|state| text(&state.stdout) == "loaded")
    }

    /// Returns the last error in its log.
    fn error(&self) -> Option<String> {
        let mut journal = Command::new("journalctl");
        journal.args(["--unit", &self.unit, "--lines", LINES, "--output=cat"]);
        let log = journal.stdin(Stdio::null()).output().ok()?;
        let log = text(&log.stdout);
        let errors = log.rsplit_once("error: ");
        // A message may have several lines, and systemd's own follow.
        let message = errors?.1.split(&self.unit).next()?.trim();
        Some(message.to_owned())
    }
}

/// Returns true if services run in the network of this process.
fn is_here() -> bool {
    let [theirs, own] = NETWORKS.map(|path| fs::metadata(path).ok().map(|file| file.ino()));
    // Where the first process is hidden (`hidepid` of /proc, `ProtectProc=` of a unit), nothing says that they do not.
    theirs.is_none() || theirs == own
}

fn systemctl(arguments: &[&str]) -> Result<Output, Failure> {
    let mut command = Command::new("systemctl");
    command.args(arguments).stdin(Stdio::null());
    let failed = |error| Failure::broken(format!("cannot run systemctl: {error}"));
    command.output().map_err(failed)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}
