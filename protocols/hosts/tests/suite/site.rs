//! A mobile host that moves between the gateways of a site.

use hosts::{Decline, EventKind, Input};
use tcp::{Config, Control};
use units::{Bytes, Duration, Probability};

use crate::support::build::private_key;
use crate::support::ends::Ends;
use crate::support::roaming::{HOME, Roaming, Setting};
use crate::support::{MOBILE, WALL};

const SECOND: Duration = Duration::from_secs(1);

/// Checks that both flows have come whole, once and in order.
pub(crate) fn is_whole(site: &mut Roaming) {
    site.run(SECOND * 3, true);
    for (number, flow) in site.flows.iter().enumerate() {
        let received = &flow.received;
        assert!(
            received.in_order && flow.came() == flow.sent,
            "flow {number}: {} of {}, in order: {}; {:?}",
            flow.came(),
            flow.sent,
            received.in_order,
            site.events
        );
    }
}

/// Returns the number of times that the mobile host attached to a gateway.
pub(crate) fn attachments(site: &Roaming) -> usize {
    let attached = |(_, host, kind): &&(_, usize, EventKind)| {
        let is_attached = matches!(kind, EventKind::Attached { .. } | EventKind::Relays { .. });
        *host == MOBILE && is_attached
    };
    site.events.iter().filter(attached).count()
}

#[test]
fn without_a_move_the_home_serves() {
    let mut site = Roaming::new(Setting::default());
    site.run(SECOND * 5, false);
    assert!(site.flows[0].sent > 3_000);
    is_whole(&mut site);
    assert_eq!(attachments(&site), 1);
}

#[test]
fn a_move_stalls_a_flow_for_a_round_trip_of_the_hop_and_one_between_gateways() {
    for percent in [0, 5] {
        let setting = Setting {
            loss: Probability::ratio(percent, 100),
            ..Setting::default()
        };
        let mut site = Roaming::new(setting);
        site.run(SECOND * 3, false);
        let mut from = HOME;
        for (number, to) in [2, 3, 2, HOME, 3].into_iter().enumerate() {
            site.flows[0].stall = Duration::ZERO;
            site.move_to(to);
            site.run(SECOND * 2, false);
            assert_eq!(attachments(&site), 2 + number);
            let most = (setting.delay + setting.wire) * 2 + Duration::from_millis(2);
            let stall = site.flows[0].stall;
            assert!(
                percent > 0 || stall <= most,
                "{from} to {to}: {stall}, not {most}"
            );
            from = to;
        }
        is_whole(&mut site);
    }
}

/// Returns true if the mobile host has given up an attachment.
pub(crate) fn has_given_up(site: &Roaming) -> bool {
    let given_up = |(_, host, kind): &(_, usize, EventKind)| {
        *host == MOBILE && *kind == EventKind::NotAttached
    };
    site.events.iter().any(given_up)
}

#[test]
fn a_gateway_that_is_out_of_reach_disturbs_nothing() {
    let mut site = Roaming::new(Setting::default());
    site.network.cut = vec![[MOBILE, 2]];
    site.run(SECOND * 3, false);
    site.flows[0].stall = Duration::ZERO;
    site.move_to(2);
    site.run(SECOND * 7, false);
    assert!(has_given_up(&site));
    assert!(site.flows[0].stall < Duration::from_millis(5));
    site.move_to(3);
    site.run(SECOND, false);
    is_whole(&mut site);
    assert_eq!(attachments(&site), 2);
}

#[test]
fn a_gateway_that_does_not_reach_the_home_is_given_up() {
    let mut site = Roaming::new(Setting::default());
    site.run(SECOND * 3, false);
    site.network.cut = vec![[HOME, 2]];
    site.move_to(2);
    site.run(SECOND * 8, false);
    assert!(has_given_up(&site));
    // Both associations with the home have begun anew, and something was lost with the former ones.
    let before = site.flows[0].came();
    site.flows
        .iter_mut()
        .for_each(|flow| flow.sent = flow.came());
    site.run(SECOND, false);
    assert!(site.flows[0].came() > before + 800);
}

#[test]
fn a_gateway_that_reaches_the_home_later_serves() {
    for outage in [1, 3] {
        let mut site = Roaming::new(Setting::default());
        site.run(SECOND * 3, false);
        site.network.cut = vec![[HOME, 2]];
        site.move_to(2);
        site.run(SECOND * outage, false);
        site.network.cut.clear();
        site.run(SECOND * 4, false);
        assert_eq!(attachments(&site), 2);
        is_whole(&mut site);
    }
}

