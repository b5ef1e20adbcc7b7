//! Retries that a link's changes cause, and the end of keys.

use session::Event;
use units::{Duration, Instant};

use crate::common::{GATEWAY, MOBILE, World};

/// The first byte of an initiation.
const INITIATION: u8 = 1;

/// A link that comes up again and again costs the air no more than an initiation in a tenth of a second.
#[test]
fn a_link_that_flaps_causes_ten_initiations_a_second_at_most() {
    let mut world = World::new(31);
    world.air.up = false;
    world.connect();
    assert_eq!(world.handshakes_sent(INITIATION), 1);
    for _ in 0..1_000 {
        world.run_for(Duration::from_millis(1));
        let (now, peer) = (world.clock.now, world.peers[MOBILE]);
        world.hosts[MOBILE]
            .retry_now(now, peer)
            .expect("an initiator");
        world.drain(MOBILE);
    }
    let sent = world.handshakes_sent(INITIATION);
    assert!((9..=11).contains(&sent), "{sent} initiations");
}

/// A lost initiation delays the next keys by some round trips, and not by a second, if these are known. A long silence
/// costs little all the same.
#[test]
fn retries_begin_after_some_round_trips() {
    let mut world = World::new(33);
    world.connect();
    world.until_established();
    world.air.up = false;
    let before = world.handshakes_sent(INITIATION);
    world.send(MOBILE, b"data").expect("keys");
    let mut sent_within = |seconds| {
        world.run_for(Duration::from_secs(seconds));
        world.handshakes_sent(INITIATION) - before
    };
    // The first one leaves after a second of silence.
    let [soon, later] = [2, 58].map(&mut sent_within);
    assert!((3..=5).contains(&soon), "{soon} initiations in a second");
    assert!(later <= 30, "{later} initiations in a minute");
}

/// Times at which a host announced the end of its keys.
fn ends(world: &World, host: usize) -> Vec<Instant> {
    let is_end = |(_, event): &&(Instant, Event)| matches!(event, Event::Expired { .. });
    let ends = world.events[host].iter().filter(is_end);
    ends.map(|(at, _)| *at).collect()
}

#[test]
fn the_end_of_keys_is_announced_once_and_not_while_there_are_keys() {
    let mut world = World::new(32);
    world.connect();
    world.until_established();
    for _ in 0..1_200 {
        // The gateway may use its keys when the mobile host has.
        for host in [MOBILE, GATEWAY] {
            world.send(host, b"data").expect("keys");
            world.run_for(Duration::from_millis(500));
        }
    }
    for host in [MOBILE, GATEWAY] {
        assert_eq!(ends(&world, host), [], "host {host}");
    }
    world.air.up = false;
    let since = world.clock.now;
    world.run_for(Duration::from_secs(1_200));
    for host in [MOBILE, GATEWAY] {
        let ends = ends(&world, host);
        assert_eq!(ends.len(), 1, "host {host}");
        assert!(ends[0].since(since) <= Duration::from_secs(180));
    }
}
