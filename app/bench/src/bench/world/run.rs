//! One run: two hosts, the emulated link between them, and the traffic across it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use rig::{Air, Namespace};
use serde_json::Value;

use super::end::{Report, Server, Visit, ask, fetch};
use super::scheme::Scheme;
use super::{Options, Row};
use crate::bench::setting;
use crate::failure::Failure;
use crate::hop::{DEVICE, GATEWAY, Hop, INSIDE, MOBILE};

const PORT: u16 = 5_201;
/// Time from the start of the link to that of the traffic, so that every scheme meets the same changes.
const HEAD_START: Duration = Duration::from_secs(3);

/// One case of the bench.
pub(super) struct Case<'a> {
    pub(super) name: &'a str,
    pub(super) link: &'a str,
    pub(super) scheme: &'a Scheme,
    pub(super) seed: u64,
}

/// The traffic that crosses the link at one time.
struct Visits<'a> {
    hop: &'a Hop,
    options: &'a Options,
}

impl Visits<'_> {
    /// Starts a visitor of the mobile host to the server at `address`, which records its measurements.
    fn go(
        &self,
        address: &str,
        work: impl FnOnce(&Visit) -> io::Result<Report> + Send,
    ) -> Result<Report, Failure> {
        let first = Duration::from_secs(self.options.skip.into());
        let visit = Visit {
            address: SocketAddr::new(address.parse().expect("an address of ours"), PORT),
            first,
            last: first + Duration::from_secs(self.options.time.into()),
        };
        on(&self.hop.mobile, || work(&visit))
    }
}

/// Runs one end of connections on a host.
fn on<T: Send>(
    host: &Namespace,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> Result<T, Failure> {
    let done = host.run(work).map_err(rig::Failure::from)?;
    done.map_err(|error| Failure::Found(format!("an end cannot go on: {error}")))
}

/// Joins the hosts by a link whose interfaces take packets of at most `mtu` bytes.
fn air(hop: &Hop, mtu: u32, link: &str, seed: u64) -> Result<Air, rig::Failure> {
    let device = |host: &Namespace, address: &str| {
        let address = format!("{address}/24").parse().expect("an address of ours");
        rig::on(host, || rig::make_device(DEVICE, &[address], mtu))
    };
    let devices = [device(&hop.gateway, GATEWAY)?, device(&hop.mobile, MOBILE)?];
    Air::through(hop.link(link, seed), devices)
}

/// Lets the emulator check a link, so that errors appear at once.
pub(super) fn check(program: &Path, link: &str) -> Result<(), Failure> {
    let folder = setting::folder(None)?;
    let hop = Hop::new(folder.path(), program)?;
    Ok(air(&hop, 1_500, link, 1).map(drop)?)
}

/// Measures a case.
pub(super) fn measure(program: &Path, options: &Options, case: &Case<'_>) -> Result<Row, Failure> {
    let folder = setting::folder(None)?;
    let hop = Hop::new(folder.path(), program)?;
    let mut air = air(&hop, options.mtu, case.link, case.seed)?;
    let begin = Instant::now() + HEAD_START;
    let daemons = hop.daemons();
    let mut _running = Vec::new();
    if case.scheme.tunnel {
        _running = hop.start_daemons(&daemons)?;
        daemons.wait_until_connected()?;
    }
    let anywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT));
    let _server = on(&hop.gateway, || Server::start(anywhere))?;
    thread::sleep(begin.saturating_duration_since(Instant::now()));
    let visits = Visits { hop: &hop, options };
    let gathered = visits.all(case.scheme)?;
    Ok(row(options, case, &gathered, &air.report()?))
}

/// Measurements of all visitors together.
struct Gathered {
    bulk: Report,
    small: Report,
    others: Vec<(String, Report)>,
}

impl Visits<'_> {
    /// Starts all visitors at once.
    fn all(&self, scheme: &Scheme) -> Result<Gathered, Failure> {
        let inside = if scheme.tunnel { INSIDE } else { GATEWAY };
        let beside = self.options.beside.iter();
        let senders: Vec<&str> = beside
            .flat_map(|beside| (0..beside.count).map(|_| beside.sender.as_str()))
            .collect();
        thread::scope(|scope| {
            let rival =
                |sender| scope.spawn(move || self.go(GATEWAY, |visit| fetch(visit, sender)));
            let rivals: Vec<_> = senders.iter().copied().map(rival).collect();
            let small = scope.spawn(|| self.go(inside, ask));
            let bulk = self.go(inside, |visit| fetch(visit, &scheme.sender));
            let told = |thread: ScopedJoinHandle<'_, Result<Report, Failure>>| {
                thread.join().expect("a visit does not panic")
            };
            let pairs = senders.iter().zip(rivals);
            let other = |(sender, rival): (&&str, _)| Ok(((*sender).into(), told(rival)?));
            Ok(Gathered {
                others: pairs.map(other).collect::<Result<_, Failure>>()?,
                small: told(small)?,
                bulk: bulk?,
            })
        })
    }
}

/// Returns the row of a run; `seen` is the emulator's report.
fn row(options: &Options, case: &Case<'_>, gathered: &Gathered, seen: &Value) -> Row {
    let packets = |key: &str| seen["down"][key]["packets"].as_f64().unwrap_or_default();
    let rate = |told: &Report| told.bytes as f64 * 8.0 / f64::from(options.time);
    let mut delays = gathered.small.delays_us.clone();
    delays.sort_unstable();
    let percentile = |percent: usize| {
        let delay = delays.get(delays.len() * percent / 100);
        delay.map_or(f64::NAN, |delay| *delay as f64 / 1e3)
    };
    let others = &gathered.others;
    Row {
        link: case.name.into(),
        scheme: case.scheme.name(),
        seed: case.seed,
        seconds: options.time,
        goodput_bps: rate(&gathered.bulk),
        request_median_ms: percentile(50),
        request_p95_ms: percentile(95),
        requests: delays.len(),
        offered_packets: packets("offered"),
        dropped_packets: packets("dropped_queue"),
        rivals_bps: others.iter().map(|(_, told)| rate(told)).collect(),
        rivals: others.iter().map(|(sender, _)| sender.clone()).collect(),
        late: seen["lateness"]["over_2_ms"].as_u64().unwrap_or_default(),
    }
}
