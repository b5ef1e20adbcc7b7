//! A whole host, and a peer that has the right keys and sends anything under them.
//!
//! Whatever the peer does, the host must not panic, talk or wake up without end, hold more than its limit, release a
//! packet with the address of another, or connect to its own loopback. Afterwards a peer with the same key that does
//! as it should must be served.

mod intruder;
mod packets;
mod sockets;

use std::collections::VecDeque;
use std::net::IpAddr;

use association::{Profile, TcpMethod};
use hosts::{
    Caps, Config, Host, Input, Membership, Output, PathReport, Peer, ResolverTerms, Role,
    SplitTerms, TcpTerms,
};
use machine::{Machine, earlier};
use split::{End, Mobile, Scope};
use units::{BitRate, Bytes, Duration, Instant};
use wire::address::HopAddress;
use wire::ip::Ecn;
use wire::packet::{Packet, PacketBuffer};

use crate::cores::{entropy, key};
use crate::cursor::Cursor;
use crate::outcome::note;
use intruder::Intruder;
use sockets::Sockets;

/// Limit of outputs after one input.
const OUTPUTS_MAX: usize = 50_000;
/// Limit of deadlines in a time at which the host does nothing.
const IDLE_MAX: u32 = 2_000;
const IDLE_TIME: Duration = Duration::from_secs(1);
/// Limit of deadlines while a step of the tape waits.
const CALLS_MAX: u32 = 3_000;
const SECOND: Duration = Duration::from_secs(1);
/// Datagrams of the first handshake that the host gets at most, and the time that each takes, as on a long hop.
const HANDSHAKE: u8 = 2;
const ROUND_TRIP: Duration = Duration::from_millis(250);
/// Unix time at the start, in nanoseconds.
const WALL: u64 = 1_800_000_000_000_000_000;

/// The host, its peer, and the time.
struct Site {
    host: Host,
    role: Role,
    peer: Intruder,
    sockets: Sockets,
    now: Instant,
    /// Datagrams that have not reached the host yet.
    air: VecDeque<Vec<u8>>,
    /// Place that the peer's datagrams come from.
    place: u8,
    /// The last sealed datagram.
    last: Vec<u8>,
    /// Number of deadlines in a row at which the host did nothing, and the time of the first one.
    idle: (u32, Instant),
    /// Number of datagrams of the first handshake that have reached the host.
    came: u8,
}

/// Runs frames of any content that are sealed with the right keys, handshakes, waits, packets, sockets and reports, in
/// any order. The first two bytes choose the host, the method for TCP and the behaviour of the peer.
pub fn host_frames(bytes: &[u8]) {
    let mut cursor = Cursor(bytes);
    let mut site = Site::new(cursor.byte(), cursor.byte());
    for piece in crate::pieces(cursor.0) {
        site.step(&mut Cursor(piece));
    }
    site.serves_again();
}

/// Returns the method, the profile of streams, and the feature bits that a gateway sends for them.
fn method(number: u8) -> (TcpMethod, Option<Profile>, u64) {
    match number % 5 {
        0 => (TcpMethod::Arq, None, 0),
        1 => (TcpMethod::Snoop, None, 2),
        2 => (TcpMethod::Plain, None, 1),
        3 => (TcpMethod::Arq, Some(Profile::Wide), 8),
        _ => (TcpMethod::Arq, Some(Profile::Paper), 4),
    }
}

fn place(number: u8) -> HopAddress {
    HopAddress::Udp(([198, 51, 100, 1 + number % 3], 7_000).into())
}

fn config(role: Role, setting: u8, behaviour: u8) -> Config {
    let (tcp, split, _) = method(setting >> 1);
    let is_gateway = role == Role::Gateway;
    let (tcp, split) = match (is_gateway, split) {
        (true, None) => (TcpTerms::Choose(tcp), SplitTerms::Never),
        (true, Some(profile)) => (TcpTerms::Choose(tcp), SplitTerms::Choose(profile)),
        (false, _) => (TcpTerms::Follow, SplitTerms::Follow),
    };
    let (own, other, prefix) = match role {
        Role::Gateway => ("gateway", "mobile", ([10, 9, 0, 2].into(), 32)),
        Role::Mobile => ("mobile", "gateway", ([0, 0, 0, 0].into(), 0)),
    };
    let peer = Peer {
        name: other.into(),
        public: key(other).public_key(),
        preshared: None,
        endpoint: (!is_gateway).then(|| place(0)),
        prefixes: vec![prefix],
        tcp,
        split,
        caps: Caps {
            new_flows: (behaviour & 4 != 0).then_some(20),
            packets: (behaviour & 8 != 0).then_some(200),
            ..Caps::default()
        },
        resolver: ResolverTerms::Silent,
        tls_port: None,
        membership: Membership::default(),
        weight: 1,
    };
    let splits = split != SplitTerms::Never;
    let config = Config {
        role,
        key: key(own),
        peers: vec![peer],
        bearer_mtu: hosts::BearerMtu::up_to(1_500),
        mobile: hosts::MobileTerms::default(),
        exits: hosts::GuestExits::None,
        shared_air: (is_gateway && behaviour & 16 != 0).then(Default::default),
        rate: (behaviour & 32 != 0).then(|| BitRate::from_megabits(20)),
        snoop_cache: Bytes::mebi(1),
        memory: None,
        streams: splits.then_some(hosts::StreamLimits {
            receive_buffer: None,
            connections: 16,
            lean: behaviour & 64 != 0 && !is_gateway,
        }),
        split: splits.then(|| splitter(role)),
    };
    let memory = is_gateway.then(|| config.memory_least() + Bytes::mebi(1));
    Config { memory, ..config }
}

