//! `cargo xtask bench site`: three gateways hand a mobile host over to each other, again and again, in mid-download and
//! in mid-call. The download is one connection of the kernel's TCP, the call 50 datagrams a second. Needs root.

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rig::site::{GATEWAYS, Links, MOBILE, Site};
use serde::Serialize;

use super::arrivals::{Arrivals, download};
use super::beside::there;
use super::spread::spread;
use super::{peers, setting};
use crate::failure::Failure;
use crate::soak::alone::Alone;
use xtask::shell::Shell;

/// The link of the mobile host to each gateway.
const LINK: &str = "[each]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"100 packets\"\n";
/// The fixed host, and the mobile host inside.
const FIXED: &str = "198.51.100.2";
const INSIDE: &str = "10.73.0.2";
/// Time for TCP to reach the link's rate, and time without moves whose goodput is the reference.
const BEGINNING: Duration = Duration::from_secs(5);
const REFERENCE: Duration = Duration::from_secs(20);
/// Time between two datagrams of the call, and their length in bytes.
const CALL: Duration = Duration::from_millis(20);
const CALL_BYTES: usize = 160;
/// Delay beyond the least one from which a datagram of the call is late, in seconds.
const LATE: f64 = 0.060;
/// Time after a request to move in which a stall counts as its effect, in seconds.
const SPAN: f64 = 1.0;
/// Aims: stall in seconds without the round trips, and the share of the goodput without moves.
const STALL: f64 = 0.010;
const ROUND_TRIP: f64 = 0.020;
const SHARE: f64 = 0.95;

/// Options of the bench.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Number of moves
    #[arg(long, default_value_t = 100)]
    moves: usize,
    /// Seconds from one move to the next
    #[arg(long, default_value_t = 5.0)]
    every: f64,
    /// The sender's congestion control: one of those of the kernel
    #[arg(long, default_value = "cubic")]
    sender: String,
    /// Lines of the mobile host's section at its home, such as `tcp = "snoop"`
    #[arg(long, default_value = "")]
    terms: String,
    /// File for the rows, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/bench-site.json")]
    json: PathBuf,
    #[command(flatten)]
    wires: Wires,
    #[command(flatten)]
    alone: Alone,
}

/// The wires between gateways.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Wires {
    /// One-way delay between two gateways, in ms; without it they are on cables, and relay
    #[arg(long, value_name = "MS")]
    wire_delay: Option<f64>,
}

impl Wires {
    /// Writes the file of such a link, if it is no cable.
    pub(crate) fn write(self, folder: &Path) -> Result<Option<PathBuf>, Failure> {
        let Some(delay) = self.wire_delay else {
            return Ok(None);
        };
        let file = folder.join("wire.toml");
        let link = format!(
            "[each]\nrate = \"200 Mbit/s\"\ndelay = \"{delay} ms\"\nqueue = \"1000 packets\"\n"
        );
        peers::write(&file, &link)?;
        Ok(Some(file))
    }

    /// Returns the stall in seconds from which a move is too long.
    fn long(self) -> f64 {
        STALL + ROUND_TRIP + self.wire_delay.unwrap_or_default() * 2e-3
    }
}

/// One move.
#[derive(Debug, Clone, Copy, Serialize)]
struct Row {
    number: usize,
    /// True if neither of the two gateways is the home.
    is_beside_home: bool,
    /// Longest time without a byte of the download in the first second after the request to move.
    stall_s: f64,
    /// Datagrams of the call until the next move that were late or lost.
    late: usize,
    lost: usize,
}

/// The datagrams of the call that came: number, time of sending and of arrival in seconds.
type Call = Arc<Mutex<Vec<(u64, f64, f64)>>>;

/// Measures and prints a table.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let program = options.alone.enter(shell, || Ok(()))?;
    let folder = setting::folder(Some("/mnt"))?;
    let mut roaming = Roaming::begin(folder.path(), program, options)?;
    let rows = roaming.measure(options)?;
    show(&rows, options.wires.long());
    super::keep(shell, &options.json, &rows)
}

