//! Tests of datagrams from other hosts: dropped, counted, never answered, and without effect on the session.

use proptest::prelude::*;
use session::{
    Config, DropCause, Endpoint, Limits, Output, PeerConfig, PeerError, PeerId, PresharedKey,
    Received, Role, Route, SealError,
};
use units::{Duration, Instant};

use crate::common::{GATEWAY, MOBILE, World, endpoint, private_key};

/// Returns two hosts with a confirmed session and nothing on the air.
fn settled(seed: u64) -> World {
    let mut world = World::new(seed);
    world.connect();
    world.until_established();
    world.run_for(Duration::from_millis(900));
    world
}

fn outputs(host: &mut Endpoint) -> Vec<Output> {
    std::iter::from_fn(|| host.poll_output()).collect()
}

/// Asserts that `datagram` is dropped for `cause` by `host`, in silence.
fn assert_dropped(world: &mut World, host: usize, datagram: &[u8], cause: DropCause) {
    let mut datagram = datagram.to_vec();
    let now = world.clock.now;
    let before = world.hosts[host].counters().dropped(cause);
    let received = world.hosts[host].handle_datagram(now, &mut datagram);
    assert_eq!(received, Received::Dropped(cause));
    assert_eq!(world.hosts[host].counters().dropped(cause), before + 1);
    assert_eq!(outputs(&mut world.hosts[host]), []);
}

/// Asserts that both directions still work.
fn assert_undisturbed(world: &mut World) {
    for host in [MOBILE, GATEWAY] {
        world.delivered[1 - host].clear();
        world
            .send(host, b"still here")
            .expect("the session is there");
    }
    world.run_for(Duration::from_millis(100));
    assert_eq!(
        world.delivered,
        [vec![b"still here".to_vec()], vec![b"still here".to_vec()]]
    );
}

/// Returns a host with the mobile host as its only peer, of the given role towards it.
fn stranger(
    name: &str,
    gateway: &Endpoint,
    preshared_key: Option<PresharedKey>,
) -> (Endpoint, PeerId) {
    let mut host = endpoint(77, name, Limits::default());
    let config = PeerConfig {
        public_key: gateway.public_key(),
        preshared_key,
        role: Role::Initiator,
        features: 0,
    };
    let peer = host.add_peer(config).expect("one peer");
    (host, peer)
}

fn initiation_of(host: &mut Endpoint, peer: PeerId, now: Instant) -> Vec<u8> {
    host.connect(now, peer).expect("an initiator");
    let initiation = outputs(host).into_iter().find_map(|output| match output {
        Output::Transmit { datagram, .. } => Some(datagram),
        Output::Event(_) => None,
    });
    initiation.expect("an initiation")
}

#[test]
fn replays_and_reflections_of_everything_are_dropped() {
    let mut world = settled(1);
    for _ in 0..20 {
        world.send(MOBILE, b"up").unwrap();
        world.send(GATEWAY, b"down").unwrap();
    }
    world.run_for(Duration::from_secs(100));
    let sent = world.sent.clone();
    assert!(sent.len() > 40);
    for (to, datagram) in sent {
        for host in [to, 1 - to] {
            let mut copy = datagram.clone();
            let received = world.hosts[host].handle_datagram(world.clock.now, &mut copy);
            assert!(matches!(received, Received::Dropped(_)), "{received:?}");
            assert_eq!(outputs(&mut world.hosts[host]), []);
        }
    }
    assert_undisturbed(&mut world);
}