fn splitter(role: Role) -> split::Config {
    split::Config {
        end: match role {
            Role::Gateway => End::Gateway { transparent: true },
            Role::Mobile => End::Mobile,
        },
        mobiles: vec![Mobile {
            peer: 0,
            networks: vec!["10.9.0.2/32".parse().expect("a network")],
            scope: Scope::Every,
        }],
        buffer: Bytes::kibi(64),
        connections: 16,
        idle: Duration::from_secs(600),
        accepts_at_once: false,
        secret: 7,
    }
}

impl Site {
    /// Returns a host with an association, unless its peer sends nothing that the host can use.
    fn new(setting: u8, behaviour: u8) -> Self {
        let role = if setting & 1 == 0 {
            Role::Gateway
        } else {
            Role::Mobile
        };
        let (_, profile, features) = method(setting >> 1);
        let features = match role {
            // A mobile host follows, unless it does not.
            Role::Gateway if setting & 0x80 == 0 => 15,
            Role::Gateway => u64::from(setting >> 4),
            Role::Mobile => features,
        };
        let config = config(role, setting, behaviour);
        let mut site = Self {
            host: Host::new(config, entropy("draws of the host")).expect("a configuration"),
            role,
            peer: Intruder::new(role, 0, features),
            sockets: Sockets::default(),
            now: Instant::from_millis(1),
            air: VecDeque::new(),
            place: 0,
            last: Vec::new(),
            idle: (0, Instant::ZERO),
            came: 0,
        };
        let answers = behaviour & 1 == 0;
        site.peer
            .set_answers(answers, profile.unwrap_or(Profile::Wide));
        site.input(Input::Wall(WALL));
        site.peer.connect(site.now);
        site.settle();
        assert!(site.peer.is_connected(), "the peer has the right key");
        site
    }

    fn step(&mut self, cursor: &mut Cursor<'_>) {
        let kind = cursor.byte() % 20;
        let content = match kind {
            0 => return self.wait(Duration::from_millis(u64::from(cursor.byte()).pow(2))),
            1 => return self.wait(Duration::from_millis(cursor.byte().into())),
            2 => self.peer.raw(cursor.0),
            3..=6 => self.peer.composed(cursor),
            7 | 8 => self.peer.completed(cursor.0),
            9 => self.peer.syn(cursor),
            10 => cursor.0.to_vec(),
            11 => Intruder::message(cursor),
            12 | 13 => {
                let packet = packets::packet(cursor, self.role == Role::Mobile);
                let packet = Packet::new(PacketBuffer::copy_of(&packet));
                return self.input(Input::Packet(packet));
            }
            14 => {
                let packet = Packet::new(PacketBuffer::copy_of(cursor.0));
                return self.input(Input::Packet(packet));
            }
            15 | 16 => {
                self.sockets.step(cursor);
                return self.settle();
            }
            17 => return self.other(cursor),
            18 => {
                self.place = cursor.byte();
                self.peer.composed(cursor)
            }
            _ => self.peer.all_heard(),
        };
        self.send(&content);
        self.settle();
    }

    /// Does what is neither a frame nor a packet.
    fn other(&mut self, cursor: &mut Cursor<'_>) {
        let (kind, number) = (cursor.byte(), cursor.short());
        let to = place(number as u8);
        match kind % 8 {
            0 => self.peer.connect(self.now),
            1 => self.air.push_back(self.last.clone()),
            2 => self.input(Input::PortRefused(to)),
            3 => self.input(Input::Unreachable(to)),
            4 => self.input(Input::LinkChanging),
            5 => self.input(Input::LinkUp),
            6 => {
                let news = PathReport::Said(number.into());
                self.input(Input::Path { to, news });
            }
            _ => {
                let error = u64::from(number) << (cursor.byte() % 48);
                let wall = WALL + self.now.as_nanos();
                self.input(Input::Wall(
                    wall.wrapping_add(error).wrapping_sub(error / 3),
                ));
            }
        }
        self.settle();
    }

