//! What a mobile host says while it is not connected, and why.

use hosts::{Circumstance, Decline, EventKind, Input, OwnKeys, Trouble, TroubleCode};
use units::Duration;

use crate::support::{GATEWAY, MOBILE, Pair, Traffic, build};

const SECOND: Duration = Duration::from_secs(1);

fn connected() -> Pair {
    let mut pair = Pair::new("l2-clean", 7);
    pair.run_for(SECOND * 2);
    assert_eq!(pair.status(MOBILE).trouble, None);
    pair
}

fn code(pair: &Pair) -> Option<TroubleCode> {
    pair.status(MOBILE).trouble.map(|trouble| trouble.code)
}

/// Returns the troubles in the log of the mobile host.
fn logged(pair: &Pair) -> Vec<TroubleCode> {
    let events = pair.events.iter();
    let troubles = events.filter_map(|(_, host, kind)| match kind {
        EventKind::Trouble(trouble) => {
            assert_eq!(*host, MOBILE);
            Some(trouble.code)
        }
        _ => None,
    });
    troubles.collect()
}

fn revoke(pair: &mut Pair, reason: Decline) {
    let mobile = build::private_key("mobile").public_key();
    pair.input(GATEWAY, Input::Revoke(mobile, reason));
}

#[test]
fn a_revoked_host_says_so_at_once_and_once() {
    for (reason, expected) in [
        (Decline::Revoked, TroubleCode::Revoked),
        (Decline::Replaced, TroubleCode::Replaced),
    ] {
        let mut pair = connected();
        revoke(&mut pair, reason);
        pair.run_for(SECOND * 2);
        assert_eq!(code(&pair), Some(expected));
        pair.run_for(SECOND * 120);
        assert_eq!(code(&pair), Some(expected));
        assert_eq!(logged(&pair), [expected]);
    }
}

#[test]
fn who_was_away_while_the_gateways_former_key_was_accepted_is_told() {
    let mut pair = connected();
    pair.blackout = pair.now..pair.now + SECOND * 300;
    let keys = |is_accepted: bool| {
        let former = || build::private_key("gateway");
        Input::Keys(Box::new(OwnKeys {
            key: build::private_key("next"),
            former: is_accepted.then(former),
            ended: (!is_accepted).then(former),
        }))
    };
    pair.input(GATEWAY, keys(true));
    pair.run_for(SECOND * 200);
    pair.input(GATEWAY, keys(false));
    pair.run_for(SECOND * 150);
    assert_eq!(code(&pair), Some(TroubleCode::GatewayKeyEnded));
    let ended = logged(&pair);
    let ended = ended
        .iter()
        .filter(|code| **code == TroubleCode::GatewayKeyEnded);
    assert_eq!(ended.count(), 1);
}

#[test]
fn silence_is_told_after_five_seconds_and_once() {
    let mut pair = Pair::new("l2-clean", 7);
    pair.blackout = pair.now..pair.now + SECOND * 600;
    pair.run_for(SECOND * 4);
    assert_eq!(code(&pair), None);
    pair.run_for(SECOND * 4);
    let trouble = pair.status(MOBILE).trouble.expect("trouble");
    assert_eq!(trouble.code, TroubleCode::Silent);
    assert!(trouble.words.contains("10.0.0.1:5000"), "{}", trouble.words);
    pair.run_for(SECOND * 500);
    assert_eq!(logged(&pair), [TroubleCode::Silent]);
    // It is over when the gateway answers, and a later one is told again.
    pair.run_for(SECOND * 110);
    assert_eq!(code(&pair), None);
    pair.blackout = pair.now..pair.now + SECOND * 600;
    pair.run_for(SECOND * 20);
    assert_eq!(code(&pair), None, "a fade is no trouble");
    pair.run_for(SECOND * 300);
    assert_eq!(code(&pair), Some(TroubleCode::Silent));
    assert_eq!(logged(&pair), [TroubleCode::Silent; 2]);
}

#[test]
fn a_closed_port_and_a_missing_route_are_told_from_silence() {
    let mut pair = Pair::new("l2-clean", 7);
    pair.blackout = pair.now..pair.now + SECOND * 600;
    let gateway = pair.address(GATEWAY);
    pair.run_for(SECOND * 8);
    pair.input(MOBILE, Input::PortRefused(gateway));
    assert_eq!(code(&pair), Some(TroubleCode::PortRefused));
    pair.input(MOBILE, Input::Unreachable(gateway));
    assert_eq!(code(&pair), Some(TroubleCode::NoRoute));
    let all = [
        TroubleCode::Silent,
        TroubleCode::PortRefused,
        TroubleCode::NoRoute,
    ];
    assert_eq!(logged(&pair), all);
}

#[test]
fn what_the_driver_notices_is_told_until_it_is_over() {
    let mut pair = connected();
    let clash = || Some("10.9.0.0/24 is reached by wlan0".to_owned());
    pair.input(
        MOBILE,
        Input::Circumstance(Circumstance::AddressClash, clash()),
    );
    pair.input(
        MOBILE,
        Input::Circumstance(Circumstance::AddressClash, clash()),
    );
    let trouble = pair.status(MOBILE).trouble.expect("trouble");
    let Trouble { code: told, words } = trouble;
    assert_eq!(told, TroubleCode::AddressClash);
    assert!(words.contains("wlan0"), "{words}");
    pair.input(
        MOBILE,
        Input::Circumstance(Circumstance::AddressClash, None),
    );
    assert_eq!(code(&pair), None);
    assert_eq!(logged(&pair), [TroubleCode::AddressClash]);
}

#[test]
fn the_gateway_tells_which_source_it_drops() {
    let mut pair = connected();
    let mut traffic = Traffic::upload(1);
    let mut send = |pair: &mut Pair, source: [u8; 4]| {
        let mut packet = traffic.full_packet();
        packet.rewrite(|bytes| bytes[12..16].copy_from_slice(&source));
        pair.input(MOBILE, Input::Packet(packet));
        pair.run_for(SECOND);
    };
    // A host uses link-local sources without being told to.
    send(&mut pair, [169, 254, 1, 1]);
    assert_eq!(code(&pair), None);
    for _ in 0..3 {
        send(&mut pair, [192, 168, 1, 5]);
    }
    let trouble = pair.status(MOBILE).trouble.expect("trouble");
    assert_eq!(trouble.code, TroubleCode::ForeignSource);
    assert!(trouble.words.contains("192.168.1.5"), "{}", trouble.words);
    assert_eq!(pair.status(GATEWAY).packets_refused, 4);
    assert_eq!(pair.status(GATEWAY).trouble, None);
    pair.run_for(SECOND * 100);
    assert_eq!(code(&pair), None, "it sends no more of them");
    assert_eq!(logged(&pair), [TroubleCode::ForeignSource]);
}

#[test]
fn a_clock_that_cannot_be_right_is_told_last() {
    let mut pair = Pair::new("l2-clean", 7);
    pair.restart_with_clock(MOBILE, 1_000_000_000);
    pair.run_for(SECOND * 3);
    assert_eq!(code(&pair), Some(TroubleCode::Clock));
    assert!(pair.status(MOBILE).keys_age.is_some(), "it connects");
    revoke(&mut pair, Decline::Revoked);
    pair.run_for(SECOND * 3);
    let trouble = pair.status(MOBILE).trouble.expect("trouble");
    assert_eq!(trouble.code, TroubleCode::Revoked);
    assert!(
        trouble.words.contains("The two clocks differ by"),
        "{}",
        trouble.words
    );
}