#[test]
fn a_duplicate_initiation_gets_the_same_response_and_no_second_key() {
    let mut world = World::new(2);
    world.air.up = false;
    world.connect();
    let (_, initiation) = world.sent[0].clone();
    let ask = |world: &mut World| {
        let mut copy = initiation.clone();
        let received = world.hosts[GATEWAY].handle_datagram(world.clock.now, &mut copy);
        assert_eq!(received, Received::Handshake(world.peers[GATEWAY]));
        outputs(&mut world.hosts[GATEWAY])
    };
    let first = ask(&mut world);
    assert_eq!(first, ask(&mut world));
    let [
        Output::Transmit {
            route: Route::Reply,
            datagram: response,
            ..
        },
    ] = &first[..]
    else {
        panic!("one response, where the question came from: {first:?}");
    };
    assert!(response.len() < initiation.len());
    world.air.up = true;
    world.deliver(MOBILE, response.clone());
    assert_eq!(world.established(MOBILE), 1);
    assert_dropped(&mut world, MOBILE, response, DropCause::UnexpectedHandshake);
    world.run_for(Duration::from_millis(100));
    assert_eq!(world.established(GATEWAY), 1);
    assert_dropped(&mut world, GATEWAY, &initiation, DropCause::StaleHandshake);
    assert_undisturbed(&mut world);
}

#[test]
fn a_copy_with_another_mac2_does_not_shut_out_the_genuine_one() {
    let mut world = World::new(12);
    world.air.up = false;
    world.connect();
    let (_, initiation) = world.sent[0].clone();
    let mut touched = initiation.clone();
    *touched.last_mut().unwrap() ^= 1;
    let mut answers = Vec::new();
    for datagram in [touched, initiation] {
        let mut copy = datagram;
        let received = world.hosts[GATEWAY].handle_datagram(world.clock.now, &mut copy);
        assert_eq!(received, Received::Handshake(world.peers[GATEWAY]));
        answers.push(outputs(&mut world.hosts[GATEWAY]));
    }
    assert_eq!(answers[0], answers[1]);
}

#[test]
fn an_initiation_in_flight_disturbs_nothing() {
    let mut world = settled(3);
    // An attacker delays a genuine initiation of the next rekey and delivers it many times.
    world.run_for(Duration::from_secs(119));
    world.air.up = false;
    world.run_for(Duration::from_secs(4));
    let (_, initiation) = world
        .sent
        .iter()
        .rfind(|(_, datagram)| datagram[0] == 1)
        .unwrap()
        .clone();
    world.air.up = true;
    for _ in 0..5 {
        let mut copy = initiation.clone();
        let received = world.hosts[GATEWAY].handle_datagram(world.clock.now, &mut copy);
        assert!(matches!(received, Received::Handshake(_)));
        outputs(&mut world.hosts[GATEWAY]);
        assert_undisturbed(&mut world);
    }
}

#[test]
fn strangers_get_no_answer() {
    let mut world = settled(4);
    let now = world.clock.now;
    let (mut unknown, peer) = stranger("nobody", &world.hosts[GATEWAY], None);
    let initiation = initiation_of(&mut unknown, peer, now);
    assert_dropped(&mut world, GATEWAY, &initiation, DropCause::UnknownPeer);
    assert_dropped(&mut world, MOBILE, &initiation, DropCause::BadMac);
    let mut forged = initiation.clone();
    forged[20] ^= 1;
    assert_dropped(&mut world, GATEWAY, &forged, DropCause::BadMac);
    assert_undisturbed(&mut world);
}

#[test]
fn a_wrong_preshared_key_gives_no_session() {
    let world = World::new(5);
    let (mut mobile, peer) = stranger("mobile", &world.hosts[GATEWAY], None);
    let mut gateway = world;
    let mut initiation = initiation_of(&mut mobile, peer, Instant::ZERO);
    gateway.hosts[GATEWAY].handle_datagram(Instant::ZERO, &mut initiation);
    let answers = outputs(&mut gateway.hosts[GATEWAY]);
    let [Output::Transmit { datagram, .. }] = &answers[..] else {
        panic!("one response: {answers:?}");
    };
    let mut copy = datagram.clone();
    let received = mobile.handle_datagram(Instant::ZERO, &mut copy);
    assert_eq!(received, Received::Dropped(DropCause::BadHandshake));
    let mut buffer = crate::common::buffer(b"x");
    assert_eq!(
        mobile.seal(Instant::ZERO, peer, &mut buffer),
        Err(SealError::NoSession)
    );
}

