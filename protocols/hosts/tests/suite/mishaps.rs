//! A download while its mobile host moves at random, and gateways and the mobile host are stopped, killed, drained and
//! cut off: the same as `cargo xtask soak site`, in virtual time.

use std::collections::BTreeMap;

use hosts::Input;
use machine::RandomStream;
use tcp::Config;
use units::{BitRate, Duration, Instant, Probability};

use crate::support::ends::Ends;
use crate::support::roaming::{HOME, NAMES, Roaming, Setting};
use crate::support::{MOBILE, WALL};

const SECOND: Duration = Duration::from_secs(1);
/// Longest time that a host is stopped or dead, and that the site has for itself between two mishaps, in ms.
const AWAY: u64 = 8_000;
const QUIET: u64 = 3_000;
/// Bytes that have to come after each mishap.
const ENOUGH: u64 = 100_000;
/// Longest time until they have come. TCP doubles its timeout while there is no way: it takes up to some 15 s.
const MOST: Duration = Duration::from_secs(30);

/// What happens to a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mishap {
    Move,
    Drain,
    Stop,
    KillGateway,
    KillMobile,
    /// The hop to a gateway is cut.
    Hop,
    /// The wires of a gateway are cut.
    Wires,
}

const ALL: [Mishap; 8] = [
    Mishap::Move,
    Mishap::Move,
    Mishap::Drain,
    Mishap::Stop,
    Mishap::KillGateway,
    Mishap::KillMobile,
    Mishap::Hop,
    Mishap::Wires,
];

/// Returns a site with far gateways in which a download has begun.
fn begun(seed: u64, rate: BitRate, wire: u64) -> Roaming {
    let mut site = Roaming::new(Setting {
        seed,
        rate,
        wire: Duration::from_millis(wire),
        loss: Probability::ratio(1, 100),
        is_told: true,
        ..Setting::default()
    });
    site.run(SECOND, true);
    site.connect(Ends::new(&Config::modern()));
    site.run(SECOND * 2, true);
    site
}

/// Has a mishap happen at a gateway, from its beginning to its end.
fn have(site: &mut Roaming, mishap: Mishap, gateway: usize, away: Duration) {
    match mishap {
        Mishap::Move => site.move_to(gateway),
        Mishap::Drain => {
            site.input(gateway, Input::Drain(true));
            site.run(SECOND, true);
            site.input(gateway, Input::Drain(false));
        }
        Mishap::Stop => {
            site.network.stopped = Some((gateway, site.now + away));
            site.run(away, true);
        }
        Mishap::KillGateway => kill(site, gateway, away),
        Mishap::KillMobile => kill(site, MOBILE, away),
        Mishap::Hop => cut(site, vec![[MOBILE, gateway]], away),
        Mishap::Wires => {
            let others = (HOME..NAMES.len()).filter(|other| *other != gateway);
            cut(site, others.map(|other| [gateway, other]).collect(), away);
        }
    }
}

/// Ends a host, which begins anew after a while.
fn kill(site: &mut Roaming, host: usize, away: Duration) {
    site.network.stopped = Some((host, Instant::ZERO + Duration::MAX));
    site.run(away, true);
    site.network.stopped = None;
    site.restart(host, WALL + site.now.since_origin().as_nanos(), None);
}

fn cut(site: &mut Roaming, ways: Vec<[usize; 2]>, away: Duration) {
    site.network.cut = ways;
    site.run(away, true);
    site.network.cut.clear();
}

/// Times until the download went on, by what had happened to which host.
type Times = BTreeMap<(Mishap, &'static str), Vec<Duration>>;

/// Notes the times until the download went on after each of 40 mishaps; returns what has happened if it did not.
fn live_through(seed: u64, wire: u64, times: &mut Times) -> Result<(), String> {
    let mut random = RandomStream::named(seed, "mishaps");
    let mut site = begun(seed, BitRate::from_megabits(4 << (seed % 3)), wire);
    let mut last = Vec::new();
    for _ in 0..40 {
        let mishap = ALL[random.below(ALL.len() as u64) as usize];
        let gateway = HOME + random.below(3) as usize;
        let away = Duration::from_millis(random.below(AWAY));
        let serving = site.serving();
        last.push(format!(
            "{}: {mishap:?} {}, {away}; served by {serving}",
            site.now, NAMES[gateway]
        ));
        have(&mut site, mishap, gateway, away);
        let took = site.time_to_read(ENOUGH, MOST);
        if took >= MOST || !site.is_connected() {
            let events = &site.events[site.events.len().saturating_sub(40)..];
            let last = &last[last.len().saturating_sub(4)..];
            return Err(format!("seed {seed}: {last:#?}\n{events:#?}"));
        }
        let place = if gateway == HOME { "home" } else { "another" };
        times.entry((mishap, place)).or_default().push(took);
        site.run(Duration::from_millis(random.below(QUIET)), true);
    }
    Ok(())
}

/// A gateway that was stopped is asked to cease for its mobile host, and waits for packets that have not come when that
/// is back already.
#[test]
fn a_mobile_host_comes_back_to_a_gateway_that_was_stopped() {
    for seed in 0..2 {
        let mut random = RandomStream::named(seed, "stops");
        let mut site = begun(seed, BitRate::from_megabits(20), 10);
        for _ in 0..8 {
            site.move_to(HOME + 1);
            site.run(Duration::from_millis(2_000 + random.below(QUIET)), true);
            let away = Duration::from_millis(random.below(AWAY));
            have(&mut site, Mishap::Stop, HOME + 1, away);
            let took = site.time_to_read(ENOUGH, MOST);
            assert!(took < SECOND, "seed {seed}: {took} after {away}");
        }
        assert!(site.is_connected(), "seed {seed}");
    }
}

#[test]
#[ignore = "a search: SEEDS=1000 cargo test -p hosts --test suite -- --ignored mishaps"]
fn a_download_lives_through_everything() {
    let seeds = std::env::var("SEEDS").map_or(40, |seeds| seeds.parse().expect("a number"));
    let from = std::env::var("FROM").map_or(0, |from| from.parse().expect("a number"));
    let (mut wrong, mut times) = (0, Times::new());
    for seed in from..from + seeds {
        let wire = [0, 1, 10, 40][(seed % 4) as usize];
        if let Err(told) = live_through(seed, wire, &mut times) {
            wrong += 1;
            println!("{told}");
        }
    }
    for ((mishap, place), all) in &times {
        let count = all.len() as u64;
        let mean = all.iter().fold(Duration::ZERO, |sum, took| sum + *took) / count;
        let most = all.iter().max().expect("there is one");
        println!("{mishap:?} {place}: {count}, mean {mean}, most {most}");
    }
    assert_eq!(wrong, 0, "of {seeds} seeds");
}
