//! A mobile host that compares the gateways of its site, and moves to a better one.

use hosts::{Decline, EventKind, Input, MobileTerms};
use machine::RandomStream;
use tcp::{Config, Control};
use units::{BitRate, Bytes, Duration, Probability};

use crate::site::{attachments, is_whole};
use crate::support::MOBILE;
use crate::support::build::private_key;
use crate::support::ends::Ends;
use crate::support::roaming::{HOME, NAMES, Roaming, Setting};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// Returns a site in which the mobile host compares, with hops that have this delay beside the usual one and lose so
/// many datagrams of a hundred, to the home and to the two others.
fn site(setting: Setting, hops: [(u64, u64); 3]) -> Roaming {
    let mut site = Roaming::new(Setting {
        mobile: MobileTerms {
            compares_gateways: true,
            gathers_copies: true,
            ..MobileTerms::default()
        },
        ..setting
    });
    change(&mut site, hops);
    site
}

fn change(site: &mut Roaming, hops: [(u64, u64); 3]) {
    for (more, (millis, percent)) in site.network.more[HOME..].iter_mut().zip(hops) {
        *more = (
            Duration::from_millis(millis),
            Probability::ratio(percent, 100),
        );
    }
}

/// Returns the names of the gateways to which the mobile host has moved by a comparison.
fn chosen(site: &Roaming) -> usize {
    let is_better =
        |(_, host, kind): &&(_, usize, EventKind)| *host == MOBILE && kind.name() == "better";
    site.events.iter().filter(is_better).count()
}

/// Lets so little traffic flow that a long time takes a test no time.
fn call(site: &mut Roaming) {
    for flow in &mut site.flows {
        flow.slow_down(Duration::from_millis(200));
    }
}

#[test]
fn a_gateway_with_a_shorter_way_to_the_home_is_chosen() {
    for setting in [Setting::default(), told()] {
        let mut site = site(setting, [(60, 0), (0, 0), (60, 0)]);
        call(&mut site);
        site.run(SECOND * 60, false);
        assert_eq!(site.serving(), "second", "{:?}", site.events);
        assert_eq!(chosen(&site), 1);
        // Now the home is nearer, and the mobile host returns.
        change(&mut site, [(0, 0), (60, 0), (60, 0)]);
        site.run(SECOND * 120, false);
        assert_eq!(site.serving(), "home", "{:?}", site.events);
        assert_eq!(chosen(&site), 2);
        is_whole(&mut site);
    }
}

/// A site in which all are told, and gateways relay: the home remains the other end of the hop.
fn told() -> Setting {
    Setting {
        is_told: true,
        is_secret: true,
        ..Setting::default()
    }
}

#[test]
fn a_gateway_that_loses_much_is_left() {
    for setting in [Setting::default(), told()] {
        let mut site = site(setting, [(0, 25), (60, 0), (0, 0)]);
        call(&mut site);
        site.run(MINUTE * 10, false);
        assert_eq!(site.serving(), "third", "{:?}", site.events);
        is_whole(&mut site);
    }
}

/// Has the processor of the gateway that serves busy with something else for nine tenths of the time, until another one
/// serves; returns how long that takes.
fn leaves_busy(site: &mut Roaming) -> Duration {
    let host = site.serving_host().expect("a host");
    let (begun, moves) = (site.now, attachments(site));
    while attachments(site) == moves && site.now < begun + MINUTE {
        site.network.stopped = Some((host, site.now + Duration::from_millis(90)));
        site.run(Duration::from_millis(90), false);
        site.network.stopped = None;
        site.run(Duration::from_millis(10), false);
        site.input(host, Input::Overloaded);
    }
    site.now.since(begun)
}

#[test]
fn an_overloaded_gateway_is_left_soon() {
    for setting in [Setting::default(), told()] {
        let mut site = site(setting, [(60, 0), (0, 0), (0, 0)]);
        call(&mut site);
        // So long that comparisons are rare.
        site.run(MINUTE * 8, false);
        let busy = site.serving();
        assert_ne!(busy, "home", "{:?}", site.events);
        let time = leaves_busy(&mut site);
        assert!(time < SECOND * 30, "{time}: {:?}", site.events);
        site.run(MINUTE, false);
        assert_ne!(site.serving(), busy, "{:?}", site.events);
        is_whole(&mut site);
    }
}

/// Whoever came would make it worse, and leave again.
#[test]
fn nobody_comes_to_an_overloaded_gateway() {
    for setting in [Setting::default(), told()] {
        let mut site = site(setting, [(60, 0), (0, 0), (90, 0)]);
        call(&mut site);
        for _ in 0..60 * 5 {
            site.input(2, Input::Overloaded);
            site.run(SECOND, false);
        }
        assert_eq!(site.serving(), "home", "{:?}", site.events);
        site.run(MINUTE * 5, false);
        assert_eq!(site.serving(), "second", "{:?}", site.events);
        is_whole(&mut site);
    }
}

