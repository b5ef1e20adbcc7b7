//! A mobile host that moves on and on, and leaves gateways that are not its home.

use machine::RandomStream;
use units::{Duration, Probability};

use crate::site::{attachments, has_given_up, is_whole};
use crate::support::roaming::{HOME, Roaming, Setting};

const SECOND: Duration = Duration::from_secs(1);

/// Returns a site after 20 moves, with pauses of up to `longest`; `seed` chooses these and the setting, of which
/// `setting` returns the rest.
fn wanders(
    seed: u64,
    longest: Duration,
    setting: impl Fn(&mut RandomStream) -> Setting,
) -> Roaming {
    let mut random = RandomStream::named(seed, "moves");
    let loss = Probability::ratio(random.below(10), 100);
    let setting = Setting {
        seed,
        loss,
        ..setting(&mut random)
    };
    let mut site = Roaming::new(setting);
    site.run(SECOND * 3, true);
    for _ in 0..20 {
        site.move_to(1 + random.below(3) as usize);
        site.run(
            Duration::from_millis(random.below(longest.as_millis())),
            false,
        );
    }
    site
}

#[test]
fn nothing_is_lost_repeated_or_reordered_by_many_moves() {
    for seed in 0..8 {
        let mut site = wanders(seed, SECOND * 3 / 2, |random| Setting {
            wire: Duration::from_millis(random.below(40)),
            delay: Duration::from_millis(1 + random.below(60)),
            ..Setting::default()
        });
        is_whole(&mut site);
        let moves = attachments(&site);
        assert!(moves > 4, "seed {seed}: {moves} moves");
    }
}

#[test]
fn nothing_is_lost_between_far_gateways_though_the_mobile_host_does_not_stay() {
    for seed in 0..30 {
        let mut site = wanders(seed, SECOND * 2 / 5, |random| Setting {
            wire: Duration::from_millis(40 + random.below(100)),
            delay: Duration::from_millis(1 + random.below(5)),
            ..Setting::default()
        });
        is_whole(&mut site);
        let moves = attachments(&site);
        assert!(moves > 4, "seed {seed}: {moves} moves");
    }
}

#[test]
fn a_guest_that_leaves_for_a_gateway_without_a_way_to_the_home_returns() {
    let mut site = Roaming::new(Setting::default());
    site.run(SECOND * 3, false);
    site.move_to(2);
    site.run(SECOND * 2, false);
    site.network.cut = vec![[HOME, 3]];
    site.move_to(3);
    site.run(SECOND * 8, false);
    assert!(has_given_up(&site));
    // The association with the former gateway has begun anew, and what was on its way was lost.
    let before = site.flows[0].came();
    for flow in &mut site.flows {
        flow.sent = flow.came();
    }
    site.run(SECOND * 2, false);
    assert!(site.flows[0].came() > before + 1_000);
    assert_eq!(site.serving(), "second");
}
