//! Tests of goodbyes: one ends a session at once; a forged or repeated one does nothing.

use session::{DropCause, Event, Received};
use units::Duration;

use crate::common::{GATEWAY, MOBILE, World};

const SECOND: Duration = Duration::from_secs(1);

/// Returns two hosts with a confirmed session and nothing on the air.
fn settled(seed: u64) -> World {
    let mut world = World::new(seed);
    world.connect();
    world.until_established();
    world.run_for(SECOND);
    world
}

/// Lets `host` leave, and returns its datagrams.
fn leave(world: &mut World, host: usize) -> Vec<Vec<u8>> {
    let before = world.sent.len();
    let (now, peer) = (world.clock.now, world.peers[host]);
    world.hosts[host].leave(now, peer).expect("a peer");
    world.drain(host);
    let said = world.sent[before..].iter();
    said.map(|(_, datagram)| datagram.clone()).collect()
}

fn is_linked(world: &World, host: usize) -> bool {
    world.hosts[host].expires_at(world.peers[host]).is_some()
}

fn departures(world: &World, host: usize) -> usize {
    let left = |(_, event): &&(_, Event)| matches!(event, Event::Left { .. });
    world.events[host].iter().filter(left).count()
}

#[test]
fn either_side_hears_that_the_other_leaves() {
    for (host, seed) in [(MOBILE, 1), (GATEWAY, 2)] {
        let mut world = settled(seed);
        leave(&mut world, host);
        assert!(!is_linked(&world, host));
        world.send(host, b"late").expect_err("no keys");
        world.run_for(Duration::from_millis(45));
        assert_eq!(departures(&world, 1 - host), 1);
    }
}

/// A gateway that comes back finds its mobile host initiating already.
#[test]
fn a_mobile_asks_anew_after_its_gateway_has_left() {
    let mut world = settled(3);
    leave(&mut world, GATEWAY);
    world.restart(GATEWAY);
    world.run_for(SECOND * 2);
    assert!(is_linked(&world, MOBILE) && is_linked(&world, GATEWAY));
    let fresh = |(_, event): &&(_, Event)| {
        matches!(
            event,
            Event::Established {
                begins_anew: true,
                ..
            }
        )
    };
    assert_eq!(world.events[MOBILE].iter().filter(fresh).count(), 2);
}

#[test]
fn a_goodbye_that_comes_again_does_nothing() {
    let mut world = settled(4);
    let said = leave(&mut world, MOBILE);
    assert_eq!(said.len(), 3);
    world.run_for(SECOND);
    // The same host connects again, which is a new epoch to both.
    world.connect();
    world.run_for(SECOND * 5);
    assert!(is_linked(&world, GATEWAY));
    for mut copy in said {
        let received = world.hosts[GATEWAY].handle_datagram(world.clock.now, &mut copy);
        assert_eq!(received, Received::Dropped(DropCause::UnknownIndex));
    }
    assert!(is_linked(&world, GATEWAY));
    assert_eq!(departures(&world, GATEWAY), 1);
    world.send(MOBILE, b"here again").expect("there are keys");
    world.run_for(SECOND);
    assert_eq!(world.delivered[GATEWAY], [b"here again".to_vec()]);
}

#[test]
fn a_forged_goodbye_does_nothing() {
    let mut world = settled(5);
    world.air.up = false;
    let said = leave(&mut world, MOBILE);
    for place in 0..said[0].len() {
        for bit in 0..8 {
            let mut forged = said[0].clone();
            forged[place] ^= 1 << bit;
            let received = world.hosts[GATEWAY].handle_datagram(world.clock.now, &mut forged);
            assert!(matches!(received, Received::Dropped(_)), "{received:?}");
        }
    }
    assert!(is_linked(&world, GATEWAY));
}

#[test]
fn where_no_goodbye_arrives_the_keys_expire() {
    let mut world = settled(6);
    world.air.up = false;
    leave(&mut world, MOBILE);
    world.run_for(SECOND * 100);
    assert!(is_linked(&world, GATEWAY));
    world.run_for(SECOND * 80);
    assert!(!is_linked(&world, GATEWAY));
    assert_eq!(departures(&world, GATEWAY), 0);
}

/// The next epoch's initiation overtakes the former one's goodbye.
#[test]
fn a_late_goodbye_does_not_end_the_next_life() {
    let mut world = settled(7);
    world.air.up = false;
    let said = leave(&mut world, MOBILE);
    world.air.up = true;
    world.restart(MOBILE);
    let (_, initiation) = world.sent.last().cloned().expect("an initiation");
    world.deliver(GATEWAY, initiation);
    world.deliver(GATEWAY, said[0].clone());
    assert_eq!(departures(&world, GATEWAY), 1);
    world.run_for(SECOND);
    assert!(is_linked(&world, GATEWAY));
    world.send(MOBILE, b"next").expect("there are keys");
    world.run_for(SECOND);
    assert_eq!(world.delivered[GATEWAY], [b"next".to_vec()]);
}
