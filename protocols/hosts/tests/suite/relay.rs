//! A mobile host whose home remains the other end of its hop: other gateways of the site relay.

use hosts::{Decline, EventKind, Input, MobileTerms, SiteStatus, TcpMethod};
use machine::RandomStream;
use tcp::{Config, Control};
use units::{Bytes, Duration, Probability};

use crate::site::{attachments, is_whole};
use crate::support::build::private_key;
use crate::support::ends::Ends;
use crate::support::roaming::{HOME, NAMES, Roaming, Setting, Tcp};
use crate::support::{MOBILE, WALL};

const SECOND: Duration = Duration::from_secs(1);

/// Returns a site in this setting in which all are told.
fn begun(setting: Setting) -> Roaming {
    let mut site = Roaming::new(Setting {
        is_told: true,
        ..setting
    });
    site.run(SECOND, true);
    site
}

/// Makes a connection that the link layer does not repair, with a download without end.
fn download(site: &mut Roaming) {
    let config = Config {
        timestamps: true,
        window_scaling: true,
        // Less than fills the queue: a drop there would be a stall of its own.
        receive_buffer: Bytes::new(90_000),
        ..Config::kernel(Control::Cubic)
    };
    site.connect(Ends::new(&config));
    site.run(SECOND * 3, true);
}

/// A gateway that is gone has lost what was on its way, and nothing shows it: the sender's window is full.
#[test]
fn snoop_finds_at_once_what_a_gateway_that_is_gone_has_lost() {
    for wire in [1, 10, 40].map(Duration::from_millis) {
        let setting = Setting {
            wire,
            tcp: Tcp::Whole(TcpMethod::Snoop),
            ..Setting::default()
        };
        // Keys with the next gateway, an answer of the home, the probe of the agent, and its repair.
        let most = (setting.delay + wire) * 2 * 3 + setting.delay * 2 + Duration::from_millis(10);
        let mut site = begun(setting);
        download(&mut site);
        for (from, to) in [(HOME, 2), (2, 3), (3, 2), (2, 3)] {
            site.take_stall();
            if from != HOME {
                site.network.cut = [MOBILE, HOME, to].map(|other| [from, other]).to_vec();
            }
            site.move_to(to);
            site.run(SECOND * 4, true);
            let stall = site.take_stall();
            assert!(
                from == HOME || stall < most,
                "{wire}, to {}: {stall}",
                NAMES[to]
            );
            assert_eq!(site.serving(), NAMES[to], "{:?}", site.events);
            site.network.cut.clear();
            site.run(SECOND, true);
        }
        assert!(site.is_connected());
    }
}

#[test]
fn tcp_without_repair_by_the_link_moves_without_a_stall() {
    for tcp in [TcpMethod::Snoop, TcpMethod::Plain] {
        let setting = Setting {
            tcp: Tcp::Whole(tcp),
            ..Setting::default()
        };
        // What is on its way by the former path comes as late as by the longer one.
        let most = setting.wire * 2 + Duration::from_millis(2);
        let mut site = begun(setting);
        download(&mut site);
        for to in [2, 3, HOME, 3, 2, HOME] {
            site.take_stall();
            site.move_to(to);
            site.run(SECOND * 2, true);
            let stall = site.take_stall();
            assert!(stall < most, "{tcp:?} to {}: {stall}", NAMES[to]);
            assert_eq!(site.serving(), NAMES[to], "{:?}", site.events);
        }
        assert!(site.is_connected());
    }
}

#[test]
fn a_connection_is_as_fast_by_way_of_another_gateway() {
    for tcp in [TcpMethod::Snoop, TcpMethod::Plain] {
        let mut site = begun(Setting {
            tcp: Tcp::Whole(tcp),
            // So little that the window suffices by way of either.
            wire: Duration::from_millis(1),
            ..Setting::default()
        });
        download(&mut site);
        let mut read = |to| {
            site.move_to(to);
            site.run(SECOND, true);
            let before = site.read();
            site.run(SECOND * 4, true);
            site.read() - before
        };
        let (relayed, direct) = (read(2), read(HOME));
        let share = relayed as f64 / direct as f64;
        assert!(share > 0.97, "{tcp:?}: {share:.3} of {direct}");
    }
}

#[test]
fn split_tcp_moves_without_a_stall() {
    let mut site = begun(Setting {
        tcp: Tcp::Split,
        ..Setting::default()
    });
    site.download_split(1);
    site.run(SECOND * 3, true);
    for to in [2, 3, HOME, 3, 2, HOME] {
        site.take_stall();
        site.move_to(to);
        site.run(SECOND * 2, true);
        let stall = site.take_stall();
        assert!(stall < SECOND / 10, "to {}: {stall}", NAMES[to]);
        assert_eq!(site.serving(), NAMES[to], "{:?}", site.events);
    }
    assert!(site.is_connected());
    assert!(site.read() > 20_000_000, "{}", site.read());
}

