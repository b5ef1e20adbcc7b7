//! A new mobile host joins by an invitation, while messages get lost.

use std::net::IpAddr;

use hosts::{
    ClaimRefusal, Decline, EventKind, Host, Input, Joining, JoiningInput, JoiningOutput,
    Membership, Output, Peer, Role, SitePart,
};
use machine::{Machine, RandomStream, conformance};
use session::{Invitation, PublicKey};
use simulator::testing::{Clock, Next};
use units::{Duration, Instant};
use wire::address::HopAddress;
use wire::hop::ClaimMessage;

use crate::support::{WALL, build, datagram};

const DELAY: Duration = Duration::from_millis(20);
const LIMIT: Instant = Instant::from_millis(120_000);

fn place(text: &str) -> HopAddress {
    text.parse().expect("an address")
}

fn invitation() -> Invitation {
    Invitation::new(
        &mut *build::entropy(3, "invitation"),
        build::private_key("gateway").public_key(),
        u32::MAX,
        vec![(IpAddr::from([10, 9, 0, 2]), 24)],
        vec!["gateway:51830".into()],
    )
}

fn joining(seed: u64, invitation: &Invitation) -> Joining {
    joining_as(seed, invitation, "tablet")
}

/// Returns one whose own key is that of `owner`.
fn joining_as(seed: u64, invitation: &Invitation, owner: &str) -> Joining {
    let entropy = ["first", "second"].map(|name| build::entropy(seed, name));
    // The gateway is at the second of the addresses.
    let places = vec![place("192.0.2.9:51830"), place("10.0.0.1:5000")];
    Joining::new(invitation, build::private_key(owner), places, entropy).expect("it may join")
}

/// Result of the driver's attempt to store a key.
#[derive(Clone, Copy, PartialEq)]
enum Store {
    Works,
    Refuses(ClaimRefusal),
}

enum Event {
    ToGateway(Vec<u8>),
    ToMobile(Vec<u8>),
}

/// A gateway, and a host that joins it across a path that loses some datagrams.
struct Net {
    gateway: Host,
    joining: Joining,
    clock: Clock<Event>,
    random: RandomStream,
    /// In percent.
    lost: u64,
    store: Store,
    /// Place of the new host in the site.
    site: SitePart,
    /// Claims that the driver got.
    claims: Vec<(PublicKey, PublicKey)>,
    results: Vec<JoiningOutput>,
    events: Vec<EventKind>,
}

impl Net {
    fn new(seed: u64, lost: u64, store: Store) -> Self {
        let invitation = invitation();
        let invited = Peer {
            public: invitation.key().public_key(),
            membership: Membership {
                may_claim: true,
                ..Membership::default()
            },
            ..build::peer("tablet", &[])
        };
        let config = build::config(Role::Gateway, "gateway", vec![invited]);
        let mut net = Self {
            gateway: build::host(config, build::entropy(seed, "gateway")),
            joining: joining(seed, &invitation),
            clock: Clock::new(Instant::ZERO),
            random: RandomStream::named(seed, "path"),
            lost,
            store,
            site: SitePart::Alone,
            claims: Vec::new(),
            results: Vec::new(),
            events: Vec::new(),
        };
        net.gateway.handle_input(Instant::ZERO, Input::Wall(WALL));
        net.joining
            .handle_input(Instant::ZERO, JoiningInput::Begin(WALL));
        net.drain();
        net
    }

    /// Has a gateway with this key join in place of a mobile host.
    fn of_gateway(&mut self, seed: u64, owner: &str, has_tried: bool) {
        let (invitation, now) = (invitation(), self.clock.now);
        let gateway = invitation.gateway;
        self.site = SitePart::Gateway;
        self.joining = joining_as(seed, &invitation, owner).as_gateway(gateway, has_tried);
        let wall = WALL + now.as_nanos();
        self.joining.handle_input(now, JoiningInput::Begin(wall));
        self.drain();
    }

    fn drain(&mut self) {
        let now = self.clock.now;
        while let Some(output) = self.joining.poll_output() {
            match output {
                JoiningOutput::Datagram(to, bytes) => {
                    if to == place("10.0.0.1:5000") && self.random.below(100) >= self.lost {
                        self.clock.add_after(DELAY, Event::ToGateway(bytes));
                    }
                }
                result => self.results.push(result),
            }
        }
        while let Some(output) = self.gateway.poll_output() {
            match output {
                Output::Datagram { buffer, .. } => {
                    if self.random.below(100) >= self.lost {
                        self.clock
                            .add_after(DELAY, Event::ToMobile(buffer.to_vec()));
                    }
                }
                Output::Claim { of, key } => {
                    self.claims.push((of, key));
                    self.stored(now, of, key);
                }
                Output::Event(event) => self.events.push(event.kind),
                Output::Packet(_)
                | Output::System(_)
                | Output::Seek { .. }
                | Output::Resolvers(_)
                | Output::Exits { .. }
                | Output::HandedOver(_)
                | Output::Told => {}
            }
        }
    }

