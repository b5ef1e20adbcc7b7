//! Tests of the stamps of initiations: a clock that was wrong heals, and no copy of an old initiation does anything.

use session::{DropCause, Event, INITIATION_BYTES, RESPONSE_BYTES, Received};
use units::{Duration, Instant};

use crate::common::{GATEWAY, MOBILE, World};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: u64 = 3_600_000_000_000;
const WALL: u64 = 1_700_000_000_000_000_000;

/// Returns a world whose mobile host has a session and stamped its initiation by this clock.
fn stamped(seed: u64, wall: u64) -> World {
    let mut world = World::new(seed);
    world.hosts[MOBILE].set_wall_clock_at_origin(wall);
    world.connect();
    world.until_established();
    world.run_for(SECOND);
    world
}

fn refusals(world: &World, host: usize) -> Vec<Duration> {
    let refusal = |(_, event): &(Instant, Event)| match event {
        Event::StampRefused { behind, .. } => Some(*behind),
        _ => None,
    };
    world.events[host].iter().filter_map(refusal).collect()
}

#[test]
fn a_clock_that_was_ahead_costs_one_round_trip() {
    for wall in [WALL + HOUR, WALL + 300_000 * HOUR, 1 << 63, u64::MAX] {
        let mut world = stamped(1, wall);
        world.restart(MOBILE);
        let taken = world.until_established();
        assert!(taken <= world.air.delay * 8 + SECOND / 10, "{taken}");
        for host in [MOBILE, GATEWAY] {
            let ahead = Duration::from_nanos(wall.min(1 << 63) - WALL);
            let [behind] = refusals(&world, host)[..] else {
                panic!("{:?}", world.events[host]);
            };
            assert!(
                behind <= ahead && behind + SECOND * 2 > ahead,
                "{behind} of {ahead}"
            );
        }
        // Later handshakes go on from there.
        let before = world.handshakes_sent(1);
        world.run_for(SECOND * 1_000);
        assert_eq!(world.handshakes_sent(1) - before, 8);
        assert_eq!(refusals(&world, MOBILE).len(), 1);
    }
}

#[test]
fn a_running_mobile_survives_any_jump_of_its_clock() {
    let mut world = stamped(2, WALL);
    for jump in [WALL + HOUR, 0, u64::MAX, WALL, 1] {
        world.hosts[MOBILE].set_wall_clock_at_origin(jump);
        let before = world.established(MOBILE);
        world.run_for(SECOND * 240);
        assert!(world.established(MOBILE) >= before + 2, "{jump}");
    }
    assert_eq!(refusals(&world, GATEWAY), []);
}

/// Old initiations get an answer that is of no use to anybody, and does nothing here.
#[test]
fn copies_of_old_initiations_disturb_nothing() {
    let mut world = stamped(3, WALL);
    world.run_for(SECOND * 400);
    let initiations: Vec<_> = world
        .sent
        .iter()
        .filter(|(_, sent)| sent[0] == 1)
        .cloned()
        .collect();
    assert_eq!(initiations.len(), 4);
    let established = world.established(GATEWAY);
    for _ in 0..20 {
        for (at, (_, initiation)) in initiations.iter().enumerate() {
            let sent = world.sent.len();
            let mut copy = initiation.clone();
            let received = world.hosts[GATEWAY].handle_datagram(world.clock.now, &mut copy);
            assert_eq!(received, Received::Dropped(DropCause::StaleHandshake));
            world.drain(GATEWAY);
            // The newest one gets no answer, the others one that is shorter.
            let answers = &world.sent[sent..];
            assert_eq!(answers.len(), usize::from(at < 3));
            assert!(
                answers
                    .iter()
                    .all(|(_, answer)| answer.len() == RESPONSE_BYTES)
            );
        }
        world.run_for(SECOND / 10);
    }
    const { assert!(RESPONSE_BYTES < INITIATION_BYTES) };
    assert_eq!(refusals(&world, GATEWAY).len(), 1, "the log is not flooded");
    assert_eq!(refusals(&world, MOBILE), []);
    assert_eq!(world.established(GATEWAY), established);
    world.send(MOBILE, b"up").expect("a session");
    world.send(GATEWAY, b"down").expect("a session");
    world.run_for(SECOND);
    assert_eq!(
        world.delivered,
        [vec![b"down".to_vec()], vec![b"up".to_vec()]]
    );
}