#[test]
fn a_mobile_host_whose_clock_went_back_is_served() {
    for last in [HOME, 2] {
        let mut site = Roaming::new(Setting::default());
        site.run(SECOND * 3, false);
        site.move_to(3);
        site.run(SECOND, false);
        site.move_to(last);
        site.run(SECOND, false);
        let before = attachments(&site);
        site.restart_mobile(WALL - 3_600_000_000_000);
        site.run(SECOND * 3, true);
        assert_eq!(attachments(&site), before + 1, "{:?}", site.events);
        site.move_to(3);
        site.run(SECOND * 2, true);
        assert_eq!(attachments(&site), before + 2, "{:?}", site.events);
    }
}

#[test]
fn another_gateway_serves_when_one_has_died() {
    let mut site = Roaming::new(Setting::default());
    site.run(SECOND * 2, false);
    site.move_to(2);
    site.run(SECOND, false);
    assert_eq!(attachments(&site), 2);
    site.network.cut = vec![[MOBILE, 2], [HOME, 2], [2, 3]];
    for flow in &mut site.flows {
        flow.stall = Duration::ZERO;
    }
    site.run(SECOND * 6, false);
    assert_eq!(attachments(&site), 3, "{:?}", site.events);
    let stall = site.flows[0].stall;
    assert!(stall <= SECOND * 3, "{stall}");
    // Nothing is waited for from the dead one, once the next one is asked.
    let last = site
        .events
        .iter()
        .rev()
        .find_map(|(_, _, kind)| match kind {
            EventKind::Attached { lasted, .. } => Some(*lasted),
            _ => None,
        });
    assert!(last.is_some_and(|lasted| lasted < SECOND / 5), "{last:?}");
    // It comes back, knows nothing of that, and serves again when it is asked to.
    site.network.cut = Vec::new();
    site.move_to(2);
    site.run(SECOND * 2, false);
    assert_eq!(attachments(&site), 4, "{:?}", site.events);
}

/// A home that has forgotten where its mobile host is learns it from the gateway there, also if messages are lost.
#[test]
fn a_home_that_starts_again_goes_on_with_its_guest() {
    for loss in [Duration::ZERO, SECOND * 2] {
        let mut site = Roaming::new(Setting::default());
        site.run(SECOND, false);
        site.move_to(2);
        site.run(SECOND, false);
        site.restart(HOME, WALL + 10_000_000_000, None);
        site.run(SECOND, true);
        site.network.cut = vec![[HOME, 2]];
        site.run(loss, true);
        site.network.cut.clear();
        site.run(SECOND * 10, true);
        goes_on(&mut site, "after a restart");
        assert_eq!(site.serving(), "second");
        // And the next move has nothing to wait for.
        site.flows[0].stall = Duration::ZERO;
        site.move_to(3);
        site.run(SECOND, false);
        assert!(
            site.flows[0].stall < Duration::from_millis(100),
            "{}",
            site.flows[0].stall
        );
    }
}

/// A home that is stopped learns all at once where its mobile host has been meanwhile.
#[test]
fn a_home_that_was_stopped_goes_on_where_its_mobile_host_is() {
    for millis in [3_000, 6_000, 7_000, 11_000] {
        let mut site = Roaming::new(Setting::default());
        site.run(SECOND * 2, false);
        let until = site.now + Duration::from_millis(millis);
        site.network.stopped = Some((HOME, until));
        site.run(Duration::from_millis(millis), false);
        site.network.stopped = None;
        site.run(SECOND * 8, false);
        goes_on(&mut site, &format!("after {millis} ms"));
    }
}

/// Checks that more than 100 segments of each flow come in a second, after losses.
pub(crate) fn goes_on(site: &mut Roaming, case: &str) {
    for flow in &mut site.flows {
        flow.sent = flow.came();
    }
    let before = [0, 1].map(|flow: usize| site.flows[flow].came());
    site.run(SECOND, false);
    let came = [0, 1].map(|flow| site.flows[flow].came() - before[flow]);
    assert!(
        came.iter().all(|segments| *segments > 100),
        "{case}: {came:?}, {:?}",
        site.events
    );
}

/// At rest, and while it moves from there to its home or to a third gateway.
#[test]
fn a_mobile_host_whose_gateway_is_revoked_returns_home() {
    for to in [None, Some(HOME), Some(3)] {
        for pause in [5, 25, 50, 70] {
            let mut site = Roaming::new(Setting::default());
            site.run(SECOND * 2, false);
            site.move_to(2);
            site.run(SECOND * 2, false);
            assert_eq!(site.serving(), "second");
            if let Some(to) = to {
                site.move_to(to);
            }
            site.run(Duration::from_millis(pause), false);
            let key = private_key("second").public_key();
            site.input(MOBILE, Input::Revoke(key, Decline::Revoked));
            site.run(SECOND * 3, false);
            goes_on(&mut site, &format!("to {to:?}, after {pause} ms"));
        }
    }
}