#[test]
fn an_initiation_to_an_initiator_is_dropped() {
    let mut world = World::new(6);
    let mut gateway = Endpoint::new(
        Config {
            private_key: private_key(7, "gateway"),
            wall_clock_at_origin: 1,
            limits: Limits::default(),
        },
        Box::new(|buffer: &mut [u8]| buffer.fill(3)),
    );
    let mobile = PeerConfig {
        public_key: world.hosts[MOBILE].public_key(),
        preshared_key: None,
        role: Role::Initiator,
        features: 0,
    };
    let peer = gateway.add_peer(mobile).unwrap();
    let initiation = initiation_of(&mut gateway, peer, Instant::ZERO);
    assert_dropped(
        &mut world,
        MOBILE,
        &initiation,
        DropCause::UnexpectedHandshake,
    );
}

#[test]
fn handshake_work_is_bounded() {
    let limits = Limits {
        handshakes_per_second: 10,
        handshake_burst: 5,
        ..Limits::default()
    };
    let mut world = World::with_limits(7, limits);
    let (mut unknown, peer) = stranger("nobody", &world.hosts[GATEWAY], None);
    let initiation = initiation_of(&mut unknown, peer, Instant::ZERO);
    for _ in 0..5 {
        assert_dropped(&mut world, GATEWAY, &initiation, DropCause::UnknownPeer);
    }
    assert_dropped(&mut world, GATEWAY, &initiation, DropCause::OverBudget);
    world.clock.now += Duration::from_millis(100);
    assert_dropped(&mut world, GATEWAY, &initiation, DropCause::UnknownPeer);
    assert_dropped(&mut world, GATEWAY, &initiation, DropCause::OverBudget);
    world.clock.now += Duration::from_secs(60);
    for _ in 0..5 {
        assert_dropped(&mut world, GATEWAY, &initiation, DropCause::UnknownPeer);
    }
    assert_dropped(&mut world, GATEWAY, &initiation, DropCause::OverBudget);
}

#[test]
fn old_keys_open_nothing() {
    let mut world = settled(8);
    let mut late = crate::common::buffer(b"late");
    world.hosts[MOBILE]
        .seal(world.clock.now, world.peers[MOBILE], &mut late)
        .unwrap();
    world.run_for(Duration::from_secs(60));
    world.air.up = false;
    world.run_for(Duration::from_secs(150));
    assert_dropped(&mut world, GATEWAY, &late, DropCause::UnknownIndex);
    // The keys are refused by age even if no timeout has removed them.
    let mut idle = settled(9);
    let mut late = crate::common::buffer(b"late");
    idle.hosts[MOBILE]
        .seal(idle.clock.now, idle.peers[MOBILE], &mut late)
        .unwrap();
    idle.clock.now += Duration::from_secs(200);
    assert_dropped(&mut idle, GATEWAY, &late, DropCause::Expired);
    assert_eq!(
        idle.hosts[MOBILE].seal(idle.clock.now, idle.peers[MOBILE], &mut late),
        Err(SealError::NoSession)
    );
}

#[test]
fn only_the_newest_datagram_may_move_the_address() {
    let mut world = settled(10);
    let mut datagrams: Vec<Vec<u8>> = (5..8_u8)
        .map(|step| crate::common::buffer(&[step]))
        .collect();
    for datagram in &mut datagrams {
        world.hosts[MOBILE]
            .seal(world.clock.now, world.peers[MOBILE], datagram)
            .unwrap();
    }
    let order = [(1, true), (0, false), (2, true)];
    for (place, is_newest) in order {
        let received = world.hosts[GATEWAY].handle_datagram(world.clock.now, &mut datagrams[place]);
        let Received::Data { newest, .. } = received else {
            panic!("{received:?}");
        };
        assert_eq!(newest, is_newest);
    }
}

