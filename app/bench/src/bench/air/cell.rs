//! A gateway and its mobile hosts, each a network namespace, and what runs in them.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::row::RATE;
use crate::bench::files::daemons;
use crate::bench::files::hosts::{Running, spawn};
use crate::bench::peers;
use xtask::shell::{Failure, Shell};

/// How long anything may take to be there.
const PATIENCE: Duration = Duration::from_mins(1);
const FIRST_PORT: usize = 5201;

/// Host 0 is the gateway. All are gone with this.
pub(super) struct Cell {
    /// In the folder of the run.
    shell: Shell,
    program: PathBuf,
    mobiles: usize,
    air: Option<Running>,
    others: Vec<Running>,
}

/// What a run has shown.
pub(super) struct Fetched {
    pub(super) goodput_bps: Vec<f64>,
    pub(super) airtime: Vec<f64>,
    pub(super) good: Vec<f64>,
    pub(super) up: f64,
    pub(super) lost: f64,
    pub(super) rates_bps: Vec<f64>,
    pub(super) late: u64,
}

/// What the emulator has seen until some moment.
struct Moment {
    elapsed: f64,
    /// Of each mobile host, in seconds.
    airtime: Vec<f64>,
    good: Vec<f64>,
    /// Of all together: seconds on the way up, and bytes that the air has lost.
    up: f64,
    lost: f64,
    late: u64,
}

fn name(host: usize) -> String {
    format!("lasthop-air-{host}")
}

fn outer(host: usize) -> String {
    format!("10.77.0.{}", host + 1)
}

fn inner(host: usize) -> String {
    format!("10.79.0.{}", host + 1)
}

impl Cell {
    /// Hosts that nothing joins yet.
    pub(super) fn new(folder: &Path, program: &Path, mobiles: usize) -> Result<Self, Failure> {
        let cell = Self {
            shell: Shell::quiet(folder),
            program: program.into(),
            mobiles,
            air: None,
            others: Vec::new(),
        };
        for host in 0..=mobiles {
            let name = name(host);
            // There is one only after a run that was killed.
            let _ = cell.ip(&format!("netns del {name}"));
            cell.ip(&format!("netns add {name}"))?;
            cell.ip(&format!("-n {name} link set lo up"))?;
        }
        Ok(cell)
    }

    /// Joins them by an air with these errors for each mobile host.
    pub(super) fn start_air(&mut self, errors: &[String], seed: u64) -> Result<(), Failure> {
        let medium = format!(
            "medium = \"half-duplex\"\n[each]\nrate = \"{} Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"100 packets\"\n",
            RATE / 1e6
        );
        let mut command = Command::new(&self.program);
        command.args(["emulate", "--link", "./0.link.toml", "--json", "air.json"]);
        command.args(["--seed", &seed.to_string()]);
        self.write("0.link.toml", &medium)?;
        for host in 0..=self.mobiles {
            let side = if host == 0 { "--left" } else { "--right" };
            command.args([
                side,
                &format!("netns:{},air0,{}/24", name(host), outer(host)),
            ]);
            if host > 0 {
                self.write(
                    &format!("{host}.link.toml"),
                    &format!("{medium}{}", errors[host - 1]),
                )?;
                command.args(["--errors", &format!("{host}=./{host}.link.toml")]);
            }
        }
        self.air = Some(self.spawn(command)?);
        self.wait("the air stands", || self.path("air.json").is_file())
    }

    /// Starts a daemon on every host, told nothing of the air but what `air` says to the gateway.
    pub(super) fn start_daemons(&mut self, air: &str) -> Result<(), Failure> {
        let key = |host| daemons::new_key(&self.shell, &self.program, &format!("{host}.key"));
        let keys: Vec<_> = (0..=self.mobiles).map(key).collect::<Result<_, _>>()?;
        let common = |host: usize| {
            format!(
                "private_key_file = \"{host}.key\"\nstate_dir = \"state{host}\"\n[tun]\naddresses = [\"{}/24\"]\n",
                inner(host)
            )
        };
        let mut gateway = format!("nat = false\n{}{air}", common(0));
        for host in 1..=self.mobiles {
            let _ = write!(
                gateway,
                "[[peers]]\nname = \"mobile{host}\"\npublic_key = \"{}\"\naddresses = [\"{}\"]\n",
                keys[host],
                inner(host)
            );
            let mobile = format!(
                "routes = [\"192.0.2.0/24\"]\n{}[gateway]\nendpoint = \"{}:51830\"\npublic_key = \"{}\"\n",
                common(host),
                outer(0),
                keys[0]
            );
            self.write(&format!("{host}.toml"), &mobile)?;
        }
        self.write("0.toml", &gateway)?;
        for host in 0..=self.mobiles {
            let role = if host == 0 { "gateway" } else { "mobile" };
            let mut command = Command::new(&self.program);
            command.args([role, "--config", &format!("{host}.toml")]);
            let running = self.spawn(inside(host, &command))?;
            self.others.push(running);
        }
        self.wait("all are connected", || {
            let peers = self.peers();
            peers.len() == self.mobiles && peers.iter().all(|peer| !peer["keys_age"].is_null())
        })
    }

