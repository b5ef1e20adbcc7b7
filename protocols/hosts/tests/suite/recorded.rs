//! A download, and small requests beside it, across recorded hops: by hand, as the project has no recordings.

use std::ops::Range;

use channel::{Counters, Direction, Link};
use rivals::{Kind, Percentiles, alone};
use units::{Duration, Instant};

use crate::support::ends::Ends;
use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);
/// Seconds into the recording at which the transfers begin: a run for each.
const STARTS: [u64; 5] = [2, 3, 4, 5, 6];
const SEED: u64 = 1;
const ENDLESS: u64 = 1 << 40;

/// A value from the environment, or what is usual.
fn given(name: &str, usual: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| usual.into())
}

/// The hop that the environment describes.
fn hop() -> Link {
    let (delay, queue) = (given("DELAY", "20 ms"), given("QUEUE", "1000 packets"));
    let loss = std::env::var("LOSS").ok();
    let errors = loss.map(|loss| format!(", errors = {{ model = 'independent', p = '{loss}' }}"));
    let errors = errors.unwrap_or_default();
    let recording = std::env::var("RECORDING")
        .expect("RECORDING is the path of a recording without .down and .up");
    let side = |way: &str| {
        format!(
            "{way} = {{ mahimahi = '{recording}.{way}', delay = '{delay}', queue = '{queue}'{errors} }}\n"
        )
    };
    let read = |name: &str| std::fs::read_to_string(name).map_err(|error| error.to_string());
    Link::from_toml_with(&(side("down") + &side("up")), "recorded.toml", &read).expect("a link")
}

/// The one-way delay that 95 hundredths of the time have at most: at each instant, the age of the latest datagram that
/// has come (Winstein, Sivaraman, Balakrishnan, NSDI 2013).
fn delay(crossings: impl Iterator<Item = (Instant, Instant)>, span: Range<Instant>) -> Duration {
    let (mut ages, mut latest, mut now) = (Vec::new(), Instant::ZERO, span.start);
    for (sent, came) in crossings {
        while now < came.min(span.end) {
            ages.push(now.since(latest));
            now += Duration::from_millis(1);
        }
        latest = latest.max(sent);
    }
    ages.sort_unstable();
    ages.get(ages.len() * 95 / 100).copied().unwrap_or_default()
}

/// The delay of somebody who knows when the hop carries what.
fn least_delay(span: Range<Instant>) -> Duration {
    let recording = given("RECORDING", "") + ".down";
    let recording = std::fs::read_to_string(recording).expect("a recording");
    let base: u64 = given("DELAY", "20 ms")
        .trim_end_matches(" ms")
        .parse()
        .expect("milliseconds");
    let carries = recording
        .lines()
        .map(|line| line.parse().expect("milliseconds"));
    let crossings =
        carries.map(|at: u64| (Instant::from_millis(at), Instant::from_millis(at + base)));
    delay(crossings, span)
}

/// What one run gave.
struct Run {
    /// Mbit/s.
    goodput: f64,
    requests: Percentiles,
    /// Per cent of the packets, by the hop's queue.
    dropped: f64,
    /// Milliseconds beyond what the hop takes, see [`delay`].
    delay: Option<f64>,
}

impl Run {
    fn new(goodput: f64, requests: Percentiles, down: &Counters) -> Self {
        let offered = down.offered.packets.max(1) as f64;
        Self {
            goodput,
            requests,
            dropped: down.dropped_queue.packets as f64 * 100.0 / offered,
            delay: None,
        }
    }

    /// TCP without a tunnel.
    fn alone(hop: &Link, kind: Kind, (begin, length): (Instant, Duration)) -> Self {
        let outcome = alone(hop, SEED, kind, begin, begin..begin + length);
        let goodput = outcome.goodput.bits_per_second() as f64 * 1e-6;
        Self::new(goodput, outcome.requests, &outcome.down)
    }

