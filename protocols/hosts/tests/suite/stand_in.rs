//! A mobile host whose home is silent: the gateway where it is stands in.

use hosts::{Decline, EventKind, GuestExits, Input, MobileTerms, SiteStatus};
use tcp::{Config, Control};
use units::{BitRate, Bytes, Duration, Instant, Probability};

use crate::support::build::private_key;
use crate::support::ends::Ends;
use crate::support::roaming::{HOME, NAMES, Roaming, Setting};
use crate::support::{MOBILE, WALL};

const SECOND: Duration = Duration::from_secs(1);
/// Gateways that relay for a home which is so near, and that serve if it is so far.
const NEAR: Duration = Duration::from_millis(1);
pub(crate) const FAR: Duration = Duration::from_millis(20);

/// Returns a site in this setting, whose gateways stand in for the home.
pub(crate) fn begun_with(setting: Setting) -> Roaming {
    let mut site = Roaming::new(Setting {
        is_told: true,
        ..setting
    });
    site.run(SECOND * 2, false);
    site
}

/// Returns a site in which the mobile host is at this gateway.
fn begun(wire: Duration, at: usize) -> Roaming {
    begun_at(at, wire, GuestExits::OfSilentHome)
}

fn begun_at(at: usize, wire: Duration, exits: GuestExits) -> Roaming {
    let mut site = begun_with(Setting {
        wire,
        exits,
        ..Setting::default()
    });
    if at != HOME {
        site.move_to(at);
        site.run(SECOND, false);
    }
    assert_eq!(site.serving(), NAMES[at]);
    site
}

/// The same on a site that translates no addresses.
fn begun_untranslated(wire: Duration, at: usize) -> Roaming {
    begun_at(at, wire, GuestExits::Untranslated)
}

/// Cuts a gateway off from all others, and from the mobile host.
pub(crate) fn cut_off(site: &mut Roaming, gateway: usize) {
    let others = (0..NAMES.len()).filter(|other| *other != gateway);
    site.network.cut = others.map(|other| [gateway, other]).collect();
}

/// Begins a download over a connection with this number.
pub(crate) fn download(site: &mut Roaming, number: u16) {
    let config = Config {
        timestamps: true,
        window_scaling: true,
        receive_buffer: Bytes::new(90_000),
        ..Config::kernel(Control::Cubic)
    };
    site.connect_now(Ends::numbered(&config, number));
}

/// Checks that the download has been going on for a second, and goes on.
pub(crate) fn goes_on(site: &mut Roaming) {
    site.run(SECOND, true);
    site.take_stall();
    site.run(SECOND, true);
    let stall = site.take_stall();
    assert!(stall < SECOND / 4, "{stall}: {:?}", site.events);
    assert!(site.is_connected());
}

/// Returns the time of the first event of this kind from a host.
fn time_of(site: &Roaming, of: usize, is_it: impl Fn(&EventKind) -> bool) -> Option<Instant> {
    let mut events = site.events.iter();
    let found = events.find(|(_, host, kind)| *host == of && is_it(kind));
    found.map(|(at, ..)| *at)
}

fn stands_in(kind: &EventKind) -> bool {
    *kind == EventKind::StandsIn
}

/// Wherever the mobile host was, and whether the gateways relay or serve.
#[test]
fn new_connections_work_three_seconds_after_the_home_has_died() {
    for (wire, at) in [(NEAR, HOME), (NEAR, 2), (FAR, HOME), (FAR, 2), (FAR, 3)] {
        let mut site = begun(wire, at);
        let died = site.now;
        cut_off(&mut site, HOME);
        site.run(SECOND * 6, false);
        let since = |of| time_of(&site, of, stands_in).map(|at| at.since(died));
        let waited = since(2).into_iter().chain(since(3)).min();
        assert!(
            waited.is_some_and(|waited| waited < SECOND * 3),
            "{wire} at {}: {waited:?}, {:?}",
            NAMES[at],
            site.events
        );
        download(&mut site, 1);
        goes_on(&mut site);
    }
}

/// A home that says goodbye is not waited for.
#[test]
fn a_home_that_is_stopped_is_silent_at_once() {
    for (wire, at) in [(NEAR, 2), (FAR, 2)] {
        let mut site = begun(wire, at);
        site.input(HOME, Input::Leave);
        cut_off(&mut site, HOME);
        site.run(SECOND * 4, true);
        download(&mut site, 1);
        goes_on(&mut site);
    }
}