/// Another process takes the place of the home's, while the mobile host is there and by way of another gateway; for a
/// moment nobody answers.
#[test]
fn split_tcp_goes_on_with_the_next_process_of_its_home() {
    let mut site = begun(Setting {
        tcp: Tcp::Split,
        ..Setting::default()
    });
    site.download_split(1);
    site.run(SECOND * 3, true);
    for (to, pause) in [
        (HOME, 0),
        (HOME, 300),
        (2, 0),
        (2, 300),
        (3, 1_500),
        (HOME, 0),
    ] {
        site.move_to(to);
        site.run(SECOND * 2, true);
        site.take_stall();
        let before = site.read();
        site.succeed_home();
        let others = [MOBILE, 2, 3].map(|host| [HOME, host]);
        site.network.cut = others.to_vec();
        site.run(Duration::from_millis(pause), true);
        site.network.cut.clear();
        site.run(SECOND * 6, true);
        let stall = site.take_stall();
        println!("at {} without a home for {pause} ms: {stall}", NAMES[to]);
        assert!(site.is_connected(), "{:?}", site.events);
        let most = SECOND + Duration::from_millis(pause) * 2;
        assert!(stall < most, "{stall}\n{:?}", site.events);
        assert!(site.read() > before + 8_000_000, "{:?}", site.events);
    }
}

/// A repair takes little longer from a home that is near, and much longer from one that is far.
#[test]
fn a_gateway_relays_if_the_home_is_near_and_serves_otherwise() {
    for (wire, relays) in [(0, true), (2, true), (4, false), (40, false)] {
        let mut site = begun(Setting {
            wire: Duration::from_millis(wire),
            ..Setting::default()
        });
        site.run(SECOND * 2, false);
        for to in [2, 3, HOME, 3, HOME, 2] {
            site.move_to(to);
            site.run(SECOND, false);
            assert_eq!(site.serving(), NAMES[to], "{:?}", site.events);
        }
        let relayed =
            |(_, _, kind): &(_, usize, EventKind)| matches!(kind, EventKind::Relays { .. });
        assert_eq!(site.events.iter().any(relayed), relays, "{wire} ms");
        is_whole(&mut site);
    }
}

/// The first part of a way is relayed, and the next one is not.
#[test]
fn a_gateway_serves_after_another_one_has_relayed() {
    let mut site = begun(Setting {
        wire: Duration::from_millis(1),
        ..Setting::default()
    });
    site.run(SECOND * 2, false);
    for (to, wire) in [
        (2, 1),
        (3, 20),
        (HOME, 20),
        (2, 20),
        (HOME, 1),
        (2, 1),
        (3, 1),
    ] {
        site.network.setting.wire = Duration::from_millis(wire);
        site.run(SECOND, false);
        site.move_to(to);
        site.run(SECOND, false);
        assert_eq!(site.serving(), NAMES[to], "{:?}", site.events);
    }
    is_whole(&mut site);
}

#[test]
fn nothing_is_lost_repeated_or_reordered_by_many_moves() {
    for seed in 0..8 {
        let mut random = RandomStream::named(seed, "moves");
        let mut site = begun(Setting {
            seed,
            is_secret: true,
            loss: Probability::ratio(random.below(10), 100),
            wire: Duration::from_millis(random.below(40)),
            delay: Duration::from_millis(1 + random.below(60)),
            ..Setting::default()
        });
        // The first messages may be lost, too.
        site.run(SECOND * 6, true);
        let before = attachments(&site);
        for _ in 0..20 {
            site.move_to(1 + random.below(3) as usize);
            site.run(Duration::from_millis(random.below(1_500)), false);
        }
        is_whole(&mut site);
        let moves = attachments(&site) - before;
        assert!(moves > 4, "seed {seed}: {moves} moves");
    }
}

/// What is on its way is lost with the gateway that relays; nothing else is.
#[test]
fn another_gateway_relays_when_one_has_died() {
    let mut site = begun(Setting {
        is_secret: true,
        ..Setting::default()
    });
    site.run(SECOND * 2, false);
    site.move_to(2);
    site.run(SECOND, false);
    site.network.cut = vec![[MOBILE, 2], [HOME, 2], [3, 2]];
    site.flows[0].stall = Duration::ZERO;
    site.run(SECOND * 5, false);
    assert_ne!(site.serving(), "second");
    assert!(site.flows[0].stall < SECOND * 3, "{}", site.flows[0].stall);
    is_whole(&mut site);
}

