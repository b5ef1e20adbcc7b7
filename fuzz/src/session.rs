//! Two ends of a session on an air that does anything with their datagrams.

use machine::RandomStream;
use session::{
    DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, DropCause, Endpoint, Limits, Output, PeerConfig,
    PeerId, PrivateKey, PublicKey, Received, Role, SealError,
};
use std::collections::{BTreeMap, BTreeSet};
use units::{Duration, Instant};
use wire::address::HopAddress;

const MOBILE: usize = 0;
const GATEWAY: usize = 1;
const NAMES: [&str; 2] = ["mobile", "gateway"];
/// Most datagrams on the air, and most that an attacker has recorded.
const AIR: usize = 64;
const RECORDED: usize = 256;
/// First byte of a data datagram, and the end of its receiver index.
const DATA: u8 = 4;
const INDEX_END: usize = 5;
/// Last bytes of a handshake message, which are read only under load.
const MAC2_BYTES: usize = 16;
/// Time for which keys may serve.
const KEYS_LIVE: Duration = Duration::from_secs(180);

/// A datagram and its receiver.
type Datagram = (usize, Vec<u8>);

/// Both ends, and the air between them.
struct World {
    ends: [Endpoint; 2],
    peers: [PeerId; 2],
    lives: u64,
    now: Instant,
    air: Vec<Datagram>,
    recorded: Vec<Datagram>,
    /// Number of contents sealed, and those that were opened.
    sealed: u64,
    opened: BTreeSet<u64>,
    /// First time of sealing, by sender and receiver index.
    since: BTreeMap<(usize, [u8; 4]), Instant>,
    random: RandomStream,
}

/// Runs data, silence, losses, copies, changes, floods and restarts: nothing is opened twice (S4), no key serves for
/// more than three minutes (S7), a flood costs no more computations than the budget (S2). In the end data cross.
pub fn session_tape(bytes: &[u8]) {
    let (gateway, mobile) = (endpoint(GATEWAY, 0), endpoint(MOBILE, 0));
    let mut world = World {
        ends: [mobile.0, gateway.0],
        peers: [mobile.1, gateway.1],
        lives: 0,
        now: Instant::from_millis(1),
        air: Vec::new(),
        recorded: Vec::new(),
        sealed: 0,
        opened: BTreeSet::new(),
        since: BTreeMap::new(),
        random: RandomStream::named(bytes.len() as u64, "air"),
    };
    world.connect();
    for step in bytes.chunks_exact(2) {
        world.step(step[0] % 16, step[1]);
    }
    world.end();
}

/// Returns limits with a budget for few computations, since those take most of a run's time.
fn limits() -> Limits {
    Limits {
        handshakes_per_second: 30,
        handshake_burst: 16,
        ..Limits::default()
    }
}

fn key(name: &str) -> PrivateKey {
    let mut stream = RandomStream::named(1, name);
    PrivateKey::generate(&mut |buffer: &mut [u8]| stream.fill(buffer))
}

/// Returns an endpoint without peers in one of its lives.
fn alone(name: &str, life: u64) -> Endpoint {
    let config = session::Config {
        private_key: key(name),
        wall_clock_at_origin: 1_800_000_000_000_000_000,
        limits: limits(),
    };
    let mut stream = RandomStream::named(life, name);
    Endpoint::new(
        config,
        Box::new(move |buffer: &mut [u8]| stream.fill(buffer)),
    )
}

fn peer(public_key: PublicKey, role: Role) -> PeerConfig {
    PeerConfig {
        public_key,
        preshared_key: None,
        role,
        features: 0,
    }
}

fn endpoint(host: usize, life: u64) -> (Endpoint, PeerId) {
    let mut endpoint = alone(NAMES[host], life);
    let role = [Role::Initiator, Role::Responder][host];
    let other = key(NAMES[1 - host]).public_key();
    let id = endpoint
        .add_peer(peer(other, role))
        .expect("the keys differ");
    (endpoint, id)
}

