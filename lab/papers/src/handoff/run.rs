//! One download with hand-offs, and its metrics.

use experiment::{Case, Measurements, Metric, PlanError, RunError};
use hosts::{MobileTerms, TcpMethod};
use machine::RandomStream;
use serde::Deserialize;
use sites::ends::Ends;
use sites::roaming::{HOME, NAMES, Roaming, Setting, Tcp};
use sites::{GATEWAY, MOBILE};
use tcp::{Config, Control};
use units::{BitRate, Bytes, Duration, Probability};

use crate::metric;

pub(super) const STALL: Metric = metric(
    "stall",
    "ms",
    "longest time without a byte for the application, from a hand-off to the next one, in the mean of all hand-offs",
);
pub(super) const WORST: Metric = metric("worst", "ms", "the longest of these times");
pub(super) const GOODPUT: Metric = metric("goodput", "Mbit/s", "data that the application reads");
pub(super) const SHARE: Metric = metric(
    "share",
    "%",
    "goodput, of what the same scheme has without hand-offs at the home",
);
pub(super) const REPEATS: Metric = metric(
    "repeats",
    "",
    "segments that the fixed host sends again for each hand-off; nothing if TCP is split",
);
pub(super) const TIMEOUTS: Metric = metric(
    "timeouts",
    "",
    "retransmission timeouts of the fixed host for each hand-off; nothing if TCP is split",
);

/// Time in which the download reaches its rate.
const BEGINNING: Duration = Duration::from_secs(4);
/// Largest number of hand-offs of a run.
const MOST: u64 = 10_000;

/// How a mobile host leaves the gateway where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Departure {
    /// Both hops work, and the next gateway has copies of what is on its way before the former one is left.
    Bicast,
    /// Both hops work: the next one is there before the former one is left.
    Overlap,
    /// The former hop ends at once, and what is queued there goes on by the wire: a buffered hand-off.
    Buffered,
    /// The former gateway ends at once with all that it has, and the mobile host is told: a hard hand-off.
    Hard,
    /// The same, and nobody tells the mobile host.
    Unnoticed,
}

impl Departure {
    /// Returns true if nothing comes from the former gateway any more, which then must not be the home.
    fn cuts(self) -> bool {
        !matches!(self, Self::Bicast | Self::Overlap)
    }
}

/// The `[parameters]` of a plan.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Rate, one-way delay and probability of a loss on each hop.
    rate: BitRate,
    delay: Duration,
    loss: Probability,
    /// Round trip between two gateways.
    wire: Duration,
    departure: Departure,
    /// Time between two hand-offs; each comes later by up to `jitter`.
    interval: Duration,
    jitter: Duration,
    /// Number of hand-offs.
    hand_offs: u64,
    /// Bytes of the receive buffer beyond what the path holds.
    beyond: Bytes,
}

/// What happens to TCP on the hop.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OnTheHop {
    Arq,
    Snoop,
    Plain,
    Split,
}

/// A scheme of a plan.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scheme {
    tcp: OnTheHop,
}

/// A run that can begin.
#[derive(Debug, Clone)]
pub(super) struct Run {
    parameters: Parameters,
    scheme: Scheme,
    seed: u64,
}

/// Reads and checks a case.
pub(super) fn read(case: &Case, seed: u64) -> Result<Run, PlanError> {
    let run = Run {
        parameters: case.parameters()?,
        scheme: case.scheme()?,
        seed,
    };
    let Parameters {
        rate,
        interval,
        hand_offs,
        ..
    } = run.parameters;
    if rate == BitRate::default() {
        return Err(case.wrong_parameter("rate", "a rate of zero carries nothing"));
    }
    if interval < Duration::from_millis(100) {
        return Err(case.wrong_parameter("interval", "allowed: 100 ms or more"));
    }
    if !(1..=MOST).contains(&hand_offs) {
        return Err(case.wrong_parameter("hand_offs", format!("allowed: 1 to {MOST}")));
    }
    Ok(run)
}

