//! `cargo xtask soak site`: three gateways hand a mobile host over to each other at random, while daemons, and members
//! of etcd, which has the list of the home, are killed, stopped for seconds, drained and replaced. One connection of
//! TCP goes on all the time, and each of its bytes is checked. Needs root.

mod registry;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use rig::Process;
use rig::site::{GATEWAYS, Links, MOBILE, Site};
use serde::Serialize;

use registry::Registry;

use super::alone::Alone;
use super::random::Random;
use super::watch::{Done, Fault, Last, watch};
use crate::bench::arrivals::{Arrivals, download};
use crate::bench::peers;
use crate::bench::site::Wires;
use crate::bench::spread::spread;
use crate::failure::Failure;
use xtask::shell::Shell;

/// The link of the mobile host to each gateway.
const LINK: &str = "[each]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"100 packets\"\n\
                    [errors]\nmodel = \"independent\"\np = \"1 %\"\n";
/// The line of the mobile host at its home if TCP is split.
const SPLIT: &str = "tcp = \"split\"";
/// The fixed host.
const FIXED: &str = "198.51.100.2";
/// Longest time that a daemon is dead or stopped, and that the site has for itself between two events.
const AWAY_MS: u64 = 8_000;
const QUIET_MS: u64 = 3_000;
/// Bytes that have to come after each event, and the longest time for that: TCP doubles its timeout meanwhile.
const ENOUGH: u64 = 100_000;
const PATIENCE: Duration = Duration::from_mins(2);
/// Seconds without these from which an event is worth a look: TCP repeats at least once in as many again.
const LONG_S: f64 = 10.0;

/// Options of the soak.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Time to run, in hours
    #[arg(long, default_value_t = 1.0)]
    hours: f64,
    /// Seed of all random decisions
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File for the rows, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/soak-site.json")]
    json: PathBuf,
    /// Split TCP; then no daemon is killed, as that ends split connections
    #[arg(long)]
    split: bool,
    #[command(flatten)]
    wires: Wires,
    #[command(flatten)]
    alone: Alone,
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// The mobile host moves to another gateway
    Move,
    /// A gateway is drained for a while
    Drain,
    /// A gateway is stopped for a while (SIGSTOP)
    Stop,
    /// Another process takes the place of a gateway's, as in an upgrade
    Restart,
    /// A gateway is killed, and started after a while
    KillGateway,
    /// The mobile host's daemon is killed, and started after a while
    KillMobile,
    /// One or two of three members of etcd are killed, or started if they are dead
    Members,
}

/// Returns the kinds of events, as often as they are to come.
fn kinds(is_split: bool) -> Vec<Kind> {
    let mut kinds = vec![
        Kind::Move,
        Kind::Move,
        Kind::Drain,
        Kind::Stop,
        Kind::Restart,
        Kind::Members,
    ];
    if !is_split {
        kinds.extend([Kind::KillGateway, Kind::KillMobile]);
    }
    kinds
}

/// All kinds of events that happen to one site.
#[derive(Debug, Serialize)]
struct Row {
    kind: Kind,
    count: usize,
    /// Seconds from the end of the event until enough bytes have come.
    median_s: f64,
    most_s: f64,
}

/// Runs the soak, prints a table, and fails if anything was wrong.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let program = options.alone.enter(shell, || Ok(()))?;
    let folder = super::folder()?;
    let link = folder.join("link.toml");
    peers::write(&link, LINK)?;
    let wires = options.wires.write(folder)?;
    let links = Links::alike(&link, wires.as_deref());
    let lines = if options.split { SPLIT } else { "" };
    let site = Site::new(program, folder, links, lines)?;
    let registry = Registry::start(&site, folder)?;
    let mut soak = Soak {
        registry,
        daemons: site.start_all()?,
        site: &site,
        kinds: kinds(options.split),
        random: Random::new(options.seed, 0),
        arrivals: Arc::default(),
        begun: Instant::now(),
        stalls: BTreeMap::new(),
        last: Last::default(),
    };
    let hosts = [&site.fixed, &site.mobile];
    download(
        hosts,
        FIXED,
        "cubic",
        soak.begun,
        Arc::clone(&soak.arrivals),
    )?;
    let limit = Duration::from_secs_f64(options.hours * 3_600.0);
    let outcome = watch("site", || site.logs(), |done| soak.run(limit, done));
    let rows = soak.rows();
    print(&rows);
    crate::bench::keep(shell, &options.json, &rows)?;
    let fault = outcome.err().map(|fault| {
        let explained = soak.last.explain(&fault);
        format!("seed {}: {explained}\n{}", options.seed, site.logs())
    });
    Failure::unless_empty(&fault.into_iter().collect::<Vec<_>>())
}