/// A site in which both flows are on.
struct Roaming {
    site: Site,
    arrivals: Arc<Mutex<Arrivals>>,
    call: Call,
    begun: Instant,
    at: usize,
    _daemons: Vec<rig::Process>,
}

impl Roaming {
    fn begin(folder: &Path, program: &Path, options: &Options) -> Result<Self, Failure> {
        let link = folder.join("link.toml");
        peers::write(&link, LINK)?;
        let wires = options.wires.write(folder)?;
        let links = Links::alike(&link, wires.as_deref());
        let site = Site::new(program, folder, links, &options.terms)?;
        let daemons = site.start_all()?;
        let (arrivals, call, begun) = (Arc::default(), Call::default(), Instant::now());
        let hosts = [&site.fixed, &site.mobile];
        download(hosts, FIXED, &options.sender, begun, Arc::clone(&arrivals))?;
        begin_call(&site, begun, &call)?;
        Ok(Self {
            site,
            arrivals,
            call,
            begun,
            at: 0,
            _daemons: daemons,
        })
    }

    fn now(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    fn measure(&mut self, options: &Options) -> Result<Vec<Row>, Failure> {
        thread::sleep(BEGINNING);
        let reference = self.now();
        thread::sleep(REFERENCE);
        let first = self.now();
        let mut moves = Vec::new();
        for number in 1..=options.moves {
            let (at, from) = (self.now(), self.at);
            self.at = (from + 1) % GATEWAYS.len();
            self.hand_over()?;
            thread::sleep(Duration::from_secs_f64(
                (options.every - (self.now() - at)).max(0.0),
            ));
            if self.arrivals.lock().expect("no panic").is_lost {
                let what = format!("the connection was lost at move {number}");
                return Err(Failure::Found(what));
            }
            moves.push((at, self.now(), from != 0 && self.at != 0));
        }
        let last = self.now();
        // Datagrams sent last may still come.
        thread::sleep(Duration::from_millis(300));
        let arrivals = self.arrivals.lock().expect("no panic");
        let row = |(number, (at, end, is_beside_home))| {
            let (late, lost) = self.called(at, end);
            Row {
                number,
                is_beside_home,
                stall_s: arrivals.longest_gap(at, at + SPAN),
                late,
                lost,
            }
        };
        let rows = (1..).zip(moves).map(row).collect();
        let without = arrivals.rate(reference, first);
        let with = arrivals.rate(first, last);
        let spans = (0..REFERENCE.as_secs()).map(|span| reference + span as f64 * SPAN);
        let gaps = spans.map(|from| arrivals.longest_gap(from, from + SPAN) * 1e3);
        let gaps: Vec<_> = gaps.collect();
        let long = options.wires.long();
        let longer = gaps.iter().filter(|gap| **gap > long * 1e3).count();
        let [median, _, most] = spread(gaps.iter().copied()).unwrap_or([f64::NAN; 3]);
        println!(
            "Longest time without a byte in each second without moves: median {median:.0} ms, most {most:.0} ms; \
             longer than {:.0} ms in {longer} of {} s.",
            long * 1e3,
            gaps.len()
        );
        println!(
            "Goodput: {:.2} Mbit/s without moves, {:.2} with one every {} s: {:.3} of it (aim {SHARE}).",
            without * 1e-6,
            with * 1e-6,
            options.every,
            with / without
        );
        Ok(rows)
    }

    /// Has the next gateway serve the mobile host.
    fn hand_over(&self) -> Result<(), Failure> {
        let to = GATEWAYS[self.at];
        let output = self.site.run(MOBILE, &["move", to])?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Failure::Found(format!(
            "no move to {to}: {said}\n{}",
            self.site.logs()
        )))
    }