#[test]
fn a_short_silence_moves_nobody_and_a_long_one_ends() {
    for (millis, most) in [(1_000, 1), (20_000, 5)] {
        let mut site = Roaming::new(Setting::default());
        site.run(SECOND * 2, false);
        site.network.cut = vec![[MOBILE, HOME], [MOBILE, 2], [MOBILE, 3]];
        site.run(Duration::from_millis(millis), false);
        site.network.cut = Vec::new();
        let before = site.flows[0].came();
        site.run(SECOND * 5, false);
        assert!(site.flows[0].came() > before + 1_000);
        let attached = attachments(&site);
        assert!(attached <= most, "{attached}: {:?}", site.events);
    }
}

#[test]
fn a_gateway_that_claims_a_mobile_host_without_its_proof_gets_nothing() {
    let mut site = Roaming::new(Setting::default());
    site.without_proofs();
    site.run(SECOND * 2, false);
    assert_eq!(attachments(&site), 1, "the home needs no proof");
    for _ in 0..3 {
        site.move_to(2);
        site.run(SECOND * 6, false);
    }
    assert_eq!(
        attachments(&site),
        4,
        "each time it is at its home again: {:?}",
        site.events
    );
    let claimed = |(_, host, kind): &&(_, usize, EventKind)| {
        *host == HOME && matches!(kind, EventKind::ClaimedWithoutProof { .. })
    };
    assert_eq!(site.events.iter().filter(claimed).count(), 1);
    // What was under way to the mobile host when it gave up does not come: a sender would repeat it.
    site.flows[0].sent = site.flows[0].came();
    let before = site.flows[0].sent;
    site.run(SECOND, false);
    assert!(site.flows[0].came() > before + 500);
}

#[test]
fn a_number_that_the_home_has_not_proven_changes_nothing() {
    let mut site = Roaming::new(Setting::default());
    site.usurp(2);
    site.run(SECOND * 2, true);
    site.move_to(2);
    site.run(SECOND * 2, true);
    // The next life begins earlier, so the usurper tells it to count on from the number that it knows.
    site.restart_mobile(WALL - 3_600_000_000_000);
    site.run(SECOND * 2, true);
    let before = attachments(&site);
    site.move_to(2);
    site.run(SECOND * 6, true);
    assert!(has_given_up(&site), "{:?}", site.events);
    site.move_to(3);
    site.run(SECOND * 2, true);
    // It was at its home again in between.
    assert_eq!(attachments(&site), before + 2, "{:?}", site.events);
}

/// A sender that fills the hop's queue has hundreds of packets there when its receiver moves.
#[test]
fn a_full_queue_moves_without_a_loss() {
    for (micros, segments) in [(50, 1), (5_000, 1), (50, 40), (5_000, 40)] {
        let setting = Setting {
            wire: Duration::from_micros(micros),
            window: 250,
            ..Setting::default()
        };
        let mut site = Roaming::new(setting);
        site.segments = segments;
        site.run(SECOND * 3, false);
        for to in [3, HOME, 2, 3, HOME, 2, HOME] {
            site.flows[0].stall = Duration::ZERO;
            site.move_to(to);
            site.run(SECOND * 2, false);
            let stall = site.flows[0].stall;
            // The first long packets between two gateways find out how much the wire carries.
            assert!(
                segments > 1 || stall < Duration::from_millis(42),
                "to {to}: {stall}"
            );
        }
        is_whole(&mut site);
    }
}

/// The queues of gateways tell a sender to slow down by a loss now and then, but not because its receiver moves.
#[test]
fn a_download_of_tcp_stalls_no_longer_than_another_flow() {
    let setting = Setting {
        queue: Duration::from_millis(60),
        ..Setting::default()
    };
    let mut site = Roaming::new(setting);
    site.run(SECOND, true);
    let config = Config {
        timestamps: true,
        window_scaling: true,
        ..Config::kernel(Control::Cubic)
    };
    site.connect(Ends::new(&config));
    site.run(SECOND * 2, true);
    let mut to = HOME;
    for _ in 0..18 {
        site.run(SECOND, true);
        // A loss from before the move is repaired before it.
        while site.take_stall() > Duration::from_millis(30) {
            site.run(Duration::from_millis(300), true);
        }
        to = to % 3 + 1;
        site.move_to(to);
        site.run(SECOND, true);
        let stall = site.take_stall();
        assert!(stall < Duration::from_millis(42), "to {to}: {stall}");
    }
    assert_eq!(attachments(&site), 19);
}

