//! Hand-offs that a program announces to a mobile host.

use hosts::{EventKind, Input};
use units::{Duration, Probability};

use crate::site::is_whole;
use crate::support::MOBILE;
use crate::support::build::private_key;
use crate::support::roaming::{HOME, NAMES, Roaming, Setting};

const SECOND: Duration = Duration::from_secs(1);
const AHEAD: Duration = Duration::from_millis(500);

fn announced(within: Duration, gateway: Option<usize>) -> Input {
    let gateway = gateway.map(|index| private_key(NAMES[index]).public_key());
    Input::HandoffAnnounced { within, gateway }
}

/// Has the hop to the gateway that serves be lost for 5 s, half a second after that was announced, or not; returns the
/// longest time without a packet meanwhile.
fn stall(site: &mut Roaming, is_announced: bool) -> Duration {
    let at = site.serving_host().expect("a gateway");
    site.flows[0].stall = Duration::ZERO;
    if is_announced {
        site.input(MOBILE, announced(AHEAD, None));
    }
    site.run(AHEAD, false);
    site.network.more[at].1 = Probability::ALWAYS;
    site.run(SECOND * 5, false);
    site.network.more[at].1 = Probability::NEVER;
    site.run(SECOND, false);
    site.flows[0].stall
}

/// Each time it goes back to where it came from, as one that was to be lost is avoided only if there is another one.
#[test]
fn another_gateway_serves_before_the_hop_is_lost() {
    for wire in [1, 20] {
        let mut site = Roaming::new(Setting {
            wire: Duration::from_millis(wire),
            ..Setting::default()
        });
        site.network.cut.push([MOBILE, HOME + 2]);
        site.run(SECOND * 3, false);
        for _ in 0..6 {
            let stall = stall(&mut site, true);
            assert!(
                stall < Duration::from_millis(100),
                "{stall}: {:?}",
                site.events
            );
        }
        is_whole(&mut site);
        let unannounced = stall(&mut site, false);
        assert!(unannounced >= SECOND, "{unannounced}");
    }
}

/// Where each gateway has a radio of its own, only one of them may be about to lose its link.
#[test]
fn the_loss_of_another_hop_moves_nobody_there() {
    let mut site = Roaming::new(Setting::default());
    site.run(SECOND * 3, false);
    assert_eq!(site.serving(), NAMES[HOME]);
    for other in [HOME + 1, HOME + 2] {
        site.input(MOBILE, announced(AHEAD, Some(other)));
    }
    site.run(SECOND * 3, false);
    assert_eq!(site.serving(), NAMES[HOME]);
    let is_told = |(_, _, kind): &(_, _, EventKind)| kind.name() == "handoff-began";
    assert!(!site.events.iter().any(is_told), "{:?}", site.events);
    // They are avoided, but better than none.
    assert!(stall(&mut site, true) < Duration::from_millis(400));
    assert_ne!(site.serving(), NAMES[HOME]);
}

/// A gateway that cannot be reached has no part in it.
#[test]
fn where_no_other_gateway_answers_it_stays() {
    let mut site = Roaming::new(Setting::default());
    for other in [HOME + 1, HOME + 2] {
        site.network.cut.push([MOBILE, other]);
    }
    site.run(SECOND * 3, false);
    let before = site.serving();
    site.input(MOBILE, announced(Duration::ZERO, None));
    site.run(SECOND * 12, false);
    assert_eq!(site.serving(), before);
    // It does not ask for ever.
    let hops = site.network.hops;
    site.run(SECOND * 30, false);
    assert_eq!(site.network.hops[HOME + 1..], hops[HOME + 1..]);
    is_whole(&mut site);
    let has_failed = |(_, _, kind): &(_, _, EventKind)| *kind == EventKind::NotAttached;
    assert!(site.events.iter().any(has_failed), "{:?}", site.events);
}
