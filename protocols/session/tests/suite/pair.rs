//! Tests of two hosts and the air, in virtual time: sessions begin, are renewed, outlive fades and restarts.

use session::{Event, Limits, SealError};
use units::{Duration, Instant, Probability};

use crate::common::{GATEWAY, MOBILE, World};

fn percent(text: &str) -> Probability {
    text.parse().expect("a percentage")
}

/// Runs until both can send; the mobile host's first datagram confirms the session to the gateway.
fn settle(world: &mut World) {
    world.connect();
    world.until_established();
    world.run_for(Duration::from_secs(8));
    assert_eq!(world.established(GATEWAY), 1);
}

/// Returns the epoch of the newest session of a host, and true if the session began it.
fn last_epoch(world: &World, host: usize) -> (u64, bool) {
    let found = world.events[host]
        .iter()
        .rev()
        .find_map(|(_, event)| match event {
            Event::Established {
                epoch, begins_anew, ..
            } => Some((*epoch, *begins_anew)),
            Event::Left { .. }
            | Event::Expired { .. }
            | Event::KeyShared { .. }
            | Event::FormerKeyUsed { .. }
            | Event::StampRefused { .. }
            | Event::Declined { .. }
            | Event::OtherVersion { .. } => None,
        });
    found.expect("a session was established")
}

#[test]
fn a_session_takes_one_round_trip_and_carries_both_ways() {
    let mut world = World::new(1);
    assert_eq!(world.send(MOBILE, b"early"), Err(SealError::NoSession));
    world.connect();
    let taken = world.until_established();
    assert!(taken <= world.air.delay * 4, "{taken}");
    assert_eq!(
        world.send(GATEWAY, b"unconfirmed"),
        Err(SealError::NoSession)
    );
    world.run_for(Duration::from_millis(100));
    world.send(MOBILE, b"up").unwrap();
    world.send(GATEWAY, b"down").unwrap();
    world.run_for(Duration::from_millis(100));
    assert_eq!(
        world.delivered,
        [vec![b"down".to_vec()], vec![b"up".to_vec()]]
    );
    assert!(last_epoch(&world, MOBILE).1);
    assert_eq!(last_epoch(&world, MOBILE), last_epoch(&world, GATEWAY));
    let round_trip = world.air.delay * 2;
    for events in &world.events {
        let lasted = events.iter().find_map(|(_, event)| match event {
            Event::Established { lasted, .. } => Some(*lasted),
            _ => None,
        });
        let lasted = lasted.expect("a session was established");
        assert!(
            (round_trip..=round_trip * 2).contains(&lasted),
            "{lasted}, round trip {round_trip}"
        );
    }
}

#[test]
fn keys_are_renewed_in_time_and_nothing_is_lost_over_it() {
    let mut world = World::new(2);
    settle(&mut world);
    for step in 0..6_000_u32 {
        world.send(MOBILE, &step.to_le_bytes()).unwrap();
        world.send(GATEWAY, &step.to_le_bytes()).unwrap();
        world.run_for(Duration::from_millis(100));
    }
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.delivered.each_ref().map(Vec::len), [6_000, 6_000]);
    // 608 s: the first session and one more each 120 s.
    assert_eq!(world.handshakes_sent(1), 6);
    assert_eq!(world.established(GATEWAY), 6);
    assert!(!last_epoch(&world, GATEWAY).1 && !last_epoch(&world, MOBILE).1);
}

