//! `cargo xtask bench roam`: a mobile host changes its address in mid-download, again and again, between two emulated
//! links of different rates. The download is one connection of the kernel's TCP. Needs root.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use edges::netlink::{Netlink, Route};
use rig::{Air, End, Link, Namespace};
use serde::Serialize;
use units::BitRate;

use super::arrivals::{Arrivals, download};
use super::spread::spread;
use super::{peers, setting};
use crate::failure::Failure;
use crate::hop::{GATEWAY, Hop};
use crate::soak::alone::Alone;
use xtask::shell::Shell;

/// One of the links between gateway and mobile host.
struct Way {
    device: &'static str,
    /// Addresses of the two hosts, with their prefixes.
    gateway: &'static str,
    mobile: &'static str,
    rate: &'static str,
}

const LINKS: [Way; 2] = [
    Way {
        device: "air0",
        gateway: "10.77.0.1/24",
        mobile: "10.77.0.2/24",
        rate: "20 Mbit/s",
    },
    Way {
        device: "air1",
        gateway: "10.78.0.1/24",
        mobile: "10.78.0.2/24",
        rate: "8 Mbit/s",
    },
];
/// One-way delay of each link, and the round trip of both, without queues.
const DELAY: &str = "20 ms";
const ROUND_TRIP: f64 = 0.040;
/// The gateway on the second link, and the fixed host with the gateway as it sees it.
const SECOND: &str = "10.78.0.1";
const FIXED: &str = "198.51.100.2";
const OUTSIDE: &str = "198.51.100.1";
/// The aims: the longest stall beside the round trip, and the share of the new link's rate after this time, in seconds.
const STALL: f64 = 1.0;
const SHARE: f64 = 0.8;
const WITHIN: f64 = 2.0;
/// Span over which the rate is measured, and the step between two looks at it, in seconds.
const WINDOW: f64 = 0.5;
const STEP: f64 = 0.02;
/// Time for TCP to reach the link's rate before the first change.
const BEGINNING: Duration = Duration::from_secs(5);

/// Options of the bench.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Number of changes of the address
    #[arg(long, default_value_t = 100)]
    changes: usize,
    /// Seconds from one change to the next; more than 2
    #[arg(long, default_value_t = 5.0)]
    every: f64,
    /// The sender's congestion control: one of those of the kernel
    #[arg(long, default_value = "cubic")]
    sender: String,
    /// File for the rows, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/bench-roam.json")]
    json: PathBuf,
    #[command(flatten)]
    alone: Alone,
}

/// One change.
#[derive(Debug, Clone, Copy, Serialize)]
struct Row {
    change: usize,
    /// Rate of the new link in bits per second.
    link_bps: u64,
    /// Longest time without a byte at the receiver from the change to the next one.
    stall_s: f64,
    /// Time until the receiver first got 80 % of the link's rate, if it did, over half a second.
    reached_s: Option<f64>,
    /// Share of the link's rate from two seconds after the change to the next one.
    share: f64,
}

/// Returns what a change to a link of this rate at `at` did until `end`.
fn judge(arrivals: &Arrivals, change: usize, link_bps: u64, [at, end]: [f64; 2]) -> Row {
    let steps = ((end - at) / STEP) as u32;
    let mut looks = (0..steps).map(|step| at + f64::from(step) * STEP);
    let full = link_bps as f64;
    let is_full = |time: &f64| arrivals.rate(time - WINDOW, *time) >= SHARE * full;
    // What came before the change belongs to another link.
    let first = looks.find(|time| *time >= at + WINDOW && is_full(time));
    Row {
        change,
        link_bps,
        stall_s: arrivals.longest_gap(at, end),
        reached_s: first.map(|time| time - at),
        share: arrivals.rate(at + WITHIN, end) / full,
    }
}

