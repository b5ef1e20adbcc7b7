//! A gateway and its mobile hosts, each a network namespace, and the processes in them.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rig::daemons::Daemons;
use rig::{Link, Process};
use serde_json::Value;
use xtask::shell::Shell;

use super::row::RATE;
use crate::bench::peers;
use crate::failure::Failure;
use crate::hop::{self, ENDPOINT, GATEWAY, INSIDE, NOWHERE};

const FIRST_PORT: usize = 5201;

/// The hosts; host 0 is the gateway. Dropping it ends all of them.
pub(super) struct Cell<'a> {
    rig: rig::Cell,
    /// Its working folder is that of the run.
    shell: Shell,
    daemons: Daemons<'a>,
    running: Vec<Process>,
}

/// Measurements of a run.
pub(super) struct Fetched {
    pub(super) goodput_bps: Vec<f64>,
    pub(super) airtime: Vec<f64>,
    pub(super) good: Vec<f64>,
    pub(super) up: f64,
    pub(super) lost: f64,
    pub(super) rates_bps: Vec<f64>,
    pub(super) late: u64,
}

/// Counters of the emulator at one moment.
struct Moment {
    elapsed: f64,
    /// Airtime of each mobile host, in seconds.
    airtime: Vec<f64>,
    good: Vec<f64>,
    /// Totals: seconds used on the way up, and bytes lost on the air.
    up: f64,
    lost: f64,
    late: u64,
}

impl<'a> Cell<'a> {
    /// Creates the hosts, joined by an air with these errors for each mobile host; `sharing` is a part of the gateway's
    /// configuration.
    pub(super) fn new(
        folder: &'a Path,
        program: &'a Path,
        errors: &[String],
        seed: u64,
        sharing: &'a str,
    ) -> Result<Self, Failure> {
        let medium = format!(
            "medium = \"half-duplex\"\n[each]\nrate = \"{} Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"100 packets\"\n",
            RATE / 1e6
        );
        let write = |host: usize, errors: &str| {
            let path = folder.join(format!("{host}.link.toml"));
            peers::write(&path, &format!("{medium}{errors}"))?;
            Ok::<_, Failure>(path.display().to_string())
        };
        let link = Link {
            program,
            folder,
            link: &write(0, "")?,
            seed,
        };
        let mobiles = errors.len();
        let errors = (1..).zip(errors).map(|(host, errors)| write(host, errors));
        let errors: Vec<_> = errors.collect::<Result<_, _>>()?;
        Ok(Self {
            rig: rig::Cell::new(link, mobiles, "10.77.0", &errors)?,
            shell: Shell::quiet(folder),
            daemons: Daemons {
                mobiles,
                endpoint: Some(ENDPOINT),
                gateway: sharing,
                route: Some(NOWHERE),
                ..Daemons::new(program, folder)
            },
            running: Vec::new(),
        })
    }

    /// Starts a daemon on every host, and waits until all are connected.
    pub(super) fn start_daemons(&mut self) -> Result<(), Failure> {
        self.daemons.configure()?;
        self.running = self.daemons.start_all(&self.rig.hosts)?;
        Ok(self.daemons.wait_until_connected()?)
    }

    /// Lets the first `active` mobile hosts fetch from the gateway for `time` seconds, after `skip` seconds that do not
    /// count.
    pub(super) fn fetch(
        &mut self,
        active: usize,
        through_tunnel: bool,
        skip: u32,
        time: u32,
    ) -> Result<Fetched, Failure> {
        let server = if through_tunnel { INSIDE } else { GATEWAY };
        for mobile in 0..active {
            let port = (FIRST_PORT + mobile).to_string();
            self.start(0, &["-s", "-p", &port])?;
        }
        thread::sleep(Duration::from_millis(500));
        // The fetches are stopped by a kill, so that none has the air for itself after the others end.
        let span = (2 * (skip + time)).to_string();
        for mobile in 0..active {
            let port = (FIRST_PORT + mobile).to_string();
            self.start(1 + mobile, &["-c", server, "-R", "-p", &port, "-t", &span])?;
        }
        thread::sleep(Duration::from_secs(skip.into()));
        let (before, got_before) = (self.moment()?, self.received(active)?);
        thread::sleep(Duration::from_secs(time.into()));
        let (after, got) = (self.moment()?, self.received(active)?);
        let rates_bps = if through_tunnel {
            self.rates()
        } else {
            Vec::new()
        };
        let pairs = got.iter().zip(&got_before);
        let goodput_bps = pairs.map(|((bytes, at), (bytes_before, before))| {
            (bytes - bytes_before) * 8.0 / at.duration_since(*before).as_secs_f64()
        });
        let span = after.elapsed - before.elapsed;
        let part = |after: Vec<f64>, before: Vec<f64>| {
            let pairs = after.into_iter().zip(before);
            pairs
                .map(|(after, before)| (after - before) / span)
                .collect()
        };
        Ok(Fetched {
            goodput_bps: goodput_bps.collect(),
            airtime: part(after.airtime, before.airtime),
            good: part(after.good, before.good),
            up: (after.up - before.up) / span,
            lost: (after.lost - before.lost) * 8.0 / RATE / span,
            rates_bps,
            late: after.late - before.late,
        })
    }

