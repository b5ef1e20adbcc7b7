//! Hosts that get no processor for a while: what they miss is no fade, and needs no repair.

use channel::Link;
use hosts::EventKind;
use units::{Duration, Instant};

use crate::support::trouble::Share;
use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

fn clean(rate: &str, delay: &str) -> Link {
    let text = format!("each = {{ rate = '{rate}', delay = '{delay}', queue = '1000 packets' }}\n");
    Link::from_toml(&text, "clean.toml").expect("a link")
}

fn fades(pair: &Pair) -> usize {
    let is_fade = |(_, _, kind): &&(Instant, usize, EventKind)| *kind == EventKind::FadeBegan;
    pair.events.iter().filter(is_fade).count()
}

/// Results of a pair with troubled hosts in 30 seconds.
struct Outcome {
    /// Fades that were reported, and that were counted.
    fades: (usize, u64),
    /// The larger share of what an end sent that was repairs, and the same of what it sent after the first seconds:
    /// at its start a hop counts as noisy, and what is young is sent twice.
    repairs: f64,
}

fn run(link: &Link, shares: &[(usize, Share)]) -> Outcome {
    let mut pair = Pair::over(link.clone(), 5, 0);
    for (host, share) in shares {
        pair.trouble.shares[*host] = Some(*share);
    }
    pair.add(Traffic::bulk(1));
    pair.add(Traffic::upload(2));
    pair.add_requests(Instant::from_millis(2_000));
    pair.run_for(SECOND * 8);
    let before = [MOBILE, GATEWAY].map(|host| pair.status(host).hop.stats.sent);
    pair.run_for(SECOND * 22);
    assert!(pair.received(1).in_order && pair.received(2).in_order);
    let share = |host: usize| {
        let sent = pair.status(host).hop.stats.sent;
        let repairs = sent.bytes_repeated - before[host].bytes_repeated;
        repairs as f64 / (sent.wire_bytes - before[host].wire_bytes) as f64
    };
    let counted = [MOBILE, GATEWAY].map(|host| pair.status(host).hop.stats.sent.fades);
    Outcome {
        fades: (fades(&pair), counted.iter().sum()),
        repairs: share(MOBILE).max(share(GATEWAY)),
    }
}

fn assert_calm(link: &Link, shares: &[(usize, Share)]) {
    assert_calmer(link, shares, 0);
}

/// Asserts the same, with at most `told_most` fades reported that are none.
fn assert_calmer(link: &Link, shares: &[(usize, Share)], told_most: usize) {
    let Outcome { fades, repairs } = run(link, shares);
    let told = format!(
        "{shares:?}: {fades:?} fades, {:.2} % repairs",
        repairs * 100.0
    );
    println!("{told}");
    assert!(
        fades.0 <= told_most && fades.1 == 0 && repairs < 0.01,
        "{told}"
    );
}

fn of_a_core(thousandths: u64, period: Duration) -> Share {
    Share::of(period.scaled(thousandths, 1_000), period)
}

#[test]
fn a_host_with_three_hundredths_of_a_core_tells_no_fade() {
    let share = of_a_core(30, MILLISECOND * 100);
    for delay in ["2 ms", "20 ms", "80 ms"] {
        let link = clean("10 Mbit/s", delay);
        for host in [MOBILE, GATEWAY] {
            // The start may fill the queue of a long path before the host has run often enough to see it, and the
            // acknowledgements behind that queue are late once.
            assert_calmer(&link, &[(host, share)], usize::from(delay == "80 ms"));
        }
    }
}

#[test]
fn two_hosts_with_little_of_a_core_tell_no_fade() {
    let third = of_a_core(330, MILLISECOND * 70);
    let tenth = of_a_core(100, MILLISECOND * 100);
    for (rate, delay) in [
        ("2 Mbit/s", "5 ms"),
        ("50 Mbit/s", "10 ms"),
        ("10 Mbit/s", "150 ms"),
    ] {
        let link = clean(rate, delay);
        assert_calm(&link, &[(MOBILE, third), (GATEWAY, tenth)]);
        assert_calm(&link, &[(MOBILE, tenth), (GATEWAY, third)]);
    }
}

/// Slower than the scheduler of a kernel is: a host that stands still for a third of a second, again and again. The
/// first time nobody can know.
#[test]
fn a_host_that_stands_still_for_long_tells_no_fade() {
    let share = Share::of(MILLISECOND * 250, MILLISECOND * 600);
    for host in [MOBILE, GATEWAY] {
        assert_calmer(&clean("10 Mbit/s", "20 ms"), &[(host, share)], 1);
    }
}

/// A host that gets little processor time in a fade notices it all the same, and repairs the losses after it.
#[test]
fn a_fade_is_told_and_repaired_where_a_host_gets_little() {
    let share = of_a_core(100, MILLISECOND * 100);
    for host in [MOBILE, GATEWAY] {
        let mut pair = Pair::over(clean("10 Mbit/s", "20 ms"), 5, 0);
        pair.trouble.shares[host] = Some(share);
        pair.add(Traffic::bulk(1));
        pair.run_for(SECOND * 5);
        assert_eq!(fades(&pair), 0);
        pair.blackout = pair.now..pair.now + SECOND * 2;
        pair.run_for(SECOND * 2);
        assert!(fades(&pair) > 0);
        let before = pair.received(1).payload;
        pair.run_for(SECOND * 3);
        let received = pair.received(1);
        assert!(received.in_order);
        let news = received.payload - before;
        assert!(news > 500_000, "{news} bytes in the 3 s after the fade");
    }
}