/// Measures and prints a table.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    if options.every <= WITHIN {
        let what = format!("--every must be more than {WITHIN} s: so long the rate may take");
        return Err(Failure::Found(what));
    }
    let program = options.alone.enter(shell, || Ok(()))?;
    let folder = setting::folder(Some("/mnt"))?;
    let roaming = Roaming::new(folder.path(), program, &options.sender)?;
    let rows = roaming.measure(options)?;
    show(&rows);
    super::keep(shell, &options.json, &rows)
}

/// The hosts, the links between them, the daemons and the download.
struct Roaming {
    hop: Hop,
    arrivals: Arc<Mutex<Arrivals>>,
    begun: Instant,
    _fixed: Namespace,
    _airs: Vec<Air>,
    _daemons: Vec<rig::Process>,
}

impl Roaming {
    fn new(folder: &Path, program: &Path, sender: &str) -> Result<Self, Failure> {
        let hop = Hop::new(folder, program)?;
        let airs = LINKS.iter().map(|link| air(&hop, link));
        let airs = airs.collect::<Result<Vec<_>, Failure>>()?;
        let [fixed] = rig::hosts()?;
        let (near, far) = (format!("{OUTSIDE}/24"), format!("{FIXED}/24"));
        let ends = [
            End::new(&hop.gateway, "wire", &near),
            End::new(&fixed, "wire", &far),
        ];
        rig::join(ends)?;
        rig::route(&fixed, "10.79.0.0/24", OUTSIDE)?;
        let [_, second] = LINKS;
        change(&hop.mobile, |netlink| {
            netlink.remove_address(second.device, address(second.mobile))
        })?;
        let configured = rig::daemons::Daemons {
            route: Some("198.51.100.0/24"),
            ..hop.daemons()
        };
        let daemons = hop.start_daemons(&configured)?;
        configured.wait_until_connected()?;
        let (arrivals, begun) = (Arc::default(), Instant::now());
        download(
            [&fixed, &hop.mobile],
            FIXED,
            sender,
            begun,
            Arc::clone(&arrivals),
        )?;
        Ok(Self {
            hop,
            arrivals,
            begun,
            _fixed: fixed,
            _airs: airs,
            _daemons: daemons,
        })
    }

    fn measure(&self, options: &Options) -> Result<Vec<Row>, Failure> {
        thread::sleep(BEGINNING);
        let mut rows = Vec::new();
        for change in 1..=options.changes {
            let rate = LINKS[change % 2].rate;
            let at = self.begun.elapsed().as_secs_f64();
            self.roam(change % 2)?;
            thread::sleep(Duration::from_secs_f64(options.every));
            let end = self.begun.elapsed().as_secs_f64();
            let arrivals = self.arrivals.lock().expect("no panic");
            if arrivals.is_lost {
                let what = format!("the connection was lost at change {change}");
                return Err(Failure::Found(what));
            }
            let rate: BitRate = rate.parse().expect("a rate");
            let row = judge(&arrivals, change, rate.bits_per_second(), [at, end]);
            println!("{row:?}");
            rows.push(row);
        }
        Ok(rows)
    }

    /// Moves the mobile host to this link: nothing reaches it at its former address any more.
    fn roam(&self, to: usize) -> Result<(), Failure> {
        let (old, new) = (&LINKS[1 - to], &LINKS[to]);
        change(&self.hop.mobile, |netlink| {
            netlink.remove_address(old.device, address(old.mobile))?;
            netlink.add_address(new.device, address(new.mobile))?;
            if to == 0 {
                return Ok(());
            }
            let gateway = format!("{GATEWAY}/32").parse().expect("an address");
            let via = SECOND.parse().expect("an address");
            netlink.add_route(&Route::to(gateway).via(via))
        })
    }
}

fn address(text: &str) -> ipnet::IpNet {
    text.parse().expect("an address")
}