    /// Returns the numbers of datagrams sent between two times that were late and lost.
    fn called(&self, from: f64, to: f64) -> (usize, usize) {
        let call = self.call.lock().expect("no panic");
        let least = call.iter().map(|(_, sent, came)| came - sent);
        let least = least.fold(f64::INFINITY, f64::min);
        let within = call.iter().filter(|(_, sent, _)| (from..to).contains(sent));
        let late = within
            .clone()
            .filter(|(_, sent, came)| came - sent > least + LATE);
        let numbers: Vec<_> = within.clone().map(|(number, _, _)| *number).collect();
        let span = numbers.iter().max().zip(numbers.iter().min());
        let sent = span.map_or(0, |(last, first)| (last - first + 1) as usize);
        (late.count(), sent.saturating_sub(numbers.len()))
    }
}

/// Begins a call from the fixed host to the mobile host, without end.
fn begin_call(site: &Site, begun: Instant, call: &Call) -> Result<(), Failure> {
    let receiver = there(&site.mobile, || UdpSocket::bind((INSIDE, 5_004)))?;
    let sender = there(&site.fixed, || UdpSocket::bind((FIXED, 5_004)))?;
    let now = move || begun.elapsed().as_secs_f64();
    thread::spawn(move || {
        let mut datagram = [0; CALL_BYTES];
        for number in 0_u64.. {
            let due = begun + CALL * u32::try_from(number).unwrap_or(u32::MAX);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            datagram[..8].copy_from_slice(&number.to_be_bytes());
            datagram[8..16].copy_from_slice(&now().to_be_bytes());
            // While there is no way, the call goes on.
            let _ = sender.send_to(&datagram, (INSIDE, 5_004));
        }
    });
    let call = Arc::clone(call);
    thread::spawn(move || {
        let mut datagram = [0; CALL_BYTES];
        while let Ok(CALL_BYTES) = receiver.recv(&mut datagram) {
            let field = |from: usize| datagram[from..from + 8].try_into().expect("eight bytes");
            let (number, sent) = (u64::from_be_bytes(field(0)), f64::from_be_bytes(field(8)));
            call.lock().expect("no panic").push((number, sent, now()));
        }
    });
    Ok(())
}

/// Returns the value below which this share of some values lies.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    let place = (last as f64 * share).ceil() as usize;
    values.get(place).copied().unwrap_or(f64::NAN)
}

/// Prints the spread of the moves, with the aims; a stall of more than `long` seconds is too long.
fn show(rows: &[Row], long: f64) {
    println!(
        "\n| moves | number | stall, ms: median | 99 % below | most | longer than {:.0} ms \
         | datagrams late by more than {:.0} ms, a move: most | in all | lost |\n|---|---|---|---|---|---|---|---|---|",
        long * 1e3,
        LATE * 1e3
    );
    for (name, beside) in [("from or to the home", false), ("between two others", true)] {
        let these: Vec<_> = rows
            .iter()
            .filter(|row| row.is_beside_home == beside)
            .collect();
        let stalls: Vec<_> = these.iter().map(|row| row.stall_s * 1e3).collect();
        let [median, _, most] = spread(stalls.iter().copied()).unwrap_or([f64::NAN; 3]);
        let longer = stalls.iter().filter(|stall| **stall > long * 1e3);
        println!(
            "| {name} | {} | {median:.0} | {:.0} | {most:.0} | {} | {} | {} | {} |",
            these.len(),
            quantile(&stalls, 0.99),
            longer.count(),
            these.iter().map(|row| row.late).max().unwrap_or_default(),
            these.iter().map(|row| row.late).sum::<usize>(),
            these.iter().map(|row| row.lost).sum::<usize>(),
        );
    }
    println!("\nThe connection was never lost.");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert!((quantile(&values, 0.99) - 100.0).abs() < 1e-9);
        assert!((quantile(&values, 0.5) - 51.0).abs() < 1e-9);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
