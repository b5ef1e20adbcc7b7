//! Cookies: what a gateway does under load, and what that costs an honest mobile host and everybody else.

use session::{COOKIE_REPLY_BYTES, DropCause, Endpoint, INITIATION_BYTES, Limits, Received};
use units::{Duration, Instant, Probability};
use wire::address::HopAddress;

use crate::common::{GATEWAY, MOBILE, World, address, endpoint};

const MILLISECOND: Duration = Duration::from_millis(1);
/// Longest round trip in these worlds.
const ROUND_TRIP: Duration = Duration::from_millis(80);
/// Forged initiations in each millisecond.
const FLOOD: u32 = 100;

fn spoofed(number: u32) -> HopAddress {
    HopAddress::Udp((number.to_be_bytes(), 1_024 + (number % 60_000) as u16).into())
}

/// An initiation of a stranger who knows the gateway's public key.
fn initiation(world: &World, stranger: u64) -> Vec<u8> {
    let mut other = World::with_limits(stranger, Limits::default());
    other.hosts[MOBILE] = endpoint(stranger, "stranger", Limits::default());
    let config = session::PeerConfig {
        public_key: world.hosts[GATEWAY].public_key(),
        preshared_key: None,
        role: session::Role::Initiator,
        features: 0,
    };
    other.peers[MOBILE] = other.hosts[MOBILE]
        .add_peer(config)
        .expect("the keys differ");
    other.connect();
    other.sent[0].1.clone()
}

/// A flood from ever-new addresses.
struct Flood {
    initiation: Vec<u8>,
    sent: u32,
    replied: u64,
}

impl Flood {
    fn new(world: &World) -> Self {
        Self {
            initiation: initiation(world, 9),
            sent: 0,
            replied: 0,
        }
    }

    /// Lets so much time pass.
    fn run_for(&mut self, world: &mut World, span: Duration) {
        for _ in 0..span.as_nanos() / MILLISECOND.as_nanos() {
            for _ in 0..FLOOD {
                self.sent += 1;
                let mut forged: [u8; INITIATION_BYTES] =
                    self.initiation[..].try_into().expect("an initiation");
                let from = Some(spoofed(self.sent));
                let now = world.clock.now;
                match world.hosts[GATEWAY].handle_datagram_from(now, from, &mut forged) {
                    Received::Reply(reply) => {
                        assert_eq!(reply.len(), COOKIE_REPLY_BYTES);
                        self.replied += 1;
                    }
                    Received::Dropped(cause) => assert_eq!(cause, DropCause::UnknownPeer),
                    other => panic!("{other:?}"),
                }
            }
            world.run_for(MILLISECOND);
        }
    }
}

/// Lets strangers use up what is left of the budget for those who show nothing.
fn exhaust(gateway: &mut Endpoint, initiation: &[u8], now: Instant) {
    loop {
        let mut forged = initiation.to_vec();
        let received = gateway.handle_datagram_from(now, Some(spoofed(77)), &mut forged);
        if let Received::Reply(_) = received {
            break;
        }
    }
}

#[test]
fn a_mobile_host_connects_in_two_round_trips_during_a_flood() {
    for seed in 1..=4 {
        let mut world = World::new(seed);
        let mut flood = Flood::new(&world);
        flood.run_for(&mut world, Duration::from_millis(200));
        let begun = world.clock.now;
        world.connect();
        while world.established(MOBILE) == 0 {
            flood.run_for(&mut world, MILLISECOND);
            assert!(
                world.clock.now.since(begun) < Duration::from_secs(60),
                "it never connects"
            );
        }
        let took = world.clock.now.since(begun);
        println!("seed {seed}: {took}");
        assert!(took <= ROUND_TRIP * 2 + MILLISECOND, "seed {seed}: {took}");
        // The keys in use live on, and so do those that replace them.
        world.run_for(MILLISECOND * 100);
        assert_eq!(world.established(GATEWAY), 1);
    }
}

#[test]
fn a_flood_on_a_hop_that_loses_is_survived_too() {
    let mut slow = 0;
    for seed in 1..=8 {
        let mut world = World::new(seed);
        world.air.loss = Probability::ratio(1, 10);
        let mut flood = Flood::new(&world);
        flood.run_for(&mut world, Duration::from_millis(200));
        let begun = world.clock.now;
        world.connect();
        while world.established(MOBILE) == 0
            && world.clock.now.since(begun) < Duration::from_secs(12)
        {
            flood.run_for(&mut world, MILLISECOND);
        }
        slow += u32::from(world.clock.now.since(begun) > Duration::from_secs(2));
        assert_eq!(world.established(MOBILE), 1, "seed {seed}");
    }
    assert!(slow <= 3, "{slow} of 8 took more than 2 s");
}

#[test]
fn a_flood_costs_no_memory_and_few_computations() {
    let mut world = World::new(1);
    let mut flood = Flood::new(&world);
    flood.run_for(&mut world, Duration::from_secs(1));
    let limits = Limits::default();
    let computed = world.hosts[GATEWAY]
        .counters()
        .dropped(DropCause::UnknownPeer);
    let most = limits.handshakes_per_second + limits.handshake_burst;
    assert!(computed <= u64::from(most), "{computed}");
    assert_eq!(flood.replied + computed, u64::from(flood.sent));
    let from = Some(spoofed(77));
    let gateway = &mut world.hosts[GATEWAY];
    let now = world.clock.now;
    exhaust(gateway, &flood.initiation, now);
    let mut forged = flood.initiation.clone();
    let counted = allocation_counter::measure(|| {
        for _ in 0..1_000 {
            forged.copy_from_slice(&flood.initiation);
            let received = gateway.handle_datagram_from(now, from, &mut forged);
            assert!(matches!(received, Received::Reply(_)));
        }
    });
    assert_eq!(counted.count_total, 0);
}