    /// Lets the first `active` mobile hosts fetch from the gateway for so many seconds, after others that do not count.
    pub(super) fn fetch(
        &mut self,
        active: usize,
        through_tunnel: bool,
        (skip, time): (u32, u32),
    ) -> Result<Fetched, Failure> {
        let server = if through_tunnel { inner(0) } else { outer(0) };
        for mobile in 0..active {
            let mut command = Command::new("iperf3");
            command.args(["-s", "-p", &(FIRST_PORT + mobile).to_string()]);
            let running = self.spawn(inside(0, &command))?;
            self.others.push(running);
        }
        thread::sleep(Duration::from_millis(500));
        for mobile in 0..active {
            let mut command = Command::new("iperf3");
            command.args([
                "-c",
                &server,
                "-R",
                "-p",
                &(FIRST_PORT + mobile).to_string(),
            ]);
            // It is ended, so that none has the air for itself when others are done.
            command.args(["-t", &(2 * (skip + time)).to_string()]);
            let running = self.spawn(inside(1 + mobile, &command))?;
            self.others.push(running);
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

    /// What each of the first `active` mobile hosts got so far by TCP, in bytes, and when that was.
    fn received(&self, active: usize) -> Result<Vec<(f64, Instant)>, Failure> {
        let of = |mobile: usize| {
            let mut command = Command::new("ss");
            command.arg("-tinH");
            let text = self.shell.run(inside(1 + mobile, &command))?;
            let counts = text.split("bytes_received:").skip(1);
            let count = |text: &str| text.split_whitespace().next()?.parse::<f64>().ok();
            // The connection for iperf3's own use carries next to nothing.
            let most = counts.filter_map(count).fold(0.0, f64::max);
            Ok((most, Instant::now()))
        };
        (0..active).map(of).collect()
    }

    /// The rate of the hop to each mobile host, as the gateway has it.
    fn rates(&self) -> Vec<f64> {
        let rate = |peer: Value| bits_per_second(peer["hop"]["rate"].as_str()?);
        self.peers().into_iter().filter_map(rate).collect()
    }

    fn peers(&self) -> Vec<Value> {
        let status = daemons::status(&self.shell, &self.program, ("gateway", "state0"));
        status.unwrap_or_default()["host"]["peers"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    }

    /// What the air has seen until now.
    fn moment(&self) -> Result<Moment, Failure> {
        let path = self.path("air.json");
        let _ = fs::remove_file(&path);
        let id = self.air.as_ref().map_or(0, Running::id);
        let mut command = Command::new("kill");
        command.args(["-USR1", &id.to_string()]);
        self.shell.run(command)?;
        self.wait("the air reports", || path.is_file())?;
        moment(&read(&path).unwrap_or_default())
            .ok_or_else(|| Failure::Found("the report of the air cannot be read".into()))
    }

    fn ip(&self, line: &str) -> Result<String, Failure> {
        let mut command = Command::new("ip");
        command.args(line.split(' '));
        self.shell.run(command)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.shell.root.join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        peers::write(&self.path(name), text)
    }

    fn spawn(&self, mut command: Command) -> Result<Running, Failure> {
        command.current_dir(&self.shell.root);
        spawn(command)
    }

    fn wait(&self, what: &str, mut done: impl FnMut() -> bool) -> Result<(), Failure> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if done() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(50));
        }
        let (seconds, folder) = (PATIENCE.as_secs(), self.shell.root.display());
        Err(Failure::Found(format!(
            "{what}: not so after {seconds} s ({folder})"
        )))
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        self.others.clear();
        self.air = None;
        for host in 0..=self.mobiles {
            // What stays is removed before the next run.
            let _ = self.ip(&format!("netns del {}", name(host)));
        }
    }
}

/// The command, in a host.
fn inside(host: usize, inner: &Command) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &name(host)]);
    command.arg(inner.get_program()).args(inner.get_args());
    command
}

fn read(path: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
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

/// A rate as the status writes it, such as `2 Mbit/s`.
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