#[test]
fn misuse_is_told() {
    let mut world = settled(11);
    let own = PeerConfig {
        public_key: world.hosts[MOBILE].public_key(),
        preshared_key: None,
        role: Role::Initiator,
        features: 0,
    };
    assert_eq!(world.hosts[MOBILE].add_peer(own), Err(PeerError::OwnKey));
    let again = PeerConfig {
        public_key: world.hosts[GATEWAY].public_key(),
        preshared_key: None,
        role: Role::Initiator,
        features: 0,
    };
    assert_eq!(
        world.hosts[MOBILE].add_peer(again),
        Err(PeerError::Duplicate)
    );
    let peer = world.peers[GATEWAY];
    assert_eq!(
        world.hosts[GATEWAY].connect(world.clock.now, peer),
        Err(PeerError::NotInitiator)
    );
    assert_eq!(
        world.hosts[GATEWAY].seal(world.clock.now, peer, &mut [0; 24]),
        Err(SealError::BufferTooShort { length: 24 })
    );
    world.hosts[GATEWAY].remove_peer(peer).unwrap();
    assert_eq!(
        world.hosts[GATEWAY].remove_peer(peer),
        Err(PeerError::Unknown)
    );
    let mut datagram = crate::common::buffer(b"x");
    assert_eq!(
        world.hosts[GATEWAY].seal(world.clock.now, peer, &mut datagram),
        Err(SealError::UnknownPeer)
    );
    world.hosts[MOBILE]
        .seal(world.clock.now, world.peers[MOBILE], &mut datagram)
        .unwrap();
    assert_dropped(&mut world, GATEWAY, &datagram, DropCause::UnknownIndex);
    assert_eq!(world.hosts[GATEWAY].poll_timeout().map(|_| ()), None);
}

/// Change of a datagram by an attacker.
#[derive(Debug, Clone)]
enum Attack {
    Flip(prop::sample::Index, u8),
    Truncate(prop::sample::Index),
    Extend(Vec<u8>),
    Replace(Vec<u8>),
}

fn attack() -> impl Strategy<Value = Attack> {
    let bytes = || prop::collection::vec(any::<u8>(), 1..300);
    prop_oneof![
        4 => (any::<prop::sample::Index>(), 1_u8..).prop_map(|(at, with)| Attack::Flip(at, with)),
        2 => any::<prop::sample::Index>().prop_map(Attack::Truncate),
        1 => bytes().prop_map(Attack::Extend),
        2 => (prop::sample::select(vec![0_u8, 1, 2, 3, 4]), bytes()).prop_map(|(kind, mut bytes)| {
            bytes.insert(0, kind);
            Attack::Replace(bytes)
        }),
    ]
}

fn apply(attack: &Attack, datagram: &mut Vec<u8>) {
    match attack {
        Attack::Flip(at, with) => {
            let at = at.index(datagram.len());
            datagram[at] ^= with;
        }
        Attack::Truncate(at) => datagram.truncate(at.index(datagram.len())),
        Attack::Extend(tail) => datagram.extend(tail),
        Attack::Replace(bytes) => datagram.clone_from(bytes),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn tampering_is_dropped_in_silence_and_disturbs_nothing(
        attacks in prop::collection::vec((any::<prop::sample::Index>(), 0..2_usize, attack()), 1..40),
    ) {
        let mut world = settled(20);
        world.send(MOBILE, b"a genuine datagram").unwrap();
        world.send(GATEWAY, b"and another").unwrap();
        let seen = world.sent.clone();
        for (which, host, attack) in attacks {
            let mut datagram = seen[which.index(seen.len())].1.clone();
            apply(&attack, &mut datagram);
            let received = world.hosts[host].handle_datagram(world.clock.now, &mut datagram);
            prop_assert!(matches!(received, Received::Dropped(_)), "{:?}", received);
            prop_assert_eq!(outputs(&mut world.hosts[host]), vec![]);
        }
        world.run_for(Duration::from_millis(100));
        assert_undisturbed(&mut world);
    }

    #[test]
    fn tampering_with_a_handshake_only_delays_it(
        attacks in prop::collection::vec(attack(), 1..20),
    ) {
        let mut world = World::new(21);
        world.connect();
        for attack in attacks {
            let flying: Vec<_> = world.clock.events().cloned().collect();
            for (to, genuine) in flying {
                let mut datagram = genuine.clone();
                apply(&attack, &mut datagram);
                if datagram != genuine {
                    world.deliver(to, datagram);
                }
            }
            world.run_for(Duration::from_millis(10));
        }
        world.run_for(Duration::from_secs(12));
        assert_undisturbed(&mut world);
    }
}