/// A site in which a download is on.
struct Soak<'a> {
    site: &'a Site,
    /// The kinds of events, as often as they are to come.
    kinds: Vec<Kind>,
    registry: Registry,
    /// In the order of the gateways, with the mobile host's at the end.
    daemons: Vec<Process>,
    random: Random,
    arrivals: Arc<Mutex<Arrivals>>,
    begun: Instant,
    /// Seconds without enough bytes after each event.
    stalls: BTreeMap<Kind, Vec<f64>>,
    last: Last,
}

impl Soak<'_> {
    fn run(&mut self, limit: Duration, done: &Done) -> Result<(), Fault> {
        while self.begun.elapsed() < limit {
            let kind = self.random.one_of(&self.kinds);
            self.have(kind)?;
            let stall = self.goes_on()?;
            if stall > LONG_S {
                self.show(stall);
            }
            self.stalls.entry(kind).or_default().push(stall);
            let quiet = self.random.below(QUIET_MS);
            thread::sleep(Duration::from_millis(quiet));
            done.count();
        }
        Ok(())
    }

    /// Prints what has led to a long stall.
    fn show(&self, stall: f64) {
        let said = format!("it took {stall:.1} s until the download went on");
        println!("{}", self.last.explain(&said));
        for log in self.site.log_files() {
            println!("{}", super::tail(&log));
        }
    }

    /// Has an event happen, from its beginning to its end.
    fn have(&mut self, kind: Kind) -> Result<(), Fault> {
        let gateway = self.random.below(GATEWAYS.len() as u64) as usize;
        let name = GATEWAYS[gateway];
        let away = Duration::from_millis(self.random.below(AWAY_MS));
        let at = self.begun.elapsed().as_secs_f64();
        let serving = self.site.serving();
        self.last.push(format!(
            "{at:.1} s: {kind:?} {name}, for {away:?}; served by {serving}"
        ));
        let run = |host, arguments: &[&str]| {
            let output = self.site.run(host, arguments);
            output.map_err(|failure| failure.to_string())
        };
        match kind {
            Kind::Move => {
                // It fails if the gateway has just been started, and the former one goes on.
                run(MOBILE, &["move", name])?;
            }
            Kind::Drain => {
                // It fails if a mobile host has not left in time.
                run(name, &["drain"])?;
                run(name, &["drain", "--end"])?;
            }
            Kind::Stop => {
                self.daemons[gateway].signal(rig::Signal::STOP);
                thread::sleep(away);
                self.daemons[gateway].signal(rig::Signal::CONT);
            }
            Kind::Restart => {
                let restarted = self.site.succeed(name, &mut self.daemons[gateway]);
                restarted.map_err(|failure| failure.to_string())?;
            }
            Kind::KillGateway => self.kill(gateway, name, away)?,
            Kind::KillMobile => self.kill(GATEWAYS.len(), MOBILE, away)?,
            Kind::Members => self.registry.change(self.site, &mut self.random)?,
        }
        Ok(())
    }

    fn kill(&mut self, index: usize, name: &str, away: Duration) -> Result<(), Fault> {
        self.daemons[index].kill();
        thread::sleep(away);
        let started = self.site.start(name);
        self.daemons[index] = started.map_err(|failure| failure.to_string())?;
        Ok(())
    }

    /// Waits until the download goes on; returns the seconds.
    fn goes_on(&mut self) -> Result<f64, Fault> {
        let (before, since) = (self.received()?, Instant::now());
        while self.received()? < before + ENOUGH {
            for daemon in &mut self.daemons {
                daemon.check().map_err(|failure| failure.to_string())?;
            }
            if since.elapsed() > PATIENCE {
                return Err(format!("nothing has come for {PATIENCE:?}"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(since.elapsed().as_secs_f64())
    }

    /// Returns the number of bytes that have come.
    fn received(&self) -> Result<u64, Fault> {
        let mut arrivals = self.arrivals.lock().expect("no panic");
        if arrivals.is_lost {
            return Err("the connection has ended, or its bytes are wrong".into());
        }
        // An hour's arrivals take no memory that way.
        let last = arrivals.all.pop();
        arrivals.all.clear();
        arrivals.all.extend(last);
        Ok(last.map_or(0, |(_, bytes)| bytes))
    }

    fn rows(&self) -> Vec<Row> {
        let row = |(kind, stalls): (&Kind, &Vec<f64>)| {
            let [median, _, most] = spread(stalls.iter().copied()).unwrap_or_default();
            Row {
                kind: *kind,
                count: stalls.len(),
                median_s: median,
                most_s: most,
            }
        };
        self.stalls.iter().map(row).collect()
    }
}

fn print(rows: &[Row]) {
    println!(
        "\n| event | count | median s until the download goes on | longest |\n|---|---|---|---|"
    );
    for row in rows {
        let Row {
            kind,
            count,
            median_s,
            most_s,
        } = row;
        println!("| {kind:?} | {count} | {median_s:.2} | {most_s:.2} |");
    }
}