#[test]
fn a_relay_that_is_drained_is_left() {
    let mut site = begun(Setting {
        is_secret: true,
        ..Setting::default()
    });
    site.move_to(2);
    site.run(SECOND, false);
    assert_eq!(site.place_at(2), Some(SiteStatus::Relays));
    assert_eq!(site.place_at(HOME), Some(SiteStatus::At("second".into())));
    site.input(2, Input::Drain(true));
    site.run(SECOND, false);
    assert_ne!(site.serving(), "second");
    assert_eq!(site.place_at(2), Some(SiteStatus::Elsewhere));
    is_whole(&mut site);
}

/// A gateway that relays is no part of what two hosts say to each other.
#[test]
fn a_relay_that_is_revoked_is_left_by_both() {
    for by in [MOBILE, HOME] {
        let mut site = begun(Setting {
            is_secret: true,
            ..Setting::default()
        });
        site.move_to(2);
        site.run(SECOND, false);
        let key = private_key("second").public_key();
        site.input(by, Input::Revoke(key, Decline::Revoked));
        site.run(SECOND * 5, false);
        assert_ne!(site.serving(), "second", "{:?}", site.events);
        is_whole(&mut site);
    }
}

/// Neither the next one nor the home: neither in a trial nor while the next gateway is asked to serve.
#[test]
fn a_gateway_can_be_revoked_in_the_middle_of_a_move() {
    for (name, wire) in [("second", 1), ("home", 1), ("second", 20), ("home", 20)] {
        for pause in [5, 25, 50, 70, 400] {
            let mut site = begun(Setting {
                wire: Duration::from_millis(wire),
                ..Setting::default()
            });
            site.network.cut = vec![[HOME, 2]];
            site.move_to(2);
            site.run(Duration::from_millis(pause), false);
            let key = private_key(name).public_key();
            site.input(MOBILE, Input::Revoke(key, Decline::Revoked));
            site.run(SECOND * 8, false);
            assert!(!site.peers_of(MOBILE).contains(&name.into()));
            if name == "second" {
                assert_eq!(site.peers_of(MOBILE), ["home", "third"]);
            }
        }
    }
}

#[test]
fn a_mobile_host_and_a_home_that_start_again_find_each_other_behind_a_relay() {
    for who in [MOBILE, HOME, 2] {
        let mut site = begun(Setting {
            is_secret: true,
            ..Setting::default()
        });
        site.move_to(2);
        site.run(SECOND, false);
        site.restart(who, WALL + 3_000_000_000, None);
        site.run(SECOND * 15, false);
        assert!(went_on(&mut site), "{:?}", site.events);
    }
}

/// A NAT forgets what is not used, so an idle mobile host uses its binding for the gateway that relays.
#[test]
fn an_idle_mobile_host_keeps_its_binding_for_the_relay() {
    let mut site = begun(Setting {
        is_secret: true,
        mobile: MobileTerms {
            keepalive: true,
            ..MobileTerms::default()
        },
        ..Setting::default()
    });
    site.move_to(2);
    site.run(SECOND, false);
    for _ in 0..20 {
        site.run(SECOND * 30, true);
        let idle = site.now.since(site.network.hops[2].sent);
        assert!(idle < SECOND * 120, "{idle}");
    }
    assert_eq!(site.serving(), "second");
    is_whole(&mut site);
}

/// The home learns of the end by way of the gateway that relays.
#[test]
fn a_mobile_host_that_ends_says_so_by_way_of_the_relay() {
    let mut site = begun(Setting {
        is_secret: true,
        ..Setting::default()
    });
    site.move_to(2);
    site.run(SECOND, false);
    site.input(MOBILE, Input::Leave);
    site.run(SECOND, true);
    for gateway in [HOME, 2] {
        let left =
            |(_, host, kind): &(_, usize, EventKind)| (*host, kind) == (gateway, &EventKind::Left);
        assert!(site.events.iter().any(left), "{gateway}: {:?}", site.events);
    }
}

/// Returns true if both flows go on, after losses.
fn went_on(site: &mut Roaming) -> bool {
    let before = site.flows.each_mut().map(|flow| {
        flow.sent = flow.came();
        flow.came()
    });
    site.run(SECOND, false);
    let both = site.flows.iter().zip(before);
    both.into_iter()
        .all(|(flow, before)| flow.came() > before + 50)
}
