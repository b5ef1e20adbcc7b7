//! `lasthop demo --site`: one download while three gateways hand its mobile host over to each other.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;

use edges::clock;
use edges::signals::{Signal, Signals};
use indicatif::ProgressBar;
use rig::site::{GATEWAYS, Links, MOBILE, Site};
use serde::Serialize;
use units::{Bytes, Duration, Instant};

use super::content::Content;
use super::error::DemoError;
use super::meter::{Meter, Received, Window};
use super::plan::Sample;
use super::report::Report;
use super::{Arguments, gain_privilege, http, plot, socket};
use crate::bar::bar;
use crate::failure::Failure;

/// The link between the mobile host and each gateway, in a file and in words.
const LINK: &str = "[each]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"100 packets\"\n";
pub(super) const WORDS: &str =
    "one download, three gateways, 20 Mbit/s and a round trip of 20 ms to each";
/// The file server, on the fixed host behind the home.
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 2)), 80);
/// Size of the file: what the link carries in 15 s, about.
const SIZE: Bytes = Bytes::mebi(32);
/// Time from the start to the first move, and from one to the next.
const FIRST: Duration = Duration::from_secs(3);
const EVERY: Duration = Duration::from_millis(2_000);
/// Time after a request to move in which a pause counts as its effect.
const EFFECT: Duration = Duration::from_secs(1);
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
const PAUSE: std::time::Duration = std::time::Duration::from_millis(20);

/// A move, as `--json` prints it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Move {
    /// Time of the request from the start of the transfer.
    #[serde(rename = "seconds")]
    pub(super) at: f64,
    /// Name of the gateway that serves from then on.
    pub(super) to: &'static str,
    /// Longest time without a byte in the second after it, in milliseconds.
    stall_ms: f64,
}

/// The figures of the download.
#[derive(Debug, Serialize)]
struct Figures {
    payload_bytes: u64,
    seconds: f64,
    goodput_bps: f64,
    moves: Vec<Move>,
    sha256_ok: bool,
}

/// Plays it; writes the figures and the plot.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let report = Report::in_folder(&arguments.report)?;
    // A user namespace must be entered before there are threads, so this comes first.
    gain_privilege()?;
    let mut signals = Signals::catch().map_err(DemoError::failed("catch signals"))?;
    let folder = tempfile::tempdir().map_err(DemoError::failed("make a temporary folder"))?;
    if !arguments.json {
        println!("{WORDS}");
    }
    let (received, asked) = play(arguments, folder.path(), &mut signals)?;
    let moves: Vec<_> = asked
        .iter()
        .map(|(at, to)| moved(&received.samples, *at, to))
        .collect();
    plot::draw_site(&received.samples, &moves, &report.plot()).map_err(Failure::broken)?;
    let figures = figures(arguments.seed, &received, moves);
    let json = serde_json::to_string_pretty(&figures).expect("figures are numbers and words");
    report.write_figures(&json)?;
    if arguments.json {
        println!("{json}");
    } else {
        println!("\n{}", table(&figures));
        println!("stall: the longest time without a byte in the second after the request to move");
        println!("plot: {}", report.plot().display());
    }
    if figures.sha256_ok {
        return Ok(());
    }
    let why = received.failure.map(|error| error.to_string());
    let why = why.unwrap_or_else(|| "it is not whole in the given time; see --time".into());
    Err(Failure::broken(format!(
        "the file did not arrive intact: {why}"
    )))
}