    /// A tunnel with a connection of this kind inside, or with packets that are always there.
    fn through(hop: &Link, inside: Option<Kind>, (begin, length): (Instant, Duration)) -> Self {
        let mut pair = Pair::over(hop.clone(), SEED, 0);
        pair.run_until(begin);
        match inside {
            Some(kind) => pair.connect(Ends::new(&kind.config()), (GATEWAY, ENDLESS)),
            None => pair.add(Traffic::bulk(1)),
        }
        pair.add_requests(begin);
        pair.crossings = Some(Vec::new());
        pair.run_for(length);
        let carried = match inside {
            Some(_) => pair.ends().read(MOBILE).0,
            None => pair.received(1).payload,
        };
        let requests = Percentiles::of(pair.replies.iter().map(|(_, time)| *time));
        let goodput = carried as f64 * 8e-6 / length.as_secs_f64();
        let span = begin..begin + length;
        let crossings = pair.crossings.take().unwrap_or_default();
        let own = delay(crossings.into_iter(), span.clone()).saturating_sub(least_delay(span));
        Self {
            delay: Some(own.as_secs_f64() * 1e3),
            ..Self::new(goodput, requests, pair.channel.counters(Direction::Down))
        }
    }
}

/// The median of what each run gives, with the least and the most.
fn spread(values: impl Iterator<Item = f64>) -> String {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    let median = values[values.len() / 2];
    let (least, most) = (values[0], values[values.len() - 1]);
    format!("{median:.2} ({least:.2} to {most:.2})")
}

#[test]
#[ignore = "RECORDING=path/of/name DELAY='20 ms' QUEUE='1000 packets' LASTS=40 LOSS='1 %': prints and asserts nothing"]
fn a_recorded_hop() {
    let length = SECOND * given("LASTS", "40").parse().expect("a number");
    let hop = hop();
    let all = |run: &dyn Fn((Instant, Duration)) -> Run| {
        STARTS.map(|start| run((Instant::ZERO + SECOND * start, length)))
    };
    let cubic = all(&|span| Run::alone(&hop, Kind::Cubic, span));
    let bbr = all(&|span| Run::alone(&hop, Kind::Bbr, span));
    let inside = |kind| all(&|span| Run::through(&hop, kind, span));
    let (with_cubic, with_bbr) = (inside(Some(Kind::Cubic)), inside(Some(Kind::Bbr)));
    let greedy = inside(None);
    println!(
        "median (least to most) of {} starts; Mbit/s, of the better TCP alone; median and",
        STARTS.len()
    );
    println!(
        "95th percentile of requests, of those beside BBR alone; % dropped by the queue; and for"
    );
    println!("lasthop the 95th percentile of the one-way delay that it brings about itself, in ms");
    for (name, runs) in [
        ("CUBIC alone", &cubic),
        ("BBR alone", &bbr),
        ("lasthop, CUBIC inside", &with_cubic),
        ("lasthop, BBR inside", &with_bbr),
        ("lasthop, greedy", &greedy),
    ] {
        let each = || runs.iter().enumerate();
        let best = |index: usize| cubic[index].goodput.max(bbr[index].goodput);
        let goodput = spread(runs.iter().map(|run| run.goodput));
        let share = spread(each().map(|(index, run)| run.goodput / best(index)));
        let times = |which: fn(&Percentiles) -> Duration| {
            spread(each().map(|(index, run)| {
                let beside = which(&bbr[index].requests).as_secs_f64();
                which(&run.requests).as_secs_f64() / beside
            }))
        };
        let (median, p95) = (times(|times| times.median), times(|times| times.p95));
        let milliseconds = spread(
            runs.iter()
                .map(|run| run.requests.median.as_secs_f64() * 1e3),
        );
        let dropped = spread(runs.iter().map(|run| run.dropped));
        let delays: Vec<_> = runs.iter().filter_map(|run| run.delay).collect();
        let delay = if delays.is_empty() {
            String::new()
        } else {
            "; ".to_owned() + &spread(delays.into_iter())
        };
        println!(
            "{name}: {goodput}, {share}; {milliseconds} ms, {median}, {p95}; {dropped}{delay}"
        );
    }
}