/// One that says so without being late is not left, nor is one that the user has chosen.
#[test]
fn a_gateway_is_not_left_only_because_it_says_that_it_is_overloaded() {
    let mut site = site(told(), [(60, 0), (0, 0), (0, 0)]);
    call(&mut site);
    site.run(MINUTE * 2, false);
    let moves = attachments(&site);
    let host = site.serving_host().expect("a host");
    for _ in 0..60 {
        site.input(host, Input::Overloaded);
        site.run(SECOND, false);
    }
    assert_eq!(attachments(&site), moves, "{:?}", site.events);
    site.move_to(2);
    site.run(SECOND * 2, false);
    assert!(leaves_busy(&mut site) >= MINUTE, "{:?}", site.events);
}

/// The hop to a gateway is short, but what counts is the way to the home.
#[test]
fn a_gateway_that_is_far_from_the_home_is_not_chosen() {
    let setting = Setting {
        wire: Duration::from_millis(50),
        ..Setting::default()
    };
    let mut site = site(setting, [(20, 0), (0, 0), (0, 0)]);
    call(&mut site);
    site.run(MINUTE * 10, false);
    assert_eq!(chosen(&site), 0, "{:?}", site.events);
    // The status has what was measured, through a hop of 20 ms and a wire of 100 ms.
    let [home, second] = ["home", "second"].map(|name| {
        let compared = site.compared(name).expect("a comparison");
        assert!(compared.probes >= 8 && compared.lost == 0 && compared.ago < MINUTE * 5);
        compared.round_trip.expect("an answer").as_millis()
    });
    assert!((55..75).contains(&home), "{home} ms");
    assert!((118..140).contains(&second), "{second} ms");
}

/// Neither losses at random nor the queue of a download make one of two equal gateways better.
#[test]
fn among_equals_it_stays() {
    for percent in [0, 10, 30] {
        for seed in 0..2 {
            let setting = Setting {
                seed,
                wire: Duration::ZERO,
                ..Setting::default()
            };
            let mut site = site(setting, [(10, percent); 3]);
            call(&mut site);
            site.run(MINUTE * 20, false);
            assert_eq!(chosen(&site), 0, "{percent} %, seed {seed}");
        }
    }
}

/// Begins a download without end.
fn download(site: &mut Roaming, control: Control) {
    site.connect(Ends::new(&Config {
        timestamps: true,
        window_scaling: true,
        receive_buffer: Bytes::mebi(4),
        ..Config::kernel(control)
    }));
}

#[test]
fn the_queue_of_a_download_makes_no_other_gateway_better() {
    for (megabits, tcp, minutes) in [
        (20, Control::Cubic, 1),
        (2, Control::Cubic, 5),
        (2, Control::Reno, 5),
    ] {
        let setting = Setting {
            wire: Duration::ZERO,
            rate: BitRate::from_megabits(megabits),
            queue: Duration::from_millis(300),
            ..Setting::default()
        };
        let mut site = site(setting, [(10, 0); 3]);
        download(&mut site, tcp);
        site.run(MINUTE * minutes, true);
        assert!(site.is_connected());
        assert_eq!(chosen(&site), 0, "{megabits} Mbit/s: {:?}", site.events);
    }
}

/// The rate of all hops changes every two seconds, up to 20 times, while a download fills the one in use.
#[test]
fn a_rate_that_changes_makes_no_other_gateway_better() {
    let setting = Setting {
        wire: Duration::ZERO,
        queue: Duration::from_millis(300),
        ..Setting::default()
    };
    let mut site = site(setting, [(20, 0); 3]);
    download(&mut site, Control::Cubic);
    let mut random = RandomStream::named(1, "rates");
    for _ in 0..75 {
        site.network.setting.rate = BitRate::from_megabits(1 + random.below(20));
        site.run(SECOND * 2, true);
    }
    assert!(site.is_connected());
    assert_eq!(chosen(&site), 0, "{:?}", site.events);
}

/// What the user has chosen holds while it answers, or until the user has the gateways compared again.
#[test]
fn a_move_that_the_user_has_asked_for_holds() {
    let mut site = site(Setting::default(), [(60, 0), (0, 0), (60, 0)]);
    call(&mut site);
    site.run(SECOND * 2, false);
    site.move_to(3);
    site.run(MINUTE * 10, false);
    assert_eq!(site.serving(), "third", "{:?}", site.events);
    site.input(MOBILE, Input::Compare);
    site.run(SECOND * 30, false);
    assert_eq!(site.serving(), "second", "{:?}", site.events);
    site.move_to(HOME);
    site.run(MINUTE, false);
    assert_eq!(site.serving(), "home", "{:?}", site.events);
    // The gateway does not answer any more.
    site.network.cut = vec![[MOBILE, HOME]];
    site.run(MINUTE, false);
    site.network.cut.clear();
    change(&mut site, [(0, 0), (60, 0), (60, 0)]);
    site.run(MINUTE * 3, false);
    assert_eq!(site.serving(), "home", "{:?}", site.events);
}

