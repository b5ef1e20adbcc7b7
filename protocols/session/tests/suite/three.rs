//! Three hosts, two of them with one key, in every order of their handshakes: both ends of a session always mean the
//! same association, and the one that is alone at the end goes on.

use std::collections::{BTreeMap, VecDeque};

use machine::RandomStream;
use session::{Config, Endpoint, Event, Limits, Output, PeerConfig, PeerId, Received, Role};
use units::{Duration, Instant};

use crate::common::{buffer, endpoint, private_key};

/// Longer than an initiation is repeated.
const LONG: Duration = Duration::from_secs(61);

/// Each datagram makes the keys due for renewal, which the tests call for; they do not expire.
fn limits() -> Limits {
    Limits {
        rekey_after_messages: 1,
        reject_after: Duration::from_secs(1_000_000),
        ..Limits::default()
    }
}

/// One host, and what is on the way from it to its partner.
struct Node {
    endpoint: Endpoint,
    peer: PeerId,
    /// Number of its association, unique among all of them.
    association: usize,
    on_way: VecDeque<Vec<u8>>,
    shared: usize,
}

/// Mobile hosts with one key and gateways with one key. Each mobile host has a way of its own to and from a gateway.
struct Net {
    mobiles: Vec<Node>,
    gateways: Vec<Node>,
    /// Gateway that has the address of all of them.
    active: usize,
    /// What is on the way from the gateways to each mobile host.
    back: Vec<VecDeque<Vec<u8>>>,
    now: Instant,
    lives: u64,
    associations: usize,
    /// The association whose data each one has opened, or that has opened its data.
    partners: BTreeMap<usize, usize>,
    /// Every datagram sent, by its destination.
    sent: Vec<(bool, usize, Vec<u8>)>,
}

impl Net {
    fn new(mobiles: usize, gateways: usize) -> Self {
        let mut net = Self {
            mobiles: Vec::new(),
            gateways: Vec::new(),
            active: 0,
            back: vec![VecDeque::new(); mobiles],
            now: Instant::ZERO,
            lives: 0,
            associations: 0,
            partners: BTreeMap::new(),
            sent: Vec::new(),
        };
        net.mobiles = (0..mobiles).map(|_| net.node(Role::Initiator)).collect();
        net.gateways = (0..gateways).map(|_| net.node(Role::Responder)).collect();
        net
    }

    fn node(&mut self, role: Role) -> Node {
        self.lives += 1;
        self.associations += 1;
        let names = ["mobile", "gateway"];
        let own = usize::from(role == Role::Responder);
        let mut endpoint = endpoint(self.lives, names[own], limits());
        let config = PeerConfig {
            public_key: private_key(7, names[1 - own]).public_key(),
            preshared_key: None,
            role,
            features: 0,
        };
        let peer = endpoint.add_peer(config).expect("the keys differ");
        Node {
            endpoint,
            peer,
            association: self.associations,
            on_way: VecDeque::new(),
            shared: 0,
        }
    }

    /// Loses what is on the way from and to a mobile host, and makes it initiate.
    fn initiate(&mut self, mobile: usize) {
        self.now += LONG;
        let node = &mut self.mobiles[mobile];
        node.endpoint
            .connect(self.now, node.peer)
            .expect("it initiates");
        node.endpoint.handle_timeout(self.now);
        node.on_way.clear();
        self.back[mobile].clear();
        self.drain_mobile(mobile);
        self.mobiles[mobile]
            .on_way
            .retain(|datagram| datagram[0] == 1);
    }

    fn restart_mobile(&mut self, mobile: usize) {
        self.mobiles[mobile] = self.node(Role::Initiator);
        self.initiate(mobile);
    }

    fn restart_gateway(&mut self) {
        self.gateways[self.active] = self.node(Role::Responder);
    }

    /// Lets the next thing happen between a mobile host and the gateway: what is on the way arrives, and if nothing is,
    /// each sends data.
    fn step(&mut self, mobile: usize) {
        if let Some(datagram) = self.mobiles[mobile].on_way.pop_front() {
            self.arrive_at_gateway(mobile, datagram);
        } else if let Some(datagram) = self.back[mobile].pop_front() {
            self.arrive_at_mobile(mobile, datagram);
        } else {
            for is_mobile in [true, false] {
                let node = if is_mobile {
                    &mut self.mobiles[mobile]
                } else {
                    &mut self.gateways[self.active]
                };
                let mut datagram = buffer(&(node.association as u64).to_le_bytes());
                if node
                    .endpoint
                    .seal(self.now, node.peer, &mut datagram)
                    .is_ok()
                {
                    self.launch(is_mobile, mobile, datagram);
                }
            }
        }
    }

