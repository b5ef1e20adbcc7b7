//! A gateway's list of its mobile hosts: who is here, who has left, who has fallen silent; and how a gateway is found
//! on a link.

use hosts::{EventKind, Input, Registration, Told};
use units::{Bytes, Duration};

use crate::support::build::private_key;
use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);

fn pair() -> Pair {
    let mut pair = Pair::new("l2-clean", 5);
    assert_eq!(pair.status(GATEWAY).registration, Registration::Unknown);
    pair.add(Traffic::bulk(1));
    pair.run_for(SECOND * 5);
    pair
}

fn times(pair: &Pair, host: usize, wanted: &EventKind) -> usize {
    let is_it = |(_, at, kind): &&(_, usize, EventKind)| *at == host && kind == wanted;
    pair.events.iter().filter(is_it).count()
}

#[test]
fn a_mobile_is_registered_while_it_is_heard() {
    let mut pair = pair();
    // Through a renewal of the keys.
    pair.run_for(SECOND * 130);
    let Registration::Registered {
        lasted,
        heard,
        expires_in,
    } = pair.status(GATEWAY).registration
    else {
        panic!("{:?}", pair.status(GATEWAY).registration);
    };
    assert!(lasted > SECOND * 134 && lasted < SECOND * 135, "{lasted}");
    assert!(heard < SECOND, "{heard}");
    assert!(
        expires_in > SECOND * 160 && expires_in <= SECOND * 180,
        "{expires_in}"
    );
}

#[test]
fn a_mobile_that_leaves_takes_nothing_more() {
    let mut pair = pair();
    assert!(pair.status(GATEWAY).hop.queued > Bytes::ZERO);
    pair.stop();
    pair.input(MOBILE, Input::Leave);
    let goodbye: Vec<_> = pair.recent.iter().rev().take(3).cloned().collect();
    pair.run_for(SECOND);
    let status = pair.status(GATEWAY);
    assert!(matches!(status.registration, Registration::Left { ago } if ago > SECOND / 2));
    assert_eq!((status.endpoint, status.keys_age), (None, None));
    assert_eq!(
        (status.hop.queued, status.hop.held),
        (Bytes::ZERO, Bytes::ZERO)
    );
    assert_eq!(times(&pair, GATEWAY, &EventKind::Left), 1);

    // The next life begins anew, and what its former one said last does not count any more.
    pair.restart(MOBILE);
    pair.run_for(SECOND * 5);
    let from = pair.address(MOBILE);
    for (to, datagram) in &goodbye {
        assert_eq!(*to, GATEWAY);
        pair.inject(GATEWAY, from, datagram);
    }
    assert_eq!(times(&pair, GATEWAY, &EventKind::Left), 1);
    pair.add(Traffic::bulk(2));
    pair.run_for(SECOND * 5);
    assert!(pair.received(2).payload > 9_000_000);
    let state = pair.status(GATEWAY).registration;
    assert!(
        matches!(state, Registration::Registered { .. }),
        "{state:?}"
    );
}

#[test]
fn a_mobile_that_falls_silent_expires() {
    let mut pair = pair();
    pair.stop();
    pair.blackout = pair.now..pair.now + SECOND * 400;
    pair.run_for(SECOND * 300);
    let state = pair.status(GATEWAY).registration;
    assert!(matches!(state, Registration::Expired { .. }), "{state:?}");
    assert_eq!(times(&pair, GATEWAY, &EventKind::Left), 0);
}

#[test]
fn a_gateway_that_leaves_is_asked_for_anew() {
    let mut pair = pair();
    pair.input(GATEWAY, Input::Leave);
    pair.run_for(Duration::from_millis(50));
    assert_eq!(times(&pair, MOBILE, &EventKind::Left), 1);
    pair.restart(GATEWAY);
    pair.run_for(SECOND * 3);
    assert!(pair.status(MOBILE).keys_age.is_some());
}

/// Its other gateways were revoked while it was off, and its home, which has started again, has no site any more.
#[test]
fn a_mobile_host_that_was_told_of_gateways_is_served_by_one_that_is_alone() {
    let keys = ["gateway", "west"].map(|name| private_key(name).public_key());
    let text = format!(
        r#"[{{"teller": "{}", "peers": [{{"key": "{}", "gateway":
            {{"name": "west", "at": "203.0.113.9:5000", "for_mobiles": null}}}}]}}]"#,
        keys[0], keys[1]
    );
    let told: Vec<Told> = serde_json::from_str(&text).expect("what was told");
    let mut pair = Pair::new("l2-clean", 5);
    pair.input(MOBILE, Input::Told(told));
    assert_eq!(pair.hosts[MOBILE].status(pair.now).peers.len(), 2);
    pair.add(Traffic::bulk(1));
    pair.run_for(SECOND * 5);
    let present = pair.hosts[MOBILE].status(pair.now).peers;
    assert_eq!(present.len(), 1, "{:?}", pair.events);
    assert!(pair.received(1).payload > 1_000_000, "{:?}", pair.events);
}