/// What the mobile host had sent by a gateway that is lost with its queue goes on by the next one: the sender learns
/// what has come, and sends the rest.
#[test]
fn a_download_goes_on_soon_after_its_gateway_is_lost() {
    let setting = Setting {
        wire: Duration::from_millis(10),
        ..Setting::default()
    };
    let mut site = Roaming::new(setting);
    site.run(SECOND, true);
    site.connect_now(Ends::new(&Config {
        timestamps: true,
        window_scaling: true,
        receive_buffer: Bytes::new(150_000),
        ..Config::kernel(Control::Cubic)
    }));
    site.run(SECOND * 2, true);
    // The home waits for so long for what the former gateway still has.
    let patience = Duration::from_millis(300);
    let most = patience + (setting.delay + setting.wire) * 2 * 4;
    site.move_to(2);
    site.run(SECOND * 2, true);
    for (lost, next) in [(2, 3), (3, 2), (2, 3)] {
        site.take_stall();
        site.network.cut = vec![[lost, MOBILE], [lost, HOME], [lost, next]];
        site.move_to(next);
        site.run(SECOND * 2, true);
        let stall = site.take_stall();
        assert!(stall < most, "{lost} to {next}: {stall}");
        site.network.cut.clear();
        site.run(SECOND * 5, true);
    }
    assert!(site.is_connected());
}

#[test]
fn a_gateway_that_is_drained_is_left_for_one_that_is_not() {
    let mut site = Roaming::new(Setting::default());
    site.run(SECOND * 2, false);
    for (drained, next) in [(HOME, "second"), (2, "third"), (3, "third")] {
        site.flows[0].stall = Duration::ZERO;
        site.input(drained, Input::Drain(true));
        site.run(SECOND * 5, false);
        assert_eq!(site.serving(), next);
        assert!(site.flows[0].stall < Duration::from_millis(42));
    }
    // One that is drained no more is chosen again, when those that are have not asked for a while.
    site.input(HOME, Input::Drain(false));
    site.run(SECOND * 70, true);
    assert_eq!(site.serving(), "home");
    is_whole(&mut site);
}

#[test]
fn a_drained_gateway_serves_until_another_one_answers() {
    let mut site = Roaming::new(Setting::default());
    site.run(SECOND * 2, false);
    site.network.cut = vec![[MOBILE, 2]];
    site.input(HOME, Input::Drain(true));
    site.flows[0].stall = Duration::ZERO;
    site.run(SECOND * 5, false);
    assert_eq!(site.serving(), "home");
    site.run(SECOND * 5, false);
    assert_eq!(site.serving(), "third", "{:?}", site.events);
    assert!(site.flows[0].stall < Duration::from_millis(42));
    is_whole(&mut site);
}

/// A gateway that falls silent is left for one that is drained if there is no other.
#[test]
fn a_drained_gateway_is_better_than_none() {
    let mut site = Roaming::new(Setting::default());
    site.run(SECOND * 2, false);
    site.input(HOME, Input::Drain(true));
    site.run(SECOND * 3, false);
    assert_eq!(site.serving(), "second");
    site.network.cut = vec![[MOBILE, 2], [MOBILE, 3]];
    site.run(SECOND * 8, false);
    assert_eq!(site.serving(), "home", "{:?}", site.events);
}

/// Programs are told of a move as of a hand-off, and whether they have lost anything.
#[test]
fn a_move_is_announced_with_what_it_keeps() {
    let mut site = Roaming::new(Setting::default());
    site.run(SECOND * 2, false);
    site.move_to(2);
    site.run(SECOND, false);
    site.network.cut = vec![[MOBILE, 2], [HOME, 2], [2, 3]];
    site.run(SECOND * 6, false);
    let told = site.events.iter().filter(|(_, host, _)| *host == MOBILE);
    let told = told.filter_map(|(_, _, kind)| match kind {
        EventKind::MoveBegan => Some("began"),
        EventKind::Attached { kept: true, .. } => Some("kept"),
        EventKind::Attached { kept: false, .. } => Some("lost"),
        _ => None,
    });
    let told: Vec<_> = told.collect();
    assert_eq!(told, ["kept", "began", "kept", "began", "lost"]);
}