    /// Seals what the peer sends, if it has keys.
    fn send(&mut self, content: &[u8]) {
        if let Some(datagram) = self.peer.seal(self.now, content) {
            self.last.clone_from(&datagram);
            self.air.push_back(datagram);
        }
    }

    fn input(&mut self, input: Input) {
        self.host.handle_input(self.now, input);
        self.drain();
        self.settle();
    }

    /// Delivers all that is under way, until nothing is.
    fn settle(&mut self) {
        for _ in 0..OUTPUTS_MAX {
            if let Some(datagram) = self.peer.poll_datagram() {
                self.air.push_back(datagram);
            } else if let Some(datagram) = self.air.pop_front() {
                if self.came < HANDSHAKE {
                    (self.came, self.now) = (self.came + 1, self.now + ROUND_TRIP);
                }
                let input = Input::Datagram {
                    from: place(self.place),
                    arrived: self.now,
                    ecn: Ecn::CongestionExperienced,
                    buffer: PacketBuffer::copy_of(&datagram),
                };
                self.host.handle_input(self.now, input);
                self.drain();
            } else if let Some(event) = self.sockets.poll_event() {
                self.host.handle_input(self.now, Input::System(event));
                self.drain();
            } else {
                return;
            }
        }
        panic!("they talk without end");
    }

    /// Takes the outputs of the host.
    fn drain(&mut self) {
        for _ in 0..OUTPUTS_MAX {
            let Some(output) = self.host.poll_output() else {
                let (held, most) = self.host.memory();
                assert!(held <= most, "{held} of at most {most} are held");
                return;
            };
            self.idle.0 = 0;
            self.carry_out(output);
        }
        panic!("it talks without end");
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Datagram { buffer, .. } => {
                let mut datagram = buffer.to_vec();
                self.peer.arrived(self.now, &mut datagram);
                for reply in std::mem::take(&mut self.peer.replies) {
                    self.send(&reply);
                }
            }
            Output::Packet(packet) => {
                let ip = packet.ip().expect("what is released is a packet");
                note(&ip.transport());
                // A held SYN of the wired side goes to the gateway's own stack.
                let mobile = IpAddr::from([10, 9, 0, 2]);
                let is_own = ip.source() == mobile || ip.destination() == mobile;
                let is_own = is_own || self.role == Role::Mobile;
                assert!(is_own, "a packet with the address of another");
                self.sockets.packet(&packet);
            }
            Output::System(request) => self.sockets.carry_out(request),
            Output::Seek { peer } => {
                let at = place(0);
                self.host.handle_input(self.now, Input::Found { peer, at });
            }
            Output::Claim { .. } => panic!("it may not claim a key"),
            Output::Resolvers(_) | Output::Exits { .. } | Output::HandedOver(_) | Output::Told => {
                panic!("it neither asks nor stands in")
            }
            Output::Event(event) => note(&event.kind),
        }
    }

    /// Lets time pass; less, if much happens in it.
    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        for _ in 0..CALLS_MAX {
            let due = earlier(self.host.poll_timeout(), self.peer.poll_timeout());
            let Some(due) = due.filter(|due| *due <= end) else {
                self.now = end;
                return;
            };
            self.now = due.max(self.now);
            if self.host.poll_timeout().is_some_and(|due| due <= self.now) {
                if self.idle.0 == 0 || self.now.since(self.idle.1) > IDLE_TIME {
                    self.idle = (0, self.now);
                }
                self.host.handle_timeout(self.now);
                self.idle.0 += 1;
                self.drain();
                let is_idle = self.idle.0 > IDLE_MAX;
                assert!(!is_idle, "it wakes up for nothing, again and again");
            }
            self.peer.handle_timeout(self.now);
            self.settle();
        }
    }

    /// Checks that a peer with the same key gets new keys and acknowledgements.
    fn serves_again(&mut self) {
        self.place = 0;
        self.input(Input::LinkUp);
        self.wait(Duration::from_secs(20));
        note(&self.host.status(self.now).datagrams_dropped.len());
        let (role, life) = (self.role, 1 << 20);
        self.peer = Intruder::new(role, life, 15);
        self.input(Input::Wall(WALL + self.now.as_nanos()));
        self.peer.connect(self.now);
        self.settle();
        // A mobile host notices by its own datagrams that its gateway has other keys.
        for _ in 0..300 {
            if self.peer.is_connected() {
                break;
            }
            let packet = packets::packet(&mut Cursor(&[]), self.role == Role::Mobile);
            let packet = Packet::new(PacketBuffer::copy_of(&packet));
            self.input(Input::Packet(packet));
            self.wait(SECOND);
        }
        assert!(self.peer.is_connected(), "a peer gets no keys any more");
        let before = self.peer.acknowledged();
        let probe = self.peer.raw(&[0x40]);
        self.send(&probe);
        self.settle();
        self.wait(Duration::from_secs(5));
        assert!(
            self.peer.acknowledged() > before,
            "a probe is not acknowledged"
        );
    }
}
