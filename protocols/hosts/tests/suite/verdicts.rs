//! The verdicts of a host on the limit of the hop, each second, compared with the truth: the channel, the processors
//! and the applications are known here.

use channel::{Direction, Link};
use hosts::{Input, LimitedBy};
use units::{BitRate, Bytes, Duration, Instant};

use crate::support::trouble::{Others, Share};
use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);
/// The truth is looked at so often.
const LOOK: Duration = Duration::from_millis(50);
/// Over so many looks: as far as a verdict looks back.
const LOOKS: usize = 39;

/// State at one look.
#[derive(Clone, Copy, Default)]
struct Look {
    offered: u64,
    dropped_air: u64,
    dropped_queue: u64,
    is_bad: bool,
    is_waiting: bool,
}

/// Looks at the channel while a download goes on, and counts verdicts of the gateway that are right.
struct Judge {
    pair: Pair,
    rate: BitRate,
    looks: Vec<Look>,
    right: u64,
    wrong: Vec<String>,
}

impl Judge {
    fn new(pair: Pair, rate: &str) -> Self {
        Self {
            pair,
            rate: rate.parse().expect("a rate"),
            looks: Vec::new(),
            right: 0,
            wrong: Vec::new(),
        }
    }

    /// One second passes.
    fn second(&mut self) {
        // Six frames or 20 ms may wait on a hop that is full: that is this end's own queue.
        let usual = (self.rate.time_for(Bytes::new(1_500)) * 6).max(MILLISECOND * 20);
        for _ in 0..SECOND.as_millis() / LOOK.as_millis() {
            self.pair.run_for(LOOK);
            let counters = self.pair.channel.counters(Direction::Down);
            let waiting = self.pair.channel.waiting(Direction::Down).bytes;
            self.looks.push(Look {
                offered: counters.offered.packets,
                dropped_air: counters.dropped_air.packets,
                dropped_queue: counters.dropped_queue.packets,
                is_bad: self.pair.blackout.contains(&self.pair.now),
                is_waiting: self.rate.time_for(waiting) > usual,
            });
        }
    }

    /// Returns the verdicts that are true now of a full hop: both, if a share is near the border.
    fn truths(&self) -> Vec<LimitedBy> {
        let looks = &self.looks[self.looks.len().saturating_sub(LOOKS)..];
        let (first, last) = (looks[0], looks[looks.len() - 1]);
        let share = |of: fn(&Look) -> u64| {
            (of(&last) - of(&first)) as f64 / (last.offered - first.offered).max(1) as f64
        };
        let part = |is: fn(&Look) -> bool| {
            looks.iter().filter(|look| is(look)).count() as f64 / looks.len() as f64
        };
        let air = share(|look| look.dropped_air).max(part(|look| look.is_bad));
        let queue = (share(|look| look.dropped_queue) * 50.0).max(part(|look| look.is_waiting));
        let mut truths = Vec::new();
        if air > 0.05 {
            truths.push(LimitedBy::Air);
        }
        if air < 0.15 && queue > 0.3 {
            truths.push(LimitedBy::QueueOnTheWay);
        }
        if air < 0.15 && queue < 0.7 {
            truths.push(LimitedBy::OwnQueue);
        }
        truths
    }

    fn check(&mut self, host: usize, truths: &[LimitedBy]) {
        let limit = self.pair.status(host).limit;
        if truths.contains(&limit.by) {
            self.right += 1;
        } else {
            let now = self.pair.now;
            self.wrong
                .push(format!("{now}: {limit:?} and not {truths:?}"));
        }
    }

    /// A download that fills the hop.
    fn full(&mut self, seconds: u64) {
        self.pair.add(Traffic::bulk(1));
        (0..2).for_each(|_| self.second());
        for _ in 0..seconds {
            self.second();
            self.check(GATEWAY, &self.truths());
        }
    }

    fn finish(self, name: &str) -> (u64, u64) {
        let wrong = self.wrong.len() as u64;
        println!("{name}: {} right, {wrong} wrong", self.right);
        self.wrong.iter().for_each(|wrong| println!("  {wrong}"));
        (self.right, wrong)
    }
}

fn clean(rate: &str, queue: u32) -> Link {
    let text =
        format!("each = {{ rate = '{rate}', delay = '20 ms', queue = '{queue} packets' }}\n");
    Link::from_toml(&text, "clean.toml").expect("a link")
}

fn assert_mostly_right(results: &[(u64, u64)]) {
    let right: u64 = results.iter().map(|result| result.0).sum();
    let wrong: u64 = results.iter().map(|result| result.1).sum();
    println!("{right} right, {wrong} wrong");
    assert!(
        right * 100 >= (right + wrong) * 95,
        "{right} right, {wrong} wrong"
    );
}

