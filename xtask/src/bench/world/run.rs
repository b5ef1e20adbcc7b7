//! One run: two hosts, the emulated link between them, and what crosses it.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::end::Told;
use super::scheme::Scheme;
use super::{Options, Row};
use crate::bench::files::daemons::{self, Daemons, Wishes};
use crate::bench::files::hosts::Hosts;
use crate::bench::files::link::{self, Link};
use crate::bench::setting;
use crate::shell::Failure;

const PORT: u16 = 5_201;
/// How long after the link stands all begin, so that every scheme meets the same part of what changes.
const HEAD_START: Duration = Duration::from_secs(3);

/// What is measured.
pub(super) struct Case<'a> {
    pub(super) name: &'a str,
    pub(super) link: &'a str,
    pub(super) scheme: &'a Scheme,
    pub(super) seed: u64,
}

/// Everything that crosses the link at one time.
struct Visits<'a> {
    hosts: &'a Hosts,
    options: &'a Options,
}

impl Visits<'_> {
    /// Lets a visitor of the mobile host go to the server at `address` and tell of it.
    fn go(&self, address: &str, words: &[&str]) -> Result<Told, Failure> {
        let mut command = Command::new(setting::ourselves()?);
        command.args(["bench", "world-end"]).args(words);
        command.args(["--address", &format!("{address}:{PORT}")]);
        command.args(["--skip", &self.options.skip.to_string()]);
        command.args(["--time", &self.options.time.to_string()]);
        let text = self.hosts.run(&self.hosts.client, &command)?;
        crate::bench::understand("what a visitor told", &text)
    }
}

/// Lets the emulator say at once what it does not understand of a link.
pub(super) fn check(program: &Path, link: &str) -> Result<(), Failure> {
    let folder = setting::folder(None)?;
    let hosts = Hosts::new(folder.path(), "world")?;
    let side = |host: &str| format!("netns:{host},air0");
    let mut command = hosts.command(program);
    command.args(["emulate", "--duration", "1 ms", "--link", link]);
    command.args([
        "--left",
        &side(&hosts.server),
        "--right",
        &side(&hosts.client),
    ]);
    match hosts.shell.run(command) {
        // What it says is all that matters here.
        Err(Failure::Exit { output, .. }) => Err(Failure::Found(
            output.trim().trim_start_matches("error: ").into(),
        )),
        other => other.map(drop),
    }
}

/// Runs it.
pub(super) fn measure(program: &Path, options: &Options, case: &Case<'_>) -> Result<Row, Failure> {
    let folder = setting::folder(None)?;
    let mut hosts = Hosts::new(folder.path(), "world")?;
    hosts.end_with_us();
    let mtu = ["--mtu".to_owned(), options.mtu.to_string()];
    let sides = [hosts.server.as_str(), hosts.client.as_str()];
    let air = Link::started(&hosts, program, (sides, &mtu), (case.link, case.seed))?;
    let begin = Instant::now() + HEAD_START;
    let wishes = Wishes {
        gateway: "",
        mobile: "",
        route: "192.0.2.0/24",
    };
    let tunnel = case
        .scheme
        .tunnel
        .then(|| Daemons::start_with(&hosts, program, &wishes))
        .transpose()?;
    if let Some(tunnel) = &tunnel {
        hosts.wait("both ends are connected", || {
            let status = tunnel.status("mobile").unwrap_or_default();
            !status["host"]["peers"][0]["keys_age"].is_null()
        })?;
    }
    let mut serve = Command::new(setting::ourselves()?);
    serve.args(["bench", "world-end", "serve", "--address"]);
    serve.arg(format!("0.0.0.0:{PORT}"));
    let _server = hosts.start(&hosts.server, &serve)?;
    thread::sleep(begin.saturating_duration_since(Instant::now()));
    let inside = if case.scheme.tunnel {
        daemons::SERVER
    } else {
        link::SERVER
    };
    let rivals: Vec<&str> = options
        .beside
        .iter()
        .flat_map(|beside| (0..beside.count).map(|_| beside.sender.as_str()))
        .collect();
    let visits = Visits {
        hosts: &hosts,
        options,
    };
    let (bulk, small, others) = thread::scope(|scope| {
        let visits = &visits;
        let rivals: Vec<_> = rivals
            .iter()
            .map(|sender| {
                scope.spawn(move || visits.go(link::SERVER, &["fetch", "--sender", sender]))
            })
            .collect();
        let small = scope.spawn(|| visits.go(inside, &["ask"]));
        let bulk = visits.go(inside, &["fetch", "--sender", &case.scheme.sender]);
        let wait = |thread: thread::ScopedJoinHandle<'_, Result<Told, Failure>>| {
            thread.join().expect("a visit does not panic")
        };
        let others: Vec<_> = rivals.into_iter().map(wait).collect();
        (bulk, wait(small), others)
    });
    let seen = air.report(&hosts)?;
    let down = &seen["down"];
    let packets = |key: &str| down[key]["packets"].as_f64().unwrap_or_default();
    let rate = |told: &Told| told.bytes as f64 * 8.0 / f64::from(options.time);
    let mut delays = small?.delays_us;
    delays.sort_unstable();
    let percentile = |percent: usize| {
        let delay = delays.get(delays.len() * percent / 100);
        delay.map_or(f64::NAN, |delay| *delay as f64 / 1e3)
    };
    let others = others.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(Row {
        link: case.name.into(),
        scheme: case.scheme.name(),
        seed: case.seed,
        seconds: options.time,
        goodput_bps: rate(&bulk?),
        request_median_ms: percentile(50),
        request_p95_ms: percentile(95),
        requests: delays.len(),
        offered_packets: packets("offered"),
        dropped_packets: packets("dropped_queue"),
        rivals_bps: others.iter().map(rate).collect(),
        rivals: rivals.into_iter().map(Into::into).collect(),
        late: seen["lateness"]["over_2_ms"].as_u64().unwrap_or_default(),
    })
}