    fn launch(&mut self, to_gateway: bool, mobile: usize, datagram: Vec<u8>) {
        self.sent.push((to_gateway, mobile, datagram.clone()));
        if to_gateway {
            self.mobiles[mobile].on_way.push_back(datagram);
        } else {
            self.back[mobile].push_back(datagram);
        }
    }

    fn arrive_at_gateway(&mut self, mobile: usize, mut datagram: Vec<u8>) {
        let node = &mut self.gateways[self.active];
        let sender = opened(&node.endpoint.handle_datagram(self.now, &mut datagram));
        while let Some(output) = node.endpoint.poll_output() {
            match output {
                Output::Transmit { datagram, .. } => {
                    self.sent.push((false, mobile, datagram.clone()));
                    self.back[mobile].push_back(datagram);
                }
                Output::Event(event) => note(node, &event, &mut self.associations),
            }
        }
        let receiver = node.association;
        self.pair(sender, receiver);
    }

    fn arrive_at_mobile(&mut self, mobile: usize, mut datagram: Vec<u8>) {
        let node = &mut self.mobiles[mobile];
        let sender = opened(&node.endpoint.handle_datagram(self.now, &mut datagram));
        self.drain_mobile(mobile);
        self.pair(sender, self.mobiles[mobile].association);
    }

    fn drain_mobile(&mut self, mobile: usize) {
        while let Some(output) = self.mobiles[mobile].endpoint.poll_output() {
            match output {
                Output::Transmit { datagram, .. } => self.launch(true, mobile, datagram),
                Output::Event(event) => {
                    note(&mut self.mobiles[mobile], &event, &mut self.associations);
                }
            }
        }
    }

    /// Checks that data crosses only between two associations that never have another partner.
    fn pair(&mut self, sender: Option<usize>, receiver: usize) {
        let Some(sender) = sender else { return };
        for (one, other) in [(sender, receiver), (receiver, sender)] {
            let partner = *self.partners.entry(one).or_insert(other);
            assert_eq!(partner, other, "association {one} has two partners");
        }
    }

    /// Runs a mobile host alone, and checks that data crosses both ways soon.
    fn heal(&mut self, mobile: usize) {
        self.initiate(mobile);
        // The handshake and its confirmation, then data and what it causes.
        for _ in 0..8 {
            self.step(mobile);
        }
        let (one, other) = (&self.mobiles[mobile], &self.gateways[self.active]);
        let both = [(one, other), (other, one)];
        for (node, partner) in both {
            let known = self.partners.get(&node.association);
            assert_eq!(known, Some(&partner.association), "they do not meet");
        }
    }
}

fn note(node: &mut Node, event: &Event, associations: &mut usize) {
    match event {
        Event::Established {
            begins_anew: true, ..
        } => {
            *associations += 1;
            node.association = *associations;
        }
        Event::KeyShared { .. } => node.shared += 1,
        _ => {}
    }
}

/// Returns the association that sent the data, if there is any.
fn opened(received: &Received) -> Option<usize> {
    match received {
        Received::Data { plaintext, .. } if plaintext.len() == 8 => {
            Some(usize::from(u16::from_le_bytes([
                plaintext[0],
                plaintext[1],
            ])))
        }
        _ => None,
    }
}

/// Returns all sequences of `length` numbers below `choices`.
fn sequences(choices: usize, length: u32) -> impl Iterator<Item = Vec<usize>> {
    (0..choices.pow(length)).map(move |mut rest| {
        let digits = (0..length).map(|_| {
            let digit = rest % choices;
            rest /= choices;
            digit
        });
        digits.collect()
    })
}

#[test]
fn two_mobiles_with_one_key_agree_with_their_gateway_in_every_order() {
    for order in sequences(4, 6).chain(sequences(6, 4)) {
        let mut net = Net::new(2, 1);
        net.initiate(0);
        for action in &order {
            match action {
                0 | 1 => net.step(*action),
                2 | 3 => net.initiate(action - 2),
                4 => net.restart_mobile(0),
                _ => net.restart_gateway(),
            }
        }
        println!("{order:?}");
        net.heal(0);
        net.heal(1);
    }
}

#[test]
fn a_mobile_agrees_with_either_of_two_gateways_with_one_key_in_every_order() {
    for order in sequences(3, 6).chain(sequences(5, 4)) {
        let mut net = Net::new(1, 2);
        net.heal(0);
        for action in &order {
            match action {
                0 => net.step(0),
                1 => net.initiate(0),
                2 => net.active = 1 - net.active,
                3 => net.restart_mobile(0),
                _ => net.restart_gateway(),
            }
        }
        println!("{order:?}");
        net.heal(0);
        net.active = 1 - net.active;
        net.heal(0);
    }
}