#[test]
fn a_full_hop_is_told_by_what_it_loses() {
    let links = [
        ("l1-clean", "2 Mbit/s"),
        ("l1-b40", "2 Mbit/s"),
        ("l1-b80", "2 Mbit/s"),
        ("l1-b160", "2 Mbit/s"),
        ("l2-clean", "20 Mbit/s"),
        ("l2-b40", "20 Mbit/s"),
        ("l2-b80", "20 Mbit/s"),
        ("l2-b160", "20 Mbit/s"),
        ("l3-clean", "100 Mbit/s"),
        ("l3-b80", "100 Mbit/s"),
        ("l3-p1", "100 Mbit/s"),
        ("l3-p5", "100 Mbit/s"),
        ("l4-clean", "50 Mbit/s"),
        ("l4-p1", "50 Mbit/s"),
    ];
    let results = links.map(|(name, rate)| {
        let mut judge = Judge::new(Pair::new(name, 3), rate);
        judge.full(12);
        judge.finish(name)
    });
    assert_mostly_right(&results);
}

#[test]
fn a_queue_that_others_fill_is_told() {
    let results = [
        ("20 Mbit/s", "24 Mbit/s", 100),
        ("5 Mbit/s", "6 Mbit/s", 100),
    ]
    .map(|(rate, others, queue)| {
        let mut pair = Pair::over(clean(rate, queue), 3, 0);
        pair.trouble.others = Some(Others::of(others.parse().expect("a rate")));
        let mut judge = Judge::new(pair, rate);
        judge.full(20);
        judge.finish(&format!("{rate} beside {others}"))
    });
    assert_mostly_right(&results);
}

#[test]
fn applications_that_send_little_are_told() {
    let results = ["l1-clean", "l2-clean", "l3-p1", "l4-clean"].map(|name| {
        let mut pair = Pair::new(name, 3);
        pair.add_requests(Instant::from_millis(1_000));
        let mut judge = Judge::new(pair, "2 Mbit/s");
        judge.second();
        judge.second();
        for _ in 0..20 {
            judge.second();
            judge.check(GATEWAY, &[LimitedBy::Application]);
            judge.check(MOBILE, &[LimitedBy::Application]);
        }
        judge.finish(name)
    });
    assert_mostly_right(&results);
}

#[test]
fn hosts_without_processor_are_told() {
    let share = Share::of(MILLISECOND * 3, MILLISECOND * 100);
    let results = [
        (MOBILE, LimitedBy::ProcessorThere),
        (GATEWAY, LimitedBy::ProcessorHere),
    ]
    .map(|(host, told)| {
        let mut pair = Pair::over(clean("10 Mbit/s", 1_000), 3, 0);
        pair.trouble.shares[host] = Some(share);
        pair.add(Traffic::bulk(1));
        let mut judge = Judge::new(pair, "10 Mbit/s");
        judge.second();
        judge.second();
        for _ in 0..20 {
            judge.second();
            judge.check(GATEWAY, &[told]);
        }
        judge.finish(&format!("host {host} with 3 ms of each 100"))
    });
    assert_mostly_right(&results);
}

#[test]
fn an_outage_is_the_air() {
    let mut judge = Judge::new(Pair::new("l2-clean", 3), "20 Mbit/s");
    judge.full(5);
    for _ in 0..4 {
        judge.pair.blackout = judge.pair.now..judge.pair.now + SECOND * 3;
        for _ in 0..6 {
            judge.second();
            judge.check(GATEWAY, &judge.truths());
        }
    }
    assert_mostly_right(&[judge.finish("outages of 3 s")]);
}

#[test]
fn who_is_not_there_is_told() {
    let mut pair = Pair::new("l1-clean", 3);
    let told = |pair: &Pair, host| pair.status(host).limit.by;
    assert_eq!(told(&pair, MOBILE), LimitedBy::PeerGone);
    pair.add(Traffic::bulk(1));
    pair.run_for(SECOND * 4);
    assert_eq!(told(&pair, GATEWAY), LimitedBy::OwnQueue);
    // A report of a refused port, which may be forged, has no lasting effect while datagrams of the peer arrive.
    let at = pair.address(MOBILE);
    pair.input(GATEWAY, Input::PortRefused(at));
    pair.run_for(SECOND);
    assert_eq!(told(&pair, GATEWAY), LimitedBy::OwnQueue);
    let before = pair.received(1).payload;
    // It stops nothing either.
    for _ in 0..100 {
        pair.input(GATEWAY, Input::PortRefused(at));
        pair.run_for(MILLISECOND * 10);
    }
    assert!(pair.received(1).payload - before > 200_000);
    pair.blackout = pair.now..pair.now + SECOND * 60;
    pair.run_for(SECOND * 2);
    assert_eq!(told(&pair, GATEWAY), LimitedBy::Air);
    pair.input(GATEWAY, Input::PortRefused(at));
    assert_eq!(told(&pair, GATEWAY), LimitedBy::PortRefused);
    pair.blackout = pair.now..pair.now;
    pair.run_for(SECOND * 4);
    assert_eq!(told(&pair, GATEWAY), LimitedBy::OwnQueue);
    pair.input(MOBILE, Input::Leave);
    pair.run_for(SECOND);
    assert_eq!(told(&pair, GATEWAY), LimitedBy::PeerGone);
}