    /// Returns the bytes that each of the first `active` mobile hosts received by TCP so far, and the time of each
    /// count.
    fn received(&self, active: usize) -> Result<Vec<(f64, Instant)>, Failure> {
        let of = |mobile: usize| {
            let mut command = Command::new("ss");
            command.arg("-tinH");
            let text = hop::run(&self.shell, &self.rig.hosts[1 + mobile], command)?;
            let counts = text.split("bytes_received:").skip(1);
            let count = |text: &str| text.split_whitespace().next()?.parse::<f64>().ok();
            // iperf3's own control connection carries next to nothing.
            let most = counts.filter_map(count).fold(0.0, f64::max);
            Ok((most, Instant::now()))
        };
        (0..active).map(of).collect()
    }

    /// Returns the gateway's estimate of the rate to each mobile host.
    fn rates(&self) -> Vec<f64> {
        let rate = |peer: Value| bits_per_second(peer["hop"]["rate"].as_str()?);
        self.peers().into_iter().filter_map(rate).collect()
    }

    fn peers(&self) -> Vec<Value> {
        let status = self.daemons.status(0);
        let peers = status["host"]["peers"].as_array();
        peers.cloned().unwrap_or_default()
    }

    /// Returns the counters of the air so far.
    fn moment(&mut self) -> Result<Moment, Failure> {
        moment(&self.rig.air.report()?)
            .ok_or_else(|| Failure::Found("the report of the air cannot be read".into()))
    }

    /// Starts iperf3 with these arguments on a host.
    fn start(&mut self, host: usize, words: &[&str]) -> Result<(), Failure> {
        let mut command = Command::new("iperf3");
        command.args(words);
        let folder = &self.shell.root;
        let process = Process::start(command, "iperf3", folder, Some(&self.rig.hosts[host]))?;
        self.running.push(process);
        Ok(())
    }
}

fn moment(report: &Value) -> Option<Moment> {
    let elapsed = report["elapsed_ns"].as_f64()? / 1e9;
    let mobiles = report["mobiles"].as_array()?;
    let each =
        |of: &dyn Fn(&Value) -> Option<f64>| mobiles.iter().map(of).collect::<Option<Vec<_>>>();
    let up = |mobile: &Value| Some(mobile["airtime_up_ms"].as_f64()? / 1e3);
    let lost = |way: &Value| way["dropped_air"]["bytes"].as_f64();
    Some(Moment {
        elapsed,
        airtime: each(&|mobile| Some(mobile["airtime_down_ms"].as_f64()? / 1e3 + up(mobile)?))?,
        good: each(&|mobile| Some(mobile["down"]["good_share"].as_f64()? * elapsed))?,
        up: each(&up)?.iter().sum(),
        lost: each(&|mobile| Some(lost(&mobile["down"])? + lost(&mobile["up"])?))?
            .iter()
            .sum(),
        late: report["lateness"]["over_2_ms"].as_u64()?,
    })
}

/// Parses a rate of the status, such as `2 Mbit/s`.
fn bits_per_second(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let scale = match unit {
        "bit/s" => 1.0,
        "kbit/s" => 1e3,
        "Mbit/s" => 1e6,
        "Gbit/s" => 1e9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
}