/// One of two gateways relays for the other one, which dies.
#[test]
fn the_only_other_gateway_stands_in() {
    for (wire, at) in [(NEAR, HOME), (NEAR, 2), (FAR, HOME), (FAR, 2)] {
        let mut site = begun(wire, at);
        let key = private_key("third").public_key();
        for host in [MOBILE, HOME, 2] {
            site.input(host, Input::Revoke(key, Decline::Revoked));
        }
        site.run(SECOND, false);
        let died = site.now;
        cut_off(&mut site, HOME);
        site.run(SECOND * 8, false);
        let waited = time_of(&site, 2, stands_in).map(|at| at.since(died));
        assert!(
            waited.is_some_and(|waited| waited < SECOND * 4),
            "{wire} at {}: {waited:?}, {:?}",
            NAMES[at],
            site.events
        );
        download(&mut site, 1);
        goes_on(&mut site);
    }
}

/// Its connections from before go on as soon as a comparison has found that out, for which there must be traffic.
#[test]
fn a_gateway_that_reaches_the_home_is_better_than_one_that_stands_in() {
    let mut site = begun_with(Setting {
        wire: FAR,
        mobile: MobileTerms {
            compares_gateways: true,
            gathers_copies: true,
            ..MobileTerms::default()
        },
        ..Setting::default()
    });
    site.move_to(2);
    site.run(SECOND, false);
    site.input(MOBILE, Input::Compare);
    site.network.cut = vec![[HOME, 2]];
    site.run(SECOND * 5, false);
    assert!(time_of(&site, 2, stands_in).is_some());
    download(&mut site, 1);
    // It began at the gateway that stands in, and its acknowledgements leave at the home then.
    site.may_reset = true;
    site.run(SECOND * 60, true);
    assert_ne!(site.serving(), "second", "{:?}", site.events);
    for flow in &mut site.flows {
        flow.sent = flow.came();
    }
    let before = site.flows[0].came();
    site.run(SECOND, false);
    assert!(site.flows[0].came() > before + 100);
}

/// A mobile host that moves without need stays where its home answers.
#[test]
fn a_gateway_that_does_not_reach_the_home_takes_nobody_from_it() {
    let mut site = begun(FAR, HOME);
    site.network.cut = vec![[HOME, 2]];
    site.move_to(2);
    site.run(SECOND * 8, true);
    assert_eq!(site.serving(), "home");
    assert_eq!(time_of(&site, 2, stands_in), None);
    download(&mut site, 1);
    goes_on(&mut site);
}

/// A home that answers only now and then.
#[test]
fn a_home_that_answers_once_falls_silent_again() {
    for millis in [30, 200] {
        let mut site = begun(FAR, HOME);
        cut_off(&mut site, HOME);
        site.run(SECOND * 6, true);
        let cut = std::mem::take(&mut site.network.cut);
        site.run(Duration::from_millis(1_000 + millis), true);
        site.network.cut = cut;
        site.run(SECOND * 6, true);
        download(&mut site, 1);
        // Its first packet may be what shows that the home is silent, and TCP repeats it after 1 and 2 s.
        site.run(SECOND * 4, true);
        goes_on(&mut site);
    }
}

/// A mobile host goes from one gateway that stands in to another, and the first one does not hear of it.
#[test]
fn a_guest_that_has_gone_is_forgotten() {
    let mut site = begun(FAR, HOME);
    cut_off(&mut site, HOME);
    site.run(SECOND * 6, true);
    let first = (2..NAMES.len())
        .find(|by| site.asked.exits[*by])
        .expect("one");
    let next = 5 - first;
    site.network.cut.push([MOBILE, first]);
    download(&mut site, 1);
    site.run(SECOND * 6, true);
    assert_eq!(site.serving(), NAMES[next], "{:?}", site.events);
    site.network.cut = vec![[MOBILE, first]];
    site.run(SECOND * 10, true);
    assert_eq!(
        site.place_at(HOME),
        Some(SiteStatus::At(NAMES[next].into()))
    );
    // Its keys there expire, whatever the rate of the download.
    site.network.setting.rate = BitRate::from_kilobits(500);
    site.run(SECOND * 240, true);
    assert!(!site.asked.exits[first] && site.asked.exits[next]);
}