    /// Does what the driver of a gateway does with a claim.
    fn stored(&mut self, now: Instant, of: PublicKey, key: PublicKey) {
        if let Store::Refuses(reason) = self.store {
            self.gateway
                .handle_input(now, Input::ClaimRefused { of, reason });
            return;
        }
        let peer = Peer {
            public: key,
            membership: Membership {
                site: self.site,
                ..Membership::default()
            },
            ..build::peer("tablet", &[("10.9.0.2", 32)])
        };
        self.gateway
            .handle_input(now, Input::Revoke(of, Decline::Replaced));
        let peer = Box::new(peer);
        self.gateway
            .handle_input(now, Input::Admit { peer, scope: None });
    }

    /// Runs until the host has joined or was refused.
    fn run(&mut self) {
        let is_end = |result: &JoiningOutput| !matches!(result, JoiningOutput::Answered(_));
        while !self.results.iter().any(is_end) {
            let timers = [self.gateway.poll_timeout(), self.joining.poll_timeout()];
            let timer = timers.into_iter().flatten().min();
            match self.clock.advance(LIMIT, timer) {
                Next::End => return,
                Next::Deadline => {
                    self.gateway.handle_timeout(self.clock.now);
                    self.joining.handle_timeout(self.clock.now);
                }
                Next::Event(Event::ToGateway(bytes)) => {
                    let from = place("10.0.0.77:7000");
                    let mut buffer = wire::packet::PacketBuffer::copy_of(&bytes);
                    buffer.truncate(bytes.len());
                    self.gateway
                        .handle_input(self.clock.now, datagram(from, self.clock.now, buffer));
                }
                Next::Event(Event::ToMobile(bytes)) => {
                    let input = JoiningInput::Datagram(place("10.0.0.1:5000"), bytes);
                    self.joining.handle_input(self.clock.now, input);
                }
            }
            self.drain();
        }
    }
}

#[test]
fn a_host_joins_in_four_round_trips() {
    let mut net = Net::new(1, 0, Store::Works);
    net.run();
    let at = place("10.0.0.1:5000");
    assert_eq!(
        net.results,
        [JoiningOutput::Answered(at), JoiningOutput::Joined(at)]
    );
    let tablet = build::private_key("tablet").public_key();
    assert_eq!(net.claims, [(invitation().key().public_key(), tablet)]);
    assert!(
        net.events.contains(&EventKind::Revoked),
        "the line is worth nothing now"
    );
    let round_trip = DELAY * 2;
    assert!(
        net.clock.now <= Instant::ZERO + round_trip * 4,
        "{}",
        net.clock.now
    );
}

/// Half of all datagrams are lost: it takes longer, and ends in the same state.
#[test]
fn losses_delay_it_only() {
    for seed in 0..40 {
        let mut net = Net::new(seed, 50, Store::Works);
        net.run();
        let at = place("10.0.0.1:5000");
        assert_eq!(
            net.results.last(),
            Some(&JoiningOutput::Joined(at)),
            "seed {seed}"
        );
        assert_eq!(net.claims.len(), 1, "seed {seed}: one claim is stored");
    }
}

/// Returns owners of a lower and of a higher key than the gateway's.
fn owners() -> [String; 2] {
    let gateway = build::private_key("gateway").public_key();
    let owner = |is_lower: bool| {
        let mut names = (0..64).map(|number| format!("west{number}"));
        let fits = |name: &String| {
            let key = build::private_key(name).public_key();
            (key.bytes() < gateway.bytes()) == is_lower
        };
        names.find(fits).expect("a key")
    };
    [owner(true), owner(false)]
}

/// Whichever of both begins handshakes from then on, and if half of all datagrams are lost.
#[test]
fn a_gateway_joins_a_site() {
    let at = place("10.0.0.1:5000");
    for (seed, lost) in [(1, 0)].into_iter().chain((0..20).map(|seed| (seed, 50))) {
        for owner in owners() {
            let mut net = Net::new(seed, 100, Store::Works);
            net.lost = lost;
            net.of_gateway(seed, &owner, false);
            net.run();
            let joined = Some(&JoiningOutput::Joined(at));
            assert_eq!(net.results.last(), joined, "{owner}, seed {seed}");
            assert_eq!(net.claims.len(), 1, "{owner}, seed {seed}");
            if lost > 0 {
                continue;
            }
            // An interrupted run is repeated.
            net.of_gateway(seed, &owner, true);
            net.results.clear();
            net.run();
            assert_eq!(net.results.last(), joined, "{owner}, again");
            // Another gateway has the line, too.
            net.of_gateway(seed, "another", false);
            net.results.clear();
            net.run();
            let declined = JoiningOutput::Declined(Decline::Replaced);
            assert_eq!(net.results.last(), Some(&declined), "{owner}");
        }
    }
}