#[test]
fn a_storm_of_rekeys_over_a_bad_air_repeats_no_nonce_and_keeps_the_session() {
    let limits = Limits {
        rekey_after_messages: 20,
        ..Limits::default()
    };
    let mut world = World::with_limits(3, limits);
    world.air.loss = percent("20 %");
    world.air.duplication = percent("20 %");
    world.connect();
    world.until_established();
    world.run_for(Duration::from_secs(20));
    let mut refused = 0;
    for step in 0..10_000_u32 {
        for host in [MOBILE, GATEWAY] {
            refused += u32::from(world.send(host, &step.to_le_bytes()).is_err());
        }
        world.run_for(Duration::from_millis(20));
    }
    world.run_for(Duration::from_secs(1));
    assert_eq!(refused, 0);
    assert!(
        world.established(MOBILE) > 50,
        "{}",
        world.established(MOBILE)
    );
    for host in [MOBILE, GATEWAY] {
        let count = world.delivered[host].len();
        assert!(
            (7_000..8_800).contains(&count),
            "{count} of 10000 at 20 % loss"
        );
        let mut once = world.delivered[host].clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), count, "a replay was delivered");
    }
}

#[test]
fn an_hour_without_air_costs_one_round_trip_after_the_link_is_up() {
    let mut world = World::new(4);
    settle(&mut world);
    world.air.up = false;
    world.run_for(Duration::from_secs(3_600));
    assert_eq!(
        world.send(MOBILE, b"in the fade"),
        Err(SealError::NoSession)
    );
    assert!(matches!(
        world.events[MOBILE].last(),
        Some((_, Event::Expired { .. }))
    ));
    let asked = world.handshakes_sent(1);
    assert!(
        (600..=760).contains(&asked),
        "{asked} initiations in an hour"
    );
    world.air.up = true;
    world.hosts[MOBILE]
        .retry_now(world.clock.now, world.peers[MOBILE])
        .unwrap();
    world.drain(MOBILE);
    let taken = world.until_established();
    assert!(taken <= world.air.delay * 4, "{taken}");
    world.send(MOBILE, b"after").unwrap();
    world.run_for(Duration::from_millis(100));
    assert_eq!(world.delivered[GATEWAY], [b"after".to_vec()]);
    assert!(!last_epoch(&world, GATEWAY).1, "the association lives on");
}

#[test]
fn without_a_hint_the_end_of_a_fade_is_noticed_within_the_retry_interval() {
    for seed in 10..20 {
        let mut world = World::new(seed);
        settle(&mut world);
        world.air.up = false;
        world.run_for(Duration::from_secs(900 + seed * 7));
        world.air.up = true;
        let taken = world.until_established();
        assert!(taken <= Duration::from_millis(5_333 + 80), "{taken}");
    }
}

#[test]
fn a_short_fade_keeps_the_session() {
    let mut world = World::new(5);
    settle(&mut world);
    world.air.up = false;
    world.send(MOBILE, b"lost").unwrap();
    world.run_for(Duration::from_secs(60));
    world.air.up = true;
    world.send(MOBILE, b"kept").unwrap();
    world.send(GATEWAY, b"kept").unwrap();
    world.run_for(Duration::from_secs(10));
    assert_eq!(
        world.delivered,
        [vec![b"kept".to_vec()], vec![b"kept".to_vec()]]
    );
}

#[test]
fn a_restarted_mobile_comes_back_with_a_new_epoch() {
    let mut world = World::new(6);
    settle(&mut world);
    let first = last_epoch(&world, GATEWAY).0;
    world.restart(MOBILE);
    world.until_established();
    world.run_for(Duration::from_secs(1));
    let (second, new) = last_epoch(&world, GATEWAY);
    assert!(new && second != first);
    world.send(GATEWAY, b"again").unwrap();
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.delivered[MOBILE], [b"again".to_vec()]);
}

#[test]
fn a_restarted_gateway_is_missed_within_eleven_seconds() {
    let mut world = World::new(7);
    settle(&mut world);
    world.restart(GATEWAY);
    let start = world.clock.now;
    let before = world.established(MOBILE);
    while world.established(MOBILE) == before {
        world.send(MOBILE, b"anyone?").unwrap();
        world.run_for(Duration::from_millis(100));
        assert!(world.clock.now.since(start) < Duration::from_secs(11));
    }
    assert!(last_epoch(&world, MOBILE).1);
}

