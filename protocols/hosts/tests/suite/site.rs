//! A mobile host that moves between the gateways of a site.

use hosts::EventKind;
use machine::RandomStream;
use units::{Duration, Probability};

use crate::support::MOBILE;
use crate::support::roaming::{HOME, Roaming, Setting};

const SECOND: Duration = Duration::from_secs(1);

/// Checks that both flows have come whole, once and in order.
fn is_whole(site: &mut Roaming) {
    site.run(SECOND * 3, true);
    for flow in 0..2 {
        let received = &site.received[flow];
        assert!(
            received.in_order && received.packets == site.sent[flow],
            "flow {flow}: {} of {}, in order: {}; {:?}",
            received.packets,
            site.sent[flow],
            received.in_order,
            site.events
        );
    }
}

#[test]
fn without_a_move_the_home_serves() {
    let mut site = Roaming::new(Setting::default());
    site.run(SECOND * 5, false);
    assert!(site.sent[0] > 3_000);
    is_whole(&mut site);
}

#[test]
fn flows_go_on_at_another_gateway_and_back_home() {
    for percent in [0, 5] {
        let setting = Setting {
            loss: Probability::ratio(percent, 100),
            ..Setting::default()
        };
        let mut site = Roaming::new(setting);
        site.run(SECOND * 3, false);
        for gateway in [2, 3, 2, HOME, 3] {
            site.stall = Duration::ZERO;
            site.move_to(gateway);
            site.run(SECOND * 2, false);
            let attached = site
                .events
                .iter()
                .rev()
                .find_map(|(_, host, kind)| match kind {
                    EventKind::Attached { lasted } if *host == MOBILE => Some(*lasted),
                    _ => None,
                });
            println!(
                "loss {percent} %, to {gateway}: stall {}, attached after {attached:?}",
                site.stall
            );
        }
        is_whole(&mut site);
    }
}

/// Returns a site whose setting, and moves, `seed` chooses, after 20 moves.
fn wanders(seed: u64) -> Roaming {
    let mut random = RandomStream::named(seed, "moves");
    let setting = Setting {
        seed,
        loss: Probability::ratio(random.below(10), 100),
        wire: Duration::from_millis(random.below(40)),
        delay: Duration::from_millis(1 + random.below(60)),
        ..Setting::default()
    };
    let mut site = Roaming::new(setting);
    site.run(SECOND * 3, true);
    for _ in 0..20 {
        site.move_to(1 + random.below(3) as usize);
        site.run(Duration::from_millis(random.below(1_500)), false);
    }
    site
}

#[test]
fn nothing_is_lost_repeated_or_reordered_by_many_moves() {
    for seed in 0..8 {
        let mut site = wanders(seed);
        let attached =
            |(_, _, kind): &&(_, _, EventKind)| matches!(kind, EventKind::Attached { .. });
        println!("seed {seed}");
        let moves = site.events.iter().filter(attached).count();
        is_whole(&mut site);
        assert!(moves > 3, "seed {seed}: {moves} moves");
    }
}