fn address(host: usize) -> HopAddress {
    HopAddress::Udp(([192, 0, 2, host as u8], 9).into())
}

impl World {
    fn connect(&mut self) {
        let peer = self.peers[MOBILE];
        self.ends[MOBILE]
            .connect(self.now, peer)
            .expect("an initiator");
        self.drain();
    }

    fn step(&mut self, kind: u8, number: u8) {
        let place = usize::from(number) % self.air.len().max(1);
        let time = u64::from(number);
        match kind {
            0 => self.wait(Duration::from_millis(time)),
            1 if number >= 128 => self.wait(Duration::from_secs(time - 100)),
            1 => self.wait(Duration::from_millis(time * time)),
            2..=4 => self.seal(usize::from(number & 1)),
            5..=9 if !self.air.is_empty() => {
                let datagram = self.air.swap_remove(place);
                self.deliver(datagram);
            }
            10 if !self.air.is_empty() => self.deliver(self.air[place].clone()),
            11 if !self.air.is_empty() => drop(self.air.swap_remove(place)),
            12 if !self.recorded.is_empty() => {
                let place = usize::from(number) % self.recorded.len();
                self.deliver(self.recorded[place].clone());
            }
            13 => self.change(number),
            14 if number < 64 => self.flood(number),
            15 if number < 16 => self.restart(usize::from(number & 1)),
            _ => {}
        }
    }

    /// Seals a content that no other datagram has.
    fn seal(&mut self, host: usize) {
        let mut datagram = vec![0; DATA_OVERHEAD_BYTES + 8];
        datagram[DATA_HEADER_BYTES..][..8].copy_from_slice(&self.sealed.to_be_bytes());
        match self.ends[host].seal(self.now, self.peers[host], &mut datagram) {
            Ok(_) => self.send(host, datagram),
            Err(error) => assert_eq!(error, SealError::NoSession),
        }
        self.sealed += 1;
        self.drain();
    }

    fn send(&mut self, from: usize, datagram: Vec<u8>) {
        if let Some(index) = datagram[..INDEX_END].last_chunk::<4>()
            && datagram[0] == DATA
        {
            let age = self
                .now
                .since(*self.since.entry((from, *index)).or_insert(self.now));
            assert!(age <= KEYS_LIVE, "S7: keys of {age} seal");
        }
        let datagram = (1 - from, datagram);
        if self.recorded.len() < RECORDED {
            self.recorded.push(datagram.clone());
        }
        if self.air.len() < AIR {
            self.air.push(datagram);
        }
    }

    fn drain(&mut self) {
        for host in [MOBILE, GATEWAY] {
            while let Some(output) = self.ends[host].poll_output() {
                if let Output::Transmit { datagram, .. } = output {
                    self.send(host, datagram);
                }
            }
        }
    }

    fn deliver(&mut self, (to, mut datagram): Datagram) {
        let index = datagram[1..INDEX_END].first_chunk::<4>().copied();
        let since = index
            .and_then(|index| self.since.get(&(1 - to, index)))
            .copied();
        let from = Some(address(1 - to));
        let received = self.ends[to].handle_datagram_from(self.now, from, &mut datagram);
        crate::note(&received);
        if let Received::Data { plaintext, .. } = received
            && let Some(number) = plaintext.first_chunk::<8>()
        {
            let number = u64::from_be_bytes(*number);
            assert!(
                self.opened.insert(number),
                "S4: datagram {number} is opened twice"
            );
            let age = since.map_or(Duration::ZERO, |since| self.now.since(since));
            assert!(age <= KEYS_LIVE, "S7: keys of {age} open");
        }
        self.drain();
    }