#[test]
fn a_refusal_reaches_the_new_host() {
    for reason in [
        ClaimRefusal::Expired,
        ClaimRefusal::Failed,
        ClaimRefusal::Fixed,
    ] {
        let mut net = Net::new(2, 0, Store::Refuses(reason));
        net.run();
        assert_eq!(net.results.last(), Some(&JoiningOutput::Refused(reason)));
    }
}

/// A peer that the operator configured with its key cannot change it, so nobody with a stolen key can lock it out.
#[test]
fn who_was_not_invited_is_refused() {
    let mut net = Net::new(3, 0, Store::Works);
    let invited = Peer {
        public: invitation().key().public_key(),
        ..build::peer("tablet", &[])
    };
    let config = build::config(Role::Gateway, "gateway", vec![invited]);
    net.gateway = build::host(config, build::entropy(3, "gateway"));
    net.gateway.handle_input(Instant::ZERO, Input::Wall(WALL));
    net.run();
    assert_eq!(
        net.results.last(),
        Some(&JoiningOutput::Refused(ClaimRefusal::Fixed))
    );
    assert_eq!(net.claims, []);
}

/// The line was used long ago: the derived key is a stranger's.
#[test]
fn a_used_line_gets_no_answer() {
    let mut net = Net::new(4, 0, Store::Works);
    let config = build::config(Role::Gateway, "gateway", vec![build::peer("other", &[])]);
    net.gateway = build::host(config, build::entropy(4, "gateway"));
    net.gateway.handle_input(Instant::ZERO, Input::Wall(WALL));
    net.run();
    assert_eq!(net.results, []);
}

/// A gateway that remembers the line says so; one that has taken this very host's claim before is joined.
#[test]
fn a_line_that_counts_no_more_is_named() {
    let invited = invitation().key().public_key();
    for reason in [Decline::Replaced, Decline::Expired, Decline::Revoked] {
        for knows_own in [false, true] {
            let mut net = Net::new(8, 0, Store::Works);
            let tablet = Peer {
                public: build::private_key("tablet").public_key(),
                ..build::peer("tablet", &[])
            };
            let peers = if knows_own { vec![tablet] } else { Vec::new() };
            let config = build::config(Role::Gateway, "gateway", peers);
            net.gateway = build::host(config, build::entropy(8, "gateway"));
            net.gateway.handle_input(Instant::ZERO, Input::Wall(WALL));
            let revoked = Input::Revoke(invited, reason);
            net.gateway.handle_input(Instant::ZERO, revoked);
            net.run();
            let joins = knows_own && reason == Decline::Replaced;
            let expected = if joins {
                JoiningOutput::Joined(place("10.0.0.1:5000"))
            } else {
                JoiningOutput::Declined(reason)
            };
            assert_eq!(net.results, [expected]);
            assert!(net.clock.now <= Instant::from_millis(2_200));
        }
    }
}

/// Each claim costs the driver a write to a disk.
#[test]
fn claims_are_passed_on_once_in_ten_seconds() {
    let mut net = Net::new(5, 0, Store::Works);
    net.run();
    assert_eq!(net.claims.len(), 1);
    let message = ClaimMessage::Claim([7; 32]).encode();
    assert_eq!(message.len(), ClaimMessage::LONGEST);
    let mut net = Net::new(5, 0, Store::Refuses(ClaimRefusal::Failed));
    net.run();
    let first = net.claims.len();
    // It joins again at once, with the same line.
    let again = joining(6, &invitation());
    net.joining = again;
    net.results.clear();
    let now = net.clock.now;
    net.joining
        .handle_input(now, JoiningInput::Begin(WALL + now.as_nanos()));
    net.drain();
    net.run();
    assert_eq!((first, net.claims.len()), (1, 2));
    assert!(
        net.clock.now >= now + Duration::from_secs(9),
        "{}",
        net.clock.now
    );
}

#[test]
fn it_keeps_the_contract_of_a_core() {
    let invitation = invitation();
    let from = place("10.0.0.1:5000");
    let inputs = [
        (Duration::ZERO, JoiningInput::Begin(WALL)),
        (DELAY, JoiningInput::Datagram(from, vec![4; 60])),
        (DELAY, JoiningInput::Datagram(from, Vec::new())),
        (DELAY, JoiningInput::Datagram(from, vec![2; 101])),
    ];
    conformance::check(|| joining(7, &invitation), &inputs, Duration::from_secs(60));
}
