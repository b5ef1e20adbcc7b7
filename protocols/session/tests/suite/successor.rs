//! A gateway that replaces its key while sessions are in use.

use session::{Decline, DropCause, Event, OwnKeys, PeerError};
use units::{Duration, Instant};

use crate::common::{GATEWAY, MOBILE, World, private_key};

/// The next key of the gateway, while the former one is accepted.
fn both() -> OwnKeys {
    OwnKeys {
        key: private_key(7, "next gateway"),
        former: Some(private_key(7, "gateway")),
        ended: None,
    }
}

/// The next key alone.
fn next() -> OwnKeys {
    OwnKeys {
        former: None,
        ..both()
    }
}

/// The next key, with the former one at its end.
fn ended() -> OwnKeys {
    OwnKeys {
        ended: both().former,
        ..next()
    }
}

fn former_key_used(world: &World) -> usize {
    let is_used = |(_, event): &&(Instant, Event)| matches!(event, Event::FormerKeyUsed { .. });
    world.events[GATEWAY].iter().filter(is_used).count()
}

fn begun_anew(world: &World, host: usize) -> usize {
    let is_new = |(_, event): &&(Instant, Event)| {
        matches!(
            event,
            Event::Established {
                begins_anew: true,
                ..
            }
        )
    };
    world.events[host].iter().filter(is_new).count()
}

#[test]
fn an_initiator_that_knows_the_former_key_connects_and_is_announced() {
    let mut world = World::new(1);
    world.replace_keys(GATEWAY, both());
    world.connect();
    world.until_established();
    world.run_for(Duration::from_secs(1));
    assert_eq!(former_key_used(&world), 1);
    // Each renewal of the keys says so again.
    world.run_for(Duration::from_secs(130));
    assert_eq!(former_key_used(&world), 2);
}

#[test]
fn the_epoch_goes_on_under_the_next_key() {
    let mut world = World::new(2);
    world.connect();
    world.until_established();
    world.run_for(Duration::from_secs(1));
    let public = both().key.public_key();
    world.replace_keys(GATEWAY, both());
    let (now, gateway) = (world.clock.now, world.peers[MOBILE]);
    world.hosts[MOBILE]
        .replace_peer_key(now, gateway, public)
        .expect("another key");
    world.drain(MOBILE);
    // The former session carries data meanwhile, which ends no handshake with the next key.
    world.send(MOBILE, b"early").expect("a session");
    world.send(GATEWAY, b"answer").expect("a session");
    world.until_established();
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.established(GATEWAY), 2);
    world.run_for(Duration::from_secs(300));
    assert_eq!(world.delivered[GATEWAY], [b"early".to_vec()]);
    assert_eq!(
        (begun_anew(&world, MOBILE), begun_anew(&world, GATEWAY)),
        (1, 1)
    );
    assert_eq!(former_key_used(&world), 0);
    // At the end the former key is worth nothing.
    world.replace_keys(GATEWAY, next());
    world.run_for(Duration::from_secs(300));
    world.send(MOBILE, b"late").expect("a session");
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.delivered[GATEWAY].len(), 2);
}

#[test]
fn without_the_former_key_its_initiators_are_strangers() {
    let mut world = World::new(3);
    world.replace_keys(GATEWAY, next());
    world.connect();
    world.run_for(Duration::from_secs(10));
    let counters = world.hosts[GATEWAY].counters();
    assert!(counters.dropped(DropCause::BadMac) > 2);
    assert_eq!(world.sent.iter().filter(|(to, _)| *to == MOBILE).count(), 0);
}