#[test]
fn a_restarted_gateway_is_missed_within_a_second() {
    for away in [0, 300, 1_100, 2_500, 5_900] {
        let mut world = World::new(7);
        settle(&mut world);
        // Datagrams are lost while it is away.
        world.air.up = false;
        world.send(MOBILE, b"anyone?").unwrap();
        world.run_for(Duration::from_millis(away));
        world.air.up = true;
        world.restart(GATEWAY);
        let taken = world.until_established();
        let bound = Duration::from_millis(1_000 + 500 + 160);
        assert!(taken <= bound, "{taken} after {away} ms");
        assert!(last_epoch(&world, MOBILE).1);
    }
}

/// Silence alone renews no keys.
#[test]
fn a_fade_of_seconds_costs_no_keys() {
    let mut world = World::new(15);
    settle(&mut world);
    for _ in 0..5 {
        world.send(MOBILE, b"lost").unwrap();
        world.air.up = false;
        world.run_for(Duration::from_millis(3_900));
        world.air.up = true;
        for _ in 0..20 {
            let _ = world.send(GATEWAY, b"data");
            world.run_for(Duration::from_millis(100));
        }
    }
    assert_eq!(world.established(MOBILE), 1);
}

#[test]
fn a_report_that_no_process_listens_hastens_the_next_try() {
    let mut world = World::new(16);
    settle(&mut world);
    world.air.up = false;
    world.send(MOBILE, b"anyone?").unwrap();
    world.run_for(Duration::from_secs(100));
    let before = world.handshakes_sent(1);
    for _ in 0..1_000 {
        let (now, peer) = (world.clock.now, world.peers[MOBILE]);
        world.hosts[MOBILE].retry_soon(now, peer).unwrap();
        world.run_for(Duration::from_millis(10));
    }
    let asked = world.handshakes_sent(1) - before;
    assert!(
        (7..=11).contains(&asked),
        "{asked} initiations in ten seconds"
    );
}

#[test]
fn a_lost_confirmation_is_repeated() {
    let mut world = World::new(8);
    world.connect();
    world.until_established();
    world.clock.clear();
    world.run_for(Duration::from_millis(1_200));
    assert_eq!(world.established(GATEWAY), 1);
    world.send(GATEWAY, b"down").unwrap();
}

#[test]
fn any_loss_below_all_ends_in_a_session() {
    for seed in 30..50 {
        let mut world = World::new(seed);
        world.air.loss = percent("70 %");
        world.air.delay = Duration::from_millis(1 + seed * 40);
        world.connect();
        world.until_established();
    }
}

#[test]
fn a_round_trip_above_the_retry_interval_is_no_obstacle() {
    let mut world = World::new(9);
    world.air.delay = Duration::from_secs(3);
    world.connect();
    assert!(world.until_established() <= Duration::from_secs(12));
}

#[test]
fn an_early_timeout_changes_nothing() {
    let mut world = World::new(11);
    settle(&mut world);
    world.send(MOBILE, b"x").unwrap();
    for _ in 0..3 {
        world.hosts[MOBILE].handle_timeout(world.clock.now);
        assert_eq!(world.hosts[MOBILE].poll_output(), None);
    }
}

#[test]
fn equal_seeds_give_equal_bytes() {
    let run = |seed| {
        let mut world = World::new(seed);
        world.air.loss = percent("30 %");
        world.connect();
        world.run_for(Duration::from_secs(400));
        (world.sent, world.clock.now)
    };
    assert_eq!(run(12), run(12));
    assert_ne!(run(12), run(13));
    assert_eq!(run(12).1, Instant::from_millis(400_000));
}

#[test]
fn a_disconnected_mobile_is_silent() {
    let mut world = World::new(14);
    settle(&mut world);
    world.hosts[MOBILE].disconnect(world.peers[MOBILE]).unwrap();
    let sent = world.sent.len();
    world.run_for(Duration::from_secs(1_000));
    assert_eq!(world.sent.len(), sent);
    assert_eq!(world.send(MOBILE, b"x"), Err(SealError::NoSession));
    world.connect();
    world.until_established();
}