/// Requests to move, with their times from the start of the transfer.
type Asked = Vec<(Duration, &'static str)>;

fn play(
    arguments: &Arguments,
    folder: &Path,
    signals: &mut Signals,
) -> Result<(Received, Asked), DemoError> {
    let link = folder.join("link.toml");
    std::fs::write(&link, LINK).map_err(DemoError::failed("write the link's file"))?;
    let program = std::env::current_exe().map_err(DemoError::failed("find this program"))?;
    let site = Site::new(&program, folder, Links::alike(&link, None), "")?;
    let _daemons = site.start_all()?;
    let sender = &arguments.senders[0];
    let files = site.fixed.run(|| socket::listen(SERVER, sender))?;
    let files = files.map_err(DemoError::failed("listen on the fixed host"))?;
    let start = clock::monotonic();
    let window = Window {
        start,
        end: start + arguments.time,
    };
    // Nothing is uploaded.
    let (uploads, _none) = mpsc::channel();
    let size = arguments.size.unwrap_or(SIZE).get();
    let (seed, meter) = (arguments.seed, Arc::new(Meter::default()));
    http::serve(
        files,
        http::Site {
            seed,
            size,
            meter: Arc::default(),
            uploads,
            window,
        },
    );
    let client = site
        .mobile
        .run(|| socket::connect(SERVER, sender, PATIENCE))?;
    let client = client.map_err(DemoError::failed("connect across the hop"))?;
    let shown = bar("{bar:36} {bytes:>11} {msg}", !arguments.json);
    shown.set_length(size);
    thread::scope(|scope| {
        let worker = scope.spawn(|| http::get(&client, SERVER, window, &meter));
        let is_over = || worker.is_finished();
        let asked = hand_over(&site, start, &is_over, &mut |serving| {
            show(&shown, &meter, serving);
            !signals.pending().any(Signal::ends)
        });
        if asked.is_err() {
            meter.stop();
        }
        let received = worker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        shown.abandon();
        let received = received.map_err(DemoError::failed("fetch the file"));
        asked.and_then(|asked| Ok((received?, asked)))
    })
}

fn show(bar: &ProgressBar, meter: &Meter, serving: &str) {
    bar.set_position(meter.bytes());
    bar.set_message(format!("served by {serving}"));
}

/// Has one gateway after the other serve the mobile host until the download is over; `goes_on` is told which one does,
/// and returns false if all shall end.
fn hand_over(
    site: &Site,
    start: Instant,
    is_over: &dyn Fn() -> bool,
    goes_on: &mut dyn FnMut(&str) -> bool,
) -> Result<Asked, DemoError> {
    let mut asked = Asked::new();
    let (mut due, mut serving) = (start + FIRST, GATEWAYS[0]);
    while !is_over() {
        if !goes_on(serving) {
            return Err(DemoError::Interrupted);
        }
        if clock::monotonic() >= due {
            due += EVERY;
            serving = GATEWAYS[(asked.len() + 1) % GATEWAYS.len()];
            asked.push((clock::monotonic().since(start), serving));
            let output = site.run(MOBILE, &["move", serving])?;
            if !output.status.success() && !is_over() {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(DemoError::Child(format!("no move to {serving}: {said}")));
            }
        }
        thread::sleep(PAUSE);
    }
    Ok(asked)
}

/// Returns the move at this time, with its effect on the download.
fn moved(samples: &[Sample], at: Duration, to: &'static str) -> Move {
    let until = at + EFFECT;
    let mut last = at;
    let mut stall = Duration::ZERO;
    let times = samples.iter().map(|sample| sample.at);
    for time in times.filter(|time| (at..=until).contains(time)) {
        stall = stall.max(time - last);
        last = time;
    }
    // What ends before is no stall.
    if samples.last().is_some_and(|end| end.at > until) {
        stall = stall.max(until - last);
    }
    Move {
        at: at.as_secs_f64(),
        to,
        stall_ms: stall.as_secs_f64() * 1e3,
    }
}

fn figures(seed: u64, received: &Received, moves: Vec<Move>) -> Figures {
    let (bytes, end) = received
        .samples
        .last()
        .map_or_else(Default::default, |last| (last.bytes, last.at));
    let seconds = end.as_secs_f64();
    let expected = Content::digest(seed, bytes);
    Figures {
        payload_bytes: bytes,
        seconds,
        goodput_bps: bytes as f64 * 8.0 / seconds.max(f64::EPSILON),
        moves,
        sha256_ok: received.whole && expected.as_ref() == received.digest.as_ref(),
    }
}

fn table(figures: &Figures) -> String {
    let mut text = format!("{:>6}  {:<8}{:>9}\n", "time", "move to", "stall");
    for Move { at, to, stall_ms } in &figures.moves {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{at:>4.1} s  {to:<8}{stall_ms:>6.0} ms");
    }
    let sha256 = if figures.sha256_ok { "equal" } else { "WRONG" };
    let rate = figures.goodput_bps / 1e6;
    let _ = write!(
        text,
        "{rate:.2} Mbit/s in {:.1} s, sha256 {sha256}",
        figures.seconds
    );
    text
}