#[test]
fn who_knows_only_an_ended_key_is_told_so_and_strangers_are_not() {
    let mut world = World::new(6);
    world.replace_keys(GATEWAY, ended());
    world.connect();
    world.run_for(Duration::from_secs(1));
    let told = |world: &World| {
        let is_told = |(_, event): &&(Instant, Event)| {
            let reason = Decline::GatewayKeyEnded;
            matches!(event, Event::Declined { reason: its, .. } if *its == reason)
        };
        world.events[MOBILE].iter().filter(is_told).count()
    };
    assert_eq!(told(&world), 1);
    assert_eq!(world.established(GATEWAY), 0);
    // It learns the key by another way.
    let (now, gateway) = (world.clock.now, world.peers[MOBILE]);
    let key = both().key.public_key();
    let replaced = world.hosts[MOBILE].replace_peer_key(now, gateway, key);
    replaced.expect("another key");
    world.drain(MOBILE);
    world.until_established();
    let mobile = world.peers[GATEWAY];
    // Another gateway does not know this mobile host.
    let mut world = World::new(7);
    world.replace_keys(GATEWAY, ended());
    world.hosts[GATEWAY]
        .remove_peer(mobile)
        .expect("it is known");
    world.connect();
    world.run_for(Duration::from_secs(1));
    assert_eq!(told(&world), 0);
    assert_eq!(world.sent.iter().filter(|(to, _)| *to == MOBILE).count(), 0);
}

/// Under load the cookie replies are for the key that the initiator knows.
#[test]
fn cookies_serve_those_who_know_the_former_key() {
    let limits = session::Limits {
        handshakes_per_second: 3,
        handshake_burst: 1,
        ..session::Limits::default()
    };
    let mut world = World::with_limits(4, limits);
    world.replace_keys(GATEWAY, both());
    world.connect();
    world.until_established();
    assert!(world.handshakes_sent(3) > 0, "no cookie was asked for");
}

#[test]
fn own_keys_and_those_of_other_peers_are_refused() {
    let mut world = World::new(5);
    let (now, gateway) = (world.clock.now, world.peers[MOBILE]);
    let own = world.hosts[MOBILE].public_key();
    let known = world.hosts[GATEWAY].public_key();
    let mobile = &mut world.hosts[MOBILE];
    assert_eq!(
        mobile.replace_peer_key(now, gateway, own),
        Err(PeerError::OwnKey)
    );
    assert_eq!(
        mobile.replace_peer_key(now, gateway, known),
        Err(PeerError::Duplicate)
    );
    let responder = &mut world.hosts[GATEWAY];
    responder.replace_keys(now, both());
    let mobile = world.peers[GATEWAY];
    assert!(responder.is_own_key(&private_key(7, "gateway").public_key()));
    let own = responder.public_key();
    assert_eq!(
        responder.replace_peer_key(now, mobile, own),
        Err(PeerError::OwnKey)
    );
}

/// The next key of the initiator, while its former one is accepted.
fn of_initiator() -> OwnKeys {
    OwnKeys {
        key: private_key(7, "next mobile"),
        former: Some(private_key(7, "mobile")),
        ended: None,
    }
}

/// Gateways of a site initiate, too. The other one may hear of the next key at once, late, or not until both start.
#[test]
fn an_initiator_is_known_by_its_former_key_until_the_responder_learns_the_next() {
    for (seed, learns_after) in [(8, 0), (9, 7), (10, 400)] {
        let mut world = World::new(seed);
        world.connect();
        world.until_established();
        world.run_for(Duration::from_secs(1));
        world.replace_keys(MOBILE, of_initiator());
        world.run_for(Duration::from_secs(learns_after));
        let (now, mobile) = (world.clock.now, world.peers[GATEWAY]);
        let key = of_initiator().key.public_key();
        let replaced = world.hosts[GATEWAY].replace_peer_key(now, mobile, key);
        replaced.expect("another key");
        // Beyond the next renewal, and then without the former key.
        world.run_for(Duration::from_secs(140));
        let alone = OwnKeys {
            former: None,
            ..of_initiator()
        };
        world.replace_keys(MOBILE, alone);
        world.run_for(Duration::from_secs(300));
        world.send(MOBILE, b"late").expect("a session");
        world.send(GATEWAY, b"answer").expect("a session");
        world.run_for(Duration::from_secs(1));
        assert_eq!(world.delivered.each_ref().map(Vec::len), [1, 1]);
        let begun = [MOBILE, GATEWAY].map(|host| begun_anew(&world, host));
        assert_eq!(begun, [1, 1], "after {learns_after} s");
        let is_used = |(_, event): &&(Instant, Event)| matches!(event, Event::FormerKeyUsed { .. });
        let used = world.events[MOBILE].iter().filter(is_used).count();
        assert_eq!(
            used > 0,
            learns_after > 0,
            "the host must vouch for the next"
        );
    }
}