/// Changes the network of a host.
fn change(
    host: &Namespace,
    act: impl FnOnce(&mut Netlink) -> Result<(), edges::netlink::NetlinkError> + Send,
) -> Result<(), Failure> {
    let changed = host.run(|| act(&mut Netlink::open()?));
    changed
        .map_err(rig::Failure::from)?
        .map_err(|error| Failure::Found(format!("the address does not change: {error}")))
}

/// Joins gateway and mobile host by an emulated link.
fn air(hop: &Hop, way: &Way) -> Result<Air, Failure> {
    let (device, rate) = (way.device, way.rate);
    let folder = hop.path(device);
    let path = folder.join("link.toml");
    std::fs::create_dir(&folder)
        .map_err(|error| Failure::Found(format!("cannot create {}: {error}", folder.display())))?;
    let text = format!("[each]\nrate = \"{rate}\"\ndelay = \"{DELAY}\"\nqueue = \"100 packets\"\n");
    peers::write(&path, &text)?;
    let link = Link {
        program: &hop.program,
        folder: &folder,
        link: &path.display().to_string(),
        seed: 1,
    };
    let ends = [
        End::new(&hop.gateway, device, way.gateway),
        End::new(&hop.mobile, device, way.mobile),
    ];
    Ok(Air::between(link, ends)?)
}

/// Prints the spread of the changes to each link, with the aims.
fn show(rows: &[Row]) {
    println!(
        "\n| new link | changes | stall, ms: median | most | longer than {:.0} ms | 80 % of the rate after, ms: median \
         | most | later than {WITHIN} s | share after {WITHIN} s: median | least |",
        (STALL + ROUND_TRIP) * 1e3
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for Way { rate, .. } in LINKS {
        let link: BitRate = rate.parse().expect("a rate");
        let link = link.bits_per_second();
        let of_link: Vec<&Row> = rows.iter().filter(|row| row.link_bps == link).collect();
        let all = |value: fn(&Row) -> f64| of_link.iter().map(|row| value(row)).collect::<Vec<_>>();
        let stalls = all(|row| row.stall_s * 1e3);
        let reached = all(|row| row.reached_s.map_or(f64::INFINITY, |time| time * 1e3));
        let of = |values: &[f64]| spread(values.iter().copied()).unwrap_or([f64::NAN; 3]);
        let ([stall, _, longest], [reach, _, latest]) = (of(&stalls), of(&reached));
        let [share, least, _] = of(&all(|row| row.share));
        let beyond = |all: &[f64], most: f64| all.iter().filter(|value| **value > most).count();
        println!(
            "| {rate} | {} | {:.0} | {:.0} | {} | {:.0} | {:.0} | {} | {:.2} | {:.2} |",
            of_link.len(),
            stall,
            longest,
            beyond(&stalls, (STALL + ROUND_TRIP) * 1e3),
            reach,
            latest,
            beyond(&reached, WITHIN * 1e3),
            share,
            least,
        );
    }
    println!("\nThe connection was never lost.");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_and_the_return_of_the_rate_are_seen() {
        let mut arrivals = Arrivals::default();
        // 1 Mbit/s in steps of 10 ms, without the time from 10.0 to 10.7 s.
        for step in 0..2_000_u64 {
            let time = step as f64 / 100.0;
            if !(10.0..10.7).contains(&time) {
                let total = arrivals.all.last().map_or(0, |(_, total)| *total);
                arrivals.all.push((time, total + 1_250));
            }
        }
        let row = judge(&arrivals, 1, 1_000_000, [10.0, 15.0]);
        assert!((row.stall_s - 0.7).abs() < 0.011, "{row:?}");
        let reached = row.reached_s.expect("it comes back");
        assert!((1.0..1.25).contains(&reached), "{row:?}");
        assert!((row.share - 1.0).abs() < 0.02, "{row:?}");
        let slow = judge(&arrivals, 1, 2_000_000, [10.0, 15.0]);
        assert!(slow.reached_s.is_none() && slow.share < 0.6, "{slow:?}");
    }
}
