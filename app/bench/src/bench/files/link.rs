//! The emulated link between the hosts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::hosts::{Hosts, Running, spawn};
use crate::bench::peers;
use xtask::shell::Failure;

/// The hosts' addresses on the air.
pub(crate) const SERVER: &str = "10.77.0.1";
pub(crate) const CLIENT: &str = "10.77.0.2";

/// A link that fades: its rate is that of the papers' infrared LAN; fades hit both directions together.
fn description(fade_ms: u32) -> String {
    let common = "[each]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"50 packets\"\n";
    if fade_ms == 0 {
        return common.into();
    }
    format!(
        "{common}\n[errors]\nmodel = \"temporal\"\ngood = {{ distribution = \"exponential\", mean = \"1 s\" }}\n\
         bad = {{ distribution = \"exponential\", mean = \"{fade_ms} ms\" }}\n"
    )
}

/// An emulated link between two hosts, until it is dropped.
pub(crate) struct Link {
    running: Running,
    report: PathBuf,
}

/// What the emulator has seen until some moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    elapsed: f64,
    good: f64,
}

impl Moment {
    /// The share of the time from here to `later` that was good.
    pub(crate) fn good_share_until(self, later: Self) -> f64 {
        (later.good - self.good) / (later.elapsed - self.elapsed)
    }
}

impl Link {
    /// Joins the hosts by a link with fades of so many milliseconds in the mean.
    pub(crate) fn start(
        hosts: &Hosts,
        program: &Path,
        fade_ms: u32,
        seed: u64,
    ) -> Result<Self, Failure> {
        let file = hosts.path("link.toml");
        peers::write(&file, &description(fade_ms))?;
        Self::over(hosts, program, (&file.display().to_string(), seed))
    }

    /// Joins the hosts by a link that the emulator knows, or that a file describes.
    pub(crate) fn over(hosts: &Hosts, program: &Path, link: (&str, u64)) -> Result<Self, Failure> {
        Self::between(hosts, program, [&hosts.server, &hosts.client], link)
    }

    /// The same for any two of the hosts, the gateway's side first.
    pub(crate) fn between(
        hosts: &Hosts,
        program: &Path,
        sides: [&str; 2],
        link: (&str, u64),
    ) -> Result<Self, Failure> {
        Self::started(hosts, program, (sides, &[]), link)
    }

    /// The same with more words on the emulator's command line.
    pub(crate) fn started(
        hosts: &Hosts,
        program: &Path,
        ([left, right], more): ([&str; 2], &[String]),
        (link, seed): (&str, u64),
    ) -> Result<Self, Failure> {
        let side = |host, address| format!("netns:{host},air0,{address}/24");
        let report = hosts.path("link.json");
        let mut command = hosts.command(program);
        command.args(["emulate", "--link", link]).args(more);
        command.args(["--left", &side(left, SERVER)]);
        command.args(["--right", &side(right, CLIENT)]);
        command
            .args(["--seed", &seed.to_string(), "--json"])
            .arg(&report);
        let running = spawn(command)?;
        hosts.wait("the link stands", || report.is_file())?;
        Ok(Self { running, report })
    }

    /// What it has seen until now.
    pub(crate) fn now(&self, hosts: &Hosts) -> Result<Moment, Failure> {
        moment(&self.report(hosts)?)
            .ok_or_else(|| Failure::Found("the report of the emulated link is not whole".into()))
    }

    /// All that it tells now.
    pub(crate) fn report(&self, hosts: &Hosts) -> Result<Value, Failure> {
        let elapsed = |report: &Value| report["elapsed_ns"].as_u64();
        let before = read(&self.report).and_then(|report| elapsed(&report));
        let mut command = Command::new("kill");
        command.args(["-USR1", &self.running.id().to_string()]);
        hosts.shell.run(command)?;
        let mut now = None;
        hosts.wait("the link reports", || {
            now = read(&self.report).filter(|report| elapsed(report) > before);
            now.is_some()
        })?;
        now.ok_or_else(|| Failure::Found("the emulated link has not reported".into()))
    }
}

fn read(path: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

fn moment(report: &Value) -> Option<Moment> {
    let elapsed = report["elapsed_ns"].as_f64()?;
    let share = report["down"]["good_share"].as_f64()?;
    Some(Moment {
        elapsed,
        good: elapsed * share,
    })
}
