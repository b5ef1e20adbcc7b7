//! A hop whose frames overtake each other: what is only late is not sent again.

use channel::Link;
use units::Duration;

use crate::support::{GATEWAY, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

fn link(rate: &str, delay: &str, loss: &str) -> Link {
    let text = format!(
        "each = {{ rate = '{rate}', delay = '{delay}', queue = '400 packets' }}\n\
         errors = {{ model = 'independent', p = '{loss}' }}\n"
    );
    Link::from_toml(&text, "jitter.toml").expect("a link")
}

/// Seeds of the downloads: one alone varies by 0.01 of the link's capacity.
const SEEDS: [u64; 2] = [7, 8];

/// Returns the bytes that arrived in `seconds` of a download, as a share of the link's capacity, and the bytes sent
/// for each one that the link carried: the mean of several downloads.
fn download(link: &Link, jitter: Duration, seconds: u64) -> (f64, f64) {
    let all = SEEDS.map(|seed| one_download(seed, link.clone(), jitter, seconds));
    let mean = |of: fn(&(f64, f64)) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    (mean(|(share, _)| *share), mean(|(_, cost)| *cost))
}

fn one_download(seed: u64, link: Link, jitter: Duration, seconds: u64) -> (f64, f64) {
    let mut pair = Pair::over(link, seed, 0);
    pair.trouble.jitter = jitter;
    pair.add(Traffic::bulk(1));
    pair.run_for(SECOND * 3);
    let (start, before) = (pair.now, pair.received(1).payload);
    let sent_before = pair.status(GATEWAY).hop.stats.sent.wire_bytes;
    pair.run_for(SECOND * seconds);
    let received = pair.received(1);
    assert!(received.in_order);
    let carried = received.payload - before;
    let hop = pair.status(GATEWAY).hop;
    let sent = hop.stats.sent.wire_bytes - sent_before;
    let capacity = pair.capacity(channel::Direction::Down, start);
    (
        carried as f64 / capacity.get() as f64,
        sent as f64 / carried as f64,
    )
}

#[test]
fn frames_that_overtake_each_other_are_not_sent_again() {
    for (rate, delay, jitter) in [
        ("10 Mbit/s", "20 ms", 20),
        ("10 Mbit/s", "20 ms", 5),
        ("2 Mbit/s", "10 ms", 40),
        ("50 Mbit/s", "5 ms", 8),
    ] {
        for loss in ["0 %", "1 %"] {
            let (share, cost) = download(&link(rate, delay, loss), MILLISECOND * jitter, 10);
            let told = format!(
                "{rate}, {delay}, jitter of {jitter} ms, {loss}: {share:.3} of it, {cost:.3} bytes sent for each"
            );
            println!("{told}");
            // Headers leave 0.945 of what it carries, and losses and what repairs them a fiftieth less. Where a frame
            // takes 6 ms, a jitter of 40 ms blurs the rate so much that it is tested in vain whose the queue is.
            let least = match loss {
                _ if jitter == 40 => 0.89,
                "0 %" => 0.92,
                _ => 0.90,
            };
            assert!(share > least && cost < 1.1, "{told}");
        }
    }
}