    /// Delivers a recorded datagram with one bit changed, to which nothing may happen.
    fn change(&mut self, number: u8) {
        let Some((to, datagram)) = self.recorded.last() else {
            return;
        };
        let (to, mut datagram) = (*to, datagram.clone());
        let is_data = datagram[0] == DATA;
        let checked = datagram.len() - if is_data { 0 } else { MAC2_BYTES };
        datagram[usize::from(number) % checked] ^= 1 << self.random.below(8);
        let received = self.ends[to].handle_datagram_from(self.now, None, &mut datagram);
        assert!(matches!(received, Received::Dropped(_)), "{received:?}");
        assert!(self.ends[to].poll_output().is_none(), "S1: an answer");
    }

    /// Sends initiations of a host that is no peer, at one time.
    fn flood(&mut self, count: u8) {
        let mut stranger = alone("stranger", 0);
        let gateway = peer(key("gateway").public_key(), Role::Initiator);
        let gateway = stranger.add_peer(gateway).expect("the keys differ");
        stranger.connect(self.now, gateway).expect("an initiator");
        let Some(Output::Transmit { datagram, .. }) = stranger.poll_output() else {
            panic!("no initiation");
        };
        let computed = |end: &Endpoint| end.counters().dropped(DropCause::UnknownPeer);
        let before = computed(&self.ends[GATEWAY]);
        for number in 0..count {
            let from = HopAddress::Udp(([198, 18, 0, number], 9).into());
            let mut datagram = datagram.clone();
            self.ends[GATEWAY].handle_datagram_from(self.now, Some(from), &mut datagram);
        }
        let computed = computed(&self.ends[GATEWAY]) - before;
        let most = limits().handshake_burst;
        assert!(
            computed <= most.into(),
            "S2: {computed} of {count} are computed at once"
        );
    }

    /// Restarts an end: all its state is gone.
    fn restart(&mut self, host: usize) {
        self.lives += 1;
        (self.ends[host], self.peers[host]) = endpoint(host, self.lives);
        if host == MOBILE {
            self.connect();
        }
    }

    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        let due = |ends: &[Endpoint; 2]| {
            let [mobile, gateway] = ends;
            machine::earlier(mobile.poll_timeout(), gateway.poll_timeout())
        };
        while let Some(due) = due(&self.ends).filter(|due| *due <= end) {
            self.now = due.max(self.now);
            for host in [MOBILE, GATEWAY] {
                self.ends[host].handle_timeout(self.now);
            }
            self.drain();
        }
        self.now = end;
    }

    /// Ends all faults: data must cross within seconds.
    fn end(&mut self) {
        self.air.clear();
        for _ in 0..60 {
            let first = self.sealed;
            self.seal(MOBILE);
            while !self.air.is_empty() {
                let datagram = self.air.remove(0);
                self.deliver(datagram);
            }
            if self.opened.contains(&first) {
                return;
            }
            self.wait(Duration::from_millis(250));
        }
        panic!("R11: no data cross long after the last fault");
    }
}

/// Reads a text as a key of each kind: neither an error nor a public key shows a part of a secret (S9).
pub fn key_texts(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut shown = Vec::new();
    shown.extend(
        text.parse::<PrivateKey>()
            .err()
            .map(|error| error.to_string()),
    );
    shown.extend(
        text.parse::<session::PresharedKey>()
            .err()
            .map(|error| error.to_string()),
    );
    shown.push(match text.parse::<PublicKey>() {
        Ok(key) => key.to_string(),
        Err(error) => error.to_string(),
    });
    let kinds = ["lasthop-sk1-", "lasthop-psk1-"];
    let secret = kinds.iter().find_map(|kind| text.trim().strip_prefix(kind));
    for part in secret.unwrap_or_default().as_bytes().windows(8) {
        let part = String::from_utf8_lossy(part);
        // An error may name the prefixes, which are no secret.
        let is_secret = !kinds.iter().any(|kind| kind.contains(&*part));
        let is_shown = is_secret && shown.iter().any(|shown| shown.contains(&*part));
        assert!(!is_shown, "S9: a part of a secret is shown");
    }
}