/// The initiation of a mobile host under load, before and after its cookie has come.
fn with_cookie(world: &mut World) -> [Vec<u8>; 2] {
    Flood::new(world).run_for(world, Duration::from_millis(20));
    world.connect();
    Flood::new(world).run_for(world, ROUND_TRIP);
    let sent = world.sent.iter().filter(|(_, datagram)| datagram[0] == 1);
    let sent: Vec<_> = sent.map(|(_, datagram)| datagram.clone()).collect();
    sent.try_into().expect("it is sent again with the cookie")
}

#[test]
fn a_cookie_is_for_one_address_and_a_short_time() {
    let mut world = World::new(1);
    let [without, with] = with_cookie(&mut world);
    assert_eq!(
        without[..INITIATION_BYTES - 16],
        with[..INITIATION_BYTES - 16]
    );
    let now = world.clock.now;
    let stranger = initiation(&world, 9);
    let mut ask = |now: Instant, from, datagram: &[u8]| {
        let gateway = &mut world.hosts[GATEWAY];
        exhaust(gateway, &stranger, now);
        match gateway.handle_datagram_from(now, Some(from), &mut datagram.to_vec()) {
            Received::Reply(_) => "cookie",
            Received::Handshake(_) => "response",
            _ => "nothing",
        }
    };
    let mobile = address(MOBILE);
    assert_eq!(ask(now, mobile, &with), "response");
    assert_eq!(ask(now, mobile, &without), "cookie");
    let HopAddress::Udp(mut at) = mobile else {
        panic!("an IP address")
    };
    at.set_port(9);
    assert_eq!(
        ask(now, HopAddress::Udp(at), &with),
        "cookie",
        "another port"
    );
    assert_eq!(ask(now, spoofed(9), &with), "cookie", "another address");
    assert_eq!(
        ask(now + Duration::from_secs(240), mobile, &with),
        "cookie",
        "too late"
    );
    let mut forged = with.clone();
    forged[INITIATION_BYTES - 1] ^= 1;
    assert_eq!(ask(now, mobile, &forged), "cookie");
    forged[INITIATION_BYTES - 17] ^= 1;
    assert_eq!(
        ask(now, mobile, &forged),
        "nothing",
        "without mac1 there is silence"
    );
}

#[test]
fn one_sender_with_a_cookie_has_its_share_and_no_more() {
    let mut world = World::new(1);
    let [_, with] = with_cookie(&mut world);
    let mut flood = Flood::new(&world);
    let before = world.hosts[GATEWAY]
        .counters()
        .dropped(DropCause::OverBudget);
    let mut answered = 0;
    for _ in 0..1_000 {
        flood.run_for(&mut world, MILLISECOND);
        for _ in 0..10 {
            let now = world.clock.now;
            let from = Some(address(MOBILE));
            exhaust(&mut world.hosts[GATEWAY], &flood.initiation, now);
            let mut copy = with.clone();
            let received = world.hosts[GATEWAY].handle_datagram_from(now, from, &mut copy);
            // It is answered, or stale as its keys are confirmed; either costs a computation.
            answered += u32::from(received != Received::Dropped(DropCause::OverBudget));
        }
    }
    let refused = world.hosts[GATEWAY]
        .counters()
        .dropped(DropCause::OverBudget)
        - before;
    assert!((15..=30).contains(&answered), "{answered}");
    assert_eq!(u64::from(answered) + refused, 10_000);
}

#[test]
fn forged_cookie_replies_change_little() {
    let mut world = World::new(1);
    let mut flood = Flood::new(&world);
    flood.run_for(&mut world, Duration::from_millis(20));
    world.air.up = false;
    world.connect();
    let now = world.clock.now;
    exhaust(&mut world.hosts[GATEWAY], &flood.initiation, now);
    let mut initiation = world.sent[0].1.clone();
    let from = Some(address(MOBILE));
    let reply = match world.hosts[GATEWAY].handle_datagram_from(now, from, &mut initiation) {
        Received::Reply(reply) => reply.to_vec(),
        other => panic!("{other:?}"),
    };
    let mut sent = |reply: &[u8], cause| {
        let before = world.sent.len();
        let mut reply = reply.to_vec();
        let received = world.hosts[MOBILE].handle_datagram(now, &mut reply);
        match cause {
            Some(cause) => assert_eq!(received, Received::Dropped(cause)),
            None => assert_eq!(received, Received::CookieReply),
        }
        world.drain(MOBILE);
        world.sent.len() - before
    };
    let changed = |at: usize| {
        let mut changed = reply.clone();
        changed[at] ^= 1;
        changed
    };
    assert_eq!(
        sent(&changed(4), Some(DropCause::UnexpectedHandshake)),
        0,
        "of another initiation"
    );
    for at in [20, 36, 67] {
        assert_eq!(sent(&changed(at), Some(DropCause::BadHandshake)), 0, "{at}");
    }
    assert_eq!(sent(&changed(1), Some(DropCause::OtherVersion)), 0);
    assert_eq!(sent(&reply[..67], Some(DropCause::Malformed)), 0);
    assert_eq!(sent(&reply, None), 1);
    for _ in 0..10 {
        assert_eq!(sent(&reply, None), 0, "once for each retry");
    }
}