/// Old datagrams come again, and to the other host with the key.
#[test]
fn long_walks_with_copies_keep_the_associations_apart() {
    for seed in 0..60 {
        let (mobiles, gateways) = [(2, 1), (1, 2), (2, 2)][(seed % 3) as usize];
        let mut net = Net::new(mobiles, gateways);
        let mut chance = RandomStream::named(seed, "walk");
        let any = |chance: &mut RandomStream, count: usize| chance.below(count as u64) as usize;
        println!("seed {seed}");
        for _ in 0..80 {
            let mobile = any(&mut chance, mobiles);
            match chance.below(16) {
                0 => net.initiate(mobile),
                1 => net.active = any(&mut chance, gateways),
                2 if chance.below(4) == 0 => net.restart_mobile(mobile),
                3 if chance.below(4) == 0 => net.restart_gateway(),
                4..=6 if !net.sent.is_empty() => {
                    let (to_gateway, _, datagram) =
                        net.sent[any(&mut chance, net.sent.len())].clone();
                    if to_gateway {
                        net.arrive_at_gateway(mobile, datagram);
                    } else {
                        net.arrive_at_mobile(mobile, datagram);
                    }
                }
                _ => net.step(mobile),
            }
        }
        for mobile in 0..mobiles {
            net.heal(mobile);
        }
    }
}

#[test]
fn both_hosts_and_the_gateway_are_told_of_a_shared_key() {
    let mut net = Net::new(2, 1);
    for mobile in [0, 1] {
        net.heal(mobile);
        net.heal(mobile);
    }
    let told =
        |net: &Net| [&net.mobiles[0], &net.mobiles[1], &net.gateways[0]].map(|node| node.shared);
    assert_eq!(
        told(&net),
        [0, 0, 0],
        "a host that starts anew looks the same"
    );
    net.heal(0);
    assert_eq!(told(&net), [1, 0, 1]);
    net.heal(1);
    assert_eq!(told(&net), [1, 1, 2]);
    net.heal(1);
    assert_eq!(told(&net), [1, 1, 2]);
}

/// Neither restarts, nor answers that are lost, nor confirmations look like a second host.
#[test]
fn a_host_that_is_alone_is_never_taken_for_two() {
    for order in sequences(4, 5) {
        let mut net = Net::new(1, 1);
        for action in &order {
            match action {
                0 | 1 => net.step(0),
                2 => net.initiate(0),
                _ if net.lives.is_multiple_of(2) => net.restart_mobile(0),
                _ => net.restart_gateway(),
            }
        }
        net.heal(0);
        let told = [&net.mobiles[0], &net.gateways[0]].map(|node| node.shared);
        assert_eq!(told, [0, 0], "{order:?}");
    }
}

/// A copy of a running host has its sessions too; what differs is only what it draws from then on.
#[test]
fn a_copy_of_a_running_host_is_noticed() {
    let twin = |life: u64| {
        let mut common = RandomStream::named(1, "common");
        let mut own = RandomStream::named(life, "own");
        let mut drawn = 0;
        let entropy = move |buffer: &mut [u8]| {
            drawn += 1;
            // Index, ephemeral and jitter of the first handshake are drawn before the copy is made.
            if drawn <= 3 {
                common.fill(buffer);
            } else {
                own.fill(buffer);
            }
        };
        let config = Config {
            private_key: private_key(7, "mobile"),
            wall_clock_at_origin: 1_700_000_000_000_000_000,
            limits: limits(),
        };
        Endpoint::new(config, Box::new(entropy))
    };
    let mut net = Net::new(2, 1);
    for (mobile, life) in [(0, 1), (1, 2)] {
        let mut endpoint = twin(life);
        let config = PeerConfig {
            public_key: private_key(7, "gateway").public_key(),
            preshared_key: None,
            role: Role::Initiator,
            features: 0,
        };
        net.mobiles[mobile].peer = endpoint.add_peer(config).expect("the keys differ");
        net.mobiles[mobile].endpoint = endpoint;
    }
    net.initiate(0);
    net.now = Instant::ZERO;
    net.initiate(1);
    assert_eq!(
        net.mobiles[0].on_way, net.mobiles[1].on_way,
        "one host so far"
    );
    net.step(0);
    let answer = net.back[0].front().cloned().expect("an answer");
    net.back[1].push_back(answer);
    net.mobiles[1].on_way.clear();
    net.step(0);
    net.step(1);
    net.mobiles[1].association = net.mobiles[0].association;
    net.mobiles[1].on_way.clear();
    for _ in 0..4 {
        net.step(0);
    }
    // The copy renews its keys first, as if it were the one; then the other is superseded.
    net.heal(1);
    assert_eq!(net.gateways[0].shared, 0);
    net.initiate(0);
    for _ in 0..8 {
        net.step(0);
    }
    assert_eq!(
        [&net.mobiles[0], &net.gateways[0]].map(|node| node.shared),
        [1, 1]
    );
}