/// Back at a gateway that stood in for the home before, and that did not hear that it had gone.
#[test]
fn a_guest_that_comes_back_is_served_again() {
    let mut site = begun(FAR, 2);
    cut_off(&mut site, HOME);
    site.run(SECOND * 4, false);
    for (gone, next) in [(2, 3), (3, 2), (2, 3)] {
        cut_off(&mut site, HOME);
        site.network.cut.push([MOBILE, gone]);
        download(&mut site, gone as u16);
        site.run(SECOND * 8, true);
        assert_eq!(site.serving(), NAMES[next], "{:?}", site.events);
        download(&mut site, 10 + gone as u16);
        goes_on(&mut site);
    }
    site.network.cut.clear();
    site.run(SECOND * 8, true);
    assert_eq!(site.place_at(HOME), Some(SiteStatus::At("third".into())));
    download(&mut site, 20);
    goes_on(&mut site);
}

/// Nor if the mobile host reaches no other one.
#[test]
fn a_gateway_that_the_home_has_revoked_does_not_stand_in() {
    let mut site = begun(FAR, 2);
    site.network.cut = vec![[MOBILE, HOME], [MOBILE, 3]];
    let key = private_key("second").public_key();
    site.input(HOME, Input::Revoke(key, Decline::Revoked));
    download(&mut site, 1);
    site.run(SECOND * 20, false);
    assert_eq!(time_of(&site, 2, stands_in), None);
}

/// A home ends its session with a gateway that it revokes, as one does that is stopped.
#[test]
fn a_gateway_that_the_home_has_revoked_keeps_no_guests() {
    let mut site = begun(FAR, 2);
    let key = private_key("second").public_key();
    site.input(HOME, Input::Revoke(key, Decline::Revoked));
    site.run(SECOND * 5, false);
    assert_ne!(site.serving(), "second", "{:?}", site.events);
}

/// The home knows of an earlier life of a mobile host, which had a later clock.
#[test]
fn a_mobile_host_whose_clock_went_back_is_known_to_its_home_again() {
    let mut site = begun(FAR, 2);
    cut_off(&mut site, HOME);
    site.run(SECOND * 6, true);
    site.network.cut.push([MOBILE, 2]);
    site.run(SECOND * 6, true);
    site.network.cut.pop();
    // It begins at its home, which is silent, and knows the others by its configuration.
    site.network.setting.is_told = false;
    site.restart_mobile(WALL - 3_600_000_000_000);
    site.run(SECOND * 12, true);
    download(&mut site, 1);
    goes_on(&mut site);
    site.network.cut.clear();
    site.run(SECOND * 10, true);
    goes_on(&mut site);
    assert_eq!(site.place_at(HOME), Some(SiteStatus::At(site.serving())));
    download(&mut site, 2);
    goes_on(&mut site);
}

#[test]
fn a_connection_stays_where_it_began_when_the_home_is_back() {
    for (restarts, wire) in [(false, FAR), (true, NEAR)] {
        let mut site = begun(wire, HOME);
        cut_off(&mut site, HOME);
        site.run(SECOND * 6, true);
        download(&mut site, 1);
        goes_on(&mut site);
        site.network.cut.clear();
        if restarts {
            site.restart(HOME, WALL + 20_000_000_000, None);
        }
        site.run(SECOND * 5, true);
        goes_on(&mut site);
        let by = (2..NAMES.len())
            .find(|by| site.asked.exits[*by])
            .expect("one");
        assert_eq!(site.place_at(HOME), Some(SiteStatus::At(NAMES[by].into())));
        // Wherever the mobile host goes then: the home knows of it.
        site.move_to(HOME);
        site.run(SECOND, true);
        goes_on(&mut site);
        assert_eq!(site.exit(), Some(by));
        // New ones leave at the home again.
        download(&mut site, 2);
        goes_on(&mut site);
        assert_eq!(site.exit(), Some(HOME));
        site.move_to(by);
        site.run(SECOND, true);
        goes_on(&mut site);
        download(&mut site, 3);
        goes_on(&mut site);
        assert_eq!(site.exit(), Some(HOME));
    }
}