/// The user names the gateway that serves already, while another one seems better.
#[test]
fn a_choice_ends_the_present_comparison() {
    // It has no keys yet, or has sent some pairs.
    for millis in (10_205..10_300).step_by(10).chain([12_000, 14_000]) {
        let mut site = site(Setting::default(), [(60, 0), (0, 0), (60, 0)]);
        call(&mut site);
        site.run(Duration::from_millis(millis), false);
        assert_eq!(chosen(&site), 0, "{:?}", site.events);
        site.move_to(HOME);
        site.run(MINUTE, false);
        assert_eq!(site.serving(), "home", "{millis}: {:?}", site.events);
    }
}

#[test]
fn a_choice_ends_with_its_gateway() {
    let mut site = site(Setting::default(), [(60, 0), (0, 0), (0, 0)]);
    call(&mut site);
    site.run(SECOND * 2, false);
    site.move_to(3);
    site.run(MINUTE, false);
    let key = private_key("third").public_key();
    site.input(MOBILE, Input::Revoke(key, Decline::Revoked));
    site.run(MINUTE * 3, false);
    assert_eq!(site.serving(), "second", "{:?}", site.events);
}

#[test]
fn an_idle_mobile_host_measures_nothing_and_a_busy_one_little() {
    let mut site = site(Setting::default(), [(0, 0); 3]);
    site.run(SECOND * 2, true);
    let before = site.network.hops;
    site.run(MINUTE * 10, true);
    assert_eq!(site.network.hops[2..], before[2..], "it is idle");
    call(&mut site);
    site.network.hops = Default::default();
    site.run(MINUTE * 60, false);
    let others = site.network.hops[2].bytes + site.network.hops[3].bytes;
    let rate = others * 8 / (60 * 60);
    assert!((1..=150).contains(&rate), "{rate} bit/s");
    assert_eq!(chosen(&site), 0);
    assert_eq!(attachments(&site), 1);
}

#[test]
fn a_gateway_that_does_not_answer_or_is_drained_is_not_chosen() {
    let mut site = site(Setting::default(), [(60, 0), (0, 0), (0, 0)]);
    call(&mut site);
    site.network.cut = vec![[MOBILE, 2]];
    site.input(3, Input::Drain(true));
    site.run(MINUTE * 10, false);
    assert_eq!(chosen(&site), 0, "{:?}", site.events);
    // Nor is one that does not reach the home.
    site.network.cut = vec![[HOME, 2]];
    site.run(MINUTE * 10, false);
    assert_eq!(chosen(&site), 0, "{:?}", site.events);
    site.input(3, Input::Drain(false));
    site.run(MINUTE * 5, false);
    assert_eq!(site.serving(), "third", "{:?}", site.events);
    is_whole(&mut site);
}

/// Where the better gateway changes all the time, the mobile host does not follow it all the time.
#[test]
fn moves_become_rare_where_the_better_gateway_changes_all_the_time() {
    let mut site = site(Setting::default(), [(0, 0); 3]);
    call(&mut site);
    for turn in 0..120 {
        let far = if turn % 2 == 0 { 60 } else { 0 };
        change(&mut site, [(far, 0), (60 - far, 0), (60, 0)]);
        site.run(SECOND * 30, false);
    }
    let moves = chosen(&site);
    assert!((2..=14).contains(&moves), "{moves} moves in an hour");
    is_whole(&mut site);
}

/// A gateway that serves a mobile host, or relays for it, logs once that it has come, and once that it has left.
#[test]
fn a_gateway_logs_once_who_comes_and_who_leaves() {
    for millis in [0, 20] {
        let mut site = Roaming::new(Setting {
            wire: Duration::from_millis(millis),
            ..Setting::default()
        });
        site.run(SECOND * 3, false);
        for to in [3, HOME] {
            let before = site.events.len();
            site.move_to(to);
            site.run(SECOND * 3, false);
            let of_third = site.events[before..].iter().filter(|event| event.1 == 3);
            let logged: Vec<_> = of_third.map(|(_, _, kind)| kind.name()).collect();
            let expected = if to == 3 { "established" } else { "left" };
            assert_eq!(logged, [expected], "{millis} ms, to {}", NAMES[to]);
        }
    }
}

/// Gateways log who comes to be served, and not who only compares.
#[test]
fn a_comparison_is_no_news_for_the_other_gateway() {
    let mut site = site(Setting::default(), [(0, 0); 3]);
    call(&mut site);
    site.run(MINUTE * 10, false);
    let news = |gateway: usize| site.events.iter().filter(move |event| event.1 == gateway);
    let of_mobile = |kind: &EventKind| matches!(kind, EventKind::Left | EventKind::Expired);
    for gateway in [2, 3] {
        let noisy: Vec<_> = news(gateway).filter(|event| of_mobile(&event.2)).collect();
        assert!(noisy.is_empty(), "{noisy:?}");
    }
}
