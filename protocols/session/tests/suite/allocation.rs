//! Tests that a datagram needs no allocation.

use session::{DropCause, INITIATION_BYTES, Received};
use units::Duration;

use crate::common::{GATEWAY, MOBILE, World, buffer};

#[test]
fn sealing_and_opening_allocate_nothing() {
    let mut world = World::new(1);
    world.connect();
    world.until_established();
    world.run_for(Duration::from_secs(1));
    let mut datagram = buffer(&[7; 1400]);
    let counted = allocation_counter::measure(|| {
        for step in 0..10_000_u64 {
            let from = [MOBILE, GATEWAY][(step % 2) as usize];
            let now = world.clock.now + Duration::from_micros(step);
            world.hosts[from]
                .seal(now, world.peers[from], &mut datagram)
                .unwrap();
            let received = world.hosts[1 - from].handle_datagram(now, &mut datagram);
            assert!(matches!(received, Received::Data { plaintext, .. } if plaintext == [7; 1400]));
        }
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn what_strangers_send_allocates_nothing() {
    let mut world = World::new(2);
    world.connect();
    world.until_established();
    let (_, genuine) = world.sent.last().unwrap().clone();
    let mut forged = genuine.clone();
    forged.extend([0; 100]);
    let mut unknown = forged.clone();
    unknown[1] ^= 1;
    let mut unsigned = vec![0; INITIATION_BYTES];
    unsigned[..2].copy_from_slice(&world.sent[0].1[..2]);
    let mut other_version = unsigned.clone();
    other_version[1] ^= 0x80;
    let mut garbage = vec![9; 1400];
    let gateway = &mut world.hosts[GATEWAY];
    let counted = allocation_counter::measure(|| {
        for _ in 0..2_000 {
            for (datagram, cause) in [
                (&mut forged, DropCause::BadSeal),
                (&mut unknown, DropCause::UnknownIndex),
                (&mut unsigned, DropCause::BadMac),
                (&mut other_version, DropCause::OtherVersion),
                (&mut garbage, DropCause::Malformed),
            ] {
                let received = gateway.handle_datagram(world.clock.now, datagram);
                assert_eq!(received, Received::Dropped(cause));
            }
        }
    });
    assert_eq!(counted.count_total, 0);
    assert_eq!(gateway.poll_output(), None);
    assert_eq!(gateway.counters().dropped_total(), 10_000);
}