/// The segments of a connection that began at its home wait for it.
#[test]
fn a_connection_from_before_goes_on_when_the_home_is_back() {
    for (wire, at) in [(NEAR, 2), (FAR, HOME)] {
        let mut site = begun(wire, at);
        download(&mut site, 1);
        goes_on(&mut site);
        cut_off(&mut site, HOME);
        site.run(SECOND * 8, true);
        site.network.cut.clear();
        site.run(SECOND * 15, true);
        goes_on(&mut site);
    }
}

/// Nobody translates addresses: a connection from before goes on wherever its packets come in, and the home has it
/// again when it is back.
#[test]
fn untranslated_connections_go_on_by_the_gateway_that_stands_in() {
    for (wire, at) in [(NEAR, HOME), (NEAR, 2), (FAR, HOME), (FAR, 2), (FAR, 3)] {
        for restarts in [false, true] {
            let mut site = begun_untranslated(wire, at);
            download(&mut site, 1);
            goes_on(&mut site);
            cut_off(&mut site, HOME);
            site.run(SECOND * 6, true);
            goes_on(&mut site);
            let by = site.exit();
            assert_eq!(by, site.serving_host(), "{:?}", site.events);
            assert_ne!(by, Some(HOME));
            site.network.cut.clear();
            if restarts {
                site.restart(HOME, WALL + 20_000_000_000, None);
            }
            site.run(SECOND * 6, true);
            goes_on(&mut site);
            assert_eq!(site.exit(), Some(HOME));
            assert_eq!(site.asked.exits, [false; NAMES.len()]);
        }
    }
}

/// The home lives, but the gateways do not hear each other; and then one datagram of five comes through to the home.
#[test]
fn untranslated_connections_are_where_the_mobile_host_is_while_gateways_are_cut_off() {
    for seed in 0..8 {
        let (returns, at) = (seed % 4 == 0, 2 + seed as usize % 2);
        let mut site = begun_with(Setting {
            seed,
            wire: FAR,
            exits: GuestExits::Untranslated,
            ..Setting::default()
        });
        site.move_to(at);
        site.run(SECOND, false);
        download(&mut site, 1);
        goes_on(&mut site);
        site.network.cut = vec![[HOME, 2], [HOME, 3], [2, 3]];
        site.run(SECOND * 6, true);
        goes_on(&mut site);
        assert_eq!(site.exit(), Some(at));
        if returns {
            site.move_to(HOME);
            site.run(SECOND * 3, true);
            goes_on(&mut site);
            assert_eq!(site.exit(), Some(HOME));
        }
        site.network.cut.clear();
        site.network.wires[HOME].1 = Probability::ratio(4, 5);
        site.run(SECOND, true);
        site.network.wires[HOME].1 = Probability::NEVER;
        site.run(SECOND * 6, true);
        goes_on(&mut site);
        assert_eq!(site.exit(), Some(HOME));
    }
}

/// From one gateway that stands in to the next.
#[test]
fn untranslated_connections_go_on_wherever_the_mobile_host_goes() {
    for wire in [NEAR, FAR] {
        let mut site = begun_untranslated(wire, HOME);
        download(&mut site, 1);
        cut_off(&mut site, HOME);
        site.run(SECOND * 6, true);
        for _ in 0..2 {
            let gone = site.exit().expect("one");
            cut_off(&mut site, HOME);
            site.network.cut.push([MOBILE, gone]);
            site.run(SECOND * 6, true);
            goes_on(&mut site);
            assert_eq!(site.exit(), Some(5 - gone));
        }
        site.network.cut.clear();
        site.run(SECOND * 10, true);
        goes_on(&mut site);
        assert_eq!(site.exit(), Some(HOME));
    }
}

/// Those that start again know what they were told before.
#[test]
fn hosts_that_start_while_the_home_is_silent_go_on_without_it() {
    for who in [&[MOBILE][..], &[2, 3], &[2, 3, MOBILE]] {
        for wire in [NEAR, FAR] {
            let mut site = begun(wire, HOME);
            cut_off(&mut site, HOME);
            site.run(SECOND * 4, true);
            for host in who {
                site.restart(*host, WALL + 20_000_000_000, None);
            }
            site.run(SECOND * 8, false);
            download(&mut site, 1);
            goes_on(&mut site);
            site.network.cut.clear();
            site.run(SECOND * 15, true);
            goes_on(&mut site);
            assert_eq!(site.place_at(HOME), Some(SiteStatus::At(site.serving())));
        }
    }
}