impl Run {
    /// Returns a site with a download that has reached its rate.
    fn begin(&self) -> Roaming {
        let Parameters {
            rate,
            delay,
            loss,
            wire,
            beyond,
            ..
        } = self.parameters;
        let tcp = match self.scheme.tcp {
            OnTheHop::Arq => Tcp::Whole(TcpMethod::Arq),
            OnTheHop::Snoop => Tcp::Whole(TcpMethod::Snoop),
            OnTheHop::Plain => Tcp::Whole(TcpMethod::Plain),
            OnTheHop::Split => Tcp::Split,
        };
        let mut site = Roaming::new(Setting {
            seed: self.seed,
            rate,
            delay,
            loss,
            wire: wire / 2,
            tcp,
            is_told: true,
            mobile: MobileTerms {
                gathers_copies: self.parameters.departure == Departure::Bicast,
                ..MobileTerms::default()
            },
            ..Setting::default()
        });
        site.run(Duration::from_secs(1), true);
        if tcp == Tcp::Split {
            site.download_split(0);
        } else {
            site.connect_now(Ends::new(&Config {
                timestamps: true,
                window_scaling: true,
                receive_buffer: rate.bytes_in(delay * 2 + wire) + beyond,
                ..Config::kernel(Control::Cubic)
            }));
        }
        site.run(BEGINNING, true);
        site
    }

    /// Returns the times to the next hand-off.
    fn pauses(&self) -> impl Iterator<Item = Duration> {
        let Parameters {
            interval, jitter, ..
        } = self.parameters;
        let mut random = RandomStream::named(self.seed, "hand-offs");
        let pause = move |_| interval + jitter * random.below(1_000) / 1_000;
        (0..self.parameters.hand_offs).map(pause)
    }

    /// Returns the bytes that the application reads without hand-offs, in the time of those.
    fn without(&self) -> u64 {
        let mut site = self.begin();
        let before = site.read();
        self.pauses().for_each(|pause| site.run(pause, true));
        site.read() - before
    }
}

/// Returns the number of the gateway to which a mobile host is attached.
fn serving(site: &Roaming) -> usize {
    let name = site.serving();
    let found = NAMES.iter().position(|known| *known == name);
    found.unwrap_or(HOME)
}

/// Begins a hand-off from the present gateway.
fn depart(site: &mut Roaming, departure: Departure) {
    let present = serving(site);
    let others = (0..NAMES.len()).filter(|other| *other != present);
    site.network.cut = match departure {
        Departure::Bicast | Departure::Overlap => Vec::new(),
        Departure::Buffered => vec![[MOBILE, present]],
        Departure::Hard | Departure::Unnoticed => others.map(|other| [present, other]).collect(),
    };
    if departure != Departure::Unnoticed {
        site.move_to(if present == 2 { 3 } else { 2 });
    }
}

/// Runs a case and measures it.
pub(super) fn measure(run: &Run) -> Result<Measurements, RunError> {
    let departure = run.parameters.departure;
    let mut site = run.begin();
    // From one gateway that is not the home to another one: the home cannot be left behind.
    site.move_to(2);
    site.run(Duration::from_secs(2), true);
    let counters = site.counters(GATEWAY);
    let (read, begun) = (site.read(), site.now);
    let mut stalls = Vec::new();
    for pause in run.pauses() {
        if serving(&site) == HOME && departure.cuts() {
            site.move_to(2);
            site.run(Duration::from_millis(500), true);
        }
        site.take_stall();
        depart(&mut site, departure);
        // What was cut off is there again for the hand-off after the next one.
        site.run(pause / 4 * 3, true);
        site.network.cut.clear();
        site.run(pause / 4, true);
        stalls.push(site.take_stall().as_secs_f64() * 1e3);
    }
    if !site.is_connected() {
        return Err(RunError::Failed("the connection was lost".into()));
    }
    let span = site.now.since(begun).as_secs_f64();
    let goodput = (site.read() - read) as f64 * 8e-6 / span;
    let whole: Duration = run.pauses().fold(Duration::ZERO, |sum, pause| sum + pause);
    let without = run.without() as f64 * 8e-6 / whole.as_secs_f64();
    let count = stalls.len() as f64;
    let after = site.counters(GATEWAY);
    let each = |of: fn(&tcp::Counters) -> u64| {
        let counters = counters.zip(after);
        counters.map(|(before, after)| (of(&after) - of(&before)) as f64 / count)
    };
    Ok(Measurements::new()
        .with(STALL.name, stalls.iter().sum::<f64>() / count)
        .with(WORST.name, stalls.iter().copied().fold(0.0, f64::max))
        .with(GOODPUT.name, goodput)
        .with(SHARE.name, 100.0 * goodput / without)
        .with_some(
            REPEATS.name,
            each(|counters| counters.sent.retransmitted_segments),
        )
        .with_some(TIMEOUTS.name, each(|counters| counters.recovered.timeouts)))
}
