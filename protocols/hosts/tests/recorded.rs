//! A download, and small requests beside it, across recorded hops: by hand, as the project has no recordings.

mod support;

use channel::{Direction, Link};
use rivals::{Kind, Percentiles};
use support::ends::Ends;
use support::{GATEWAY, MOBILE, Pair, Traffic};
use units::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);
/// Where the transfers begin in a recording.
const SKIPPED: Duration = Duration::from_secs(2);
const SEED: u64 = 1;
const ENDLESS: u64 = 1 << 40;

/// A value from the environment, or what is usual.
fn given(name: &str, usual: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| usual.into())
}

/// The hop that the environment describes.
fn hop() -> Link {
    let (delay, queue) = (given("DELAY", "20 ms"), given("QUEUE", "1000 packets"));
    let recording = std::env::var("RECORDING")
        .expect("RECORDING is the path of a recording without .down and .up");
    let side = |way: &str| {
        format!(
            "{way} = {{ mahimahi = '{recording}.{way}', delay = '{delay}', queue = '{queue}' }}\n"
        )
    };
    let read = |name: &str| std::fs::read_to_string(name).map_err(|error| error.to_string());
    Link::from_toml_with(&(side("down") + &side("up")), "recorded.toml", &read).expect("a link")
}

#[test]
#[ignore = "RECORDING=path/of/name DELAY='20 ms' QUEUE='1000 packets' LASTS=40: prints and asserts nothing"]
fn a_recorded_hop() {
    let (hop, seconds) = (hop(), given("LASTS", "40").parse().expect("a number"));
    for inside in ["cubic", "greedy"] {
        let mut pair = Pair::over(hop.clone(), SEED, 0);
        pair.run_until(Instant::ZERO + SKIPPED);
        if inside == "cubic" {
            pair.connect(Ends::new(&Kind::Cubic.config()), (GATEWAY, ENDLESS));
        } else {
            pair.add(Traffic::bulk(1));
        }
        pair.add_requests(pair.now);
        pair.run_for(SECOND * seconds);
        let carried = match inside {
            "cubic" => pair.ends().read(MOBILE).0,
            _ => pair.received(1).payload,
        };
        let Percentiles { median, p95 } =
            Percentiles::of(pair.replies.iter().map(|(_, time)| *time));
        let rate = carried as f64 * 8e-6 / seconds as f64;
        let dropped = pair.channel.counters(Direction::Down).dropped_queue.packets;
        println!(
            "{inside} inside: {rate:.2} Mbit/s, requests {median} (median), {p95} (p95), {dropped} dropped by the queue"
        );
    }
}
