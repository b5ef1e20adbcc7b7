//! Two hosts, a channel and a clock.

pub(crate) mod cell;
mod clock;
mod crossing;
pub(crate) mod intruder;
mod mark;
pub(crate) mod paths;
pub(crate) mod place;
pub(crate) mod site;
mod splitting;
mod tls;
pub(crate) mod trouble;
pub(crate) mod tunnels;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::LazyLock;

pub(crate) use build::{datagram, private_key};
use channel::{Channel, Direction, Link};
use hosts::{
    Config, EventKind, Host, Input, Output, Peer, PeerStatus, Profile, Role, SplitTerms,
    StreamLimits, TcpMethod, TcpTerms,
};
use machine::Machine;
use rivals::{Crossing, Rivals};
pub(crate) use sites::{GATEWAY, MOBILE, WALL, build, ends, roaming, traffic};
use sockets::System;
use split::Refusal;
pub(crate) use traffic::{Received, Traffic, port_of};
use units::{Bytes, Duration, Instant};
use wire::address::HopAddress;
use wire::packet::{Packet, PacketBuffer};

/// Where they are, by version of the outer protocol.
static ENDS: LazyLock<[[HopAddress; 2]; 2]> = LazyLock::new(|| {
    let ends = [
        ["10.0.0.2:5000", "10.0.0.1:5000"],
        ["[fd00::2]:5000", "[fd00::1]:5000"],
    ];
    ends.map(|ends| ends.map(|end| end.parse().expect("an address")))
});
const AROUND_UDP: usize = 14 + 20 + 8;
/// The port of small requests and their replies.
const REQUESTS: u16 = 9_000;

/// Bytes that wait at a host while its bulk flows go on.
const BACKLOG: Bytes = Bytes::kibi(40);

/// Content of a transmission on the channel.
#[derive(Clone)]
pub(crate) enum Cargo {
    /// A datagram of the tunnel, with the host that it goes to, and when it was sent.
    Datagram(usize, PacketBuffer, Instant),
    /// A segment of somebody else.
    Rival(Crossing),
    /// A packet of somebody who sends at a constant rate.
    Other,
}

/// A mobile host and its gateway.
pub(crate) struct Pair {
    pub(crate) hosts: [Host; 2],
    pub(crate) channel: Channel<Cargo>,
    /// Somebody else's connections across the same channel.
    pub(crate) rivals: Rivals,
    pub(crate) now: Instant,
    /// While nothing comes through at all.
    pub(crate) blackout: Range<Instant>,
    /// The last datagrams that were sent, with the host that they go to.
    pub(crate) recent: VecDeque<(usize, PacketBuffer)>,
    pub(crate) events: Vec<(Instant, usize, EventKind)>,
    /// When each request was sent, and how long its reply took.
    pub(crate) replies: Vec<(Instant, Duration)>,
    /// The sockets of each host, where TCP is split.
    pub(crate) systems: [System; 2],
    /// Answer of fixed hosts and applications, at once, to a connection request.
    pub(crate) answer: Option<Result<(), Refusal>>,
    /// Events of the systems are being handed in.
    handing_in: bool,
    /// Inputs of one host, if they are recorded.
    pub(crate) record: Option<(usize, Vec<(Instant, Input)>)>,
    mark: mark::Mark,
    /// Allocations inside the hosts while they are counted.
    pub(crate) allocations: Option<u64>,
    pub(crate) trouble: trouble::Trouble,
    pub(crate) network: paths::Network,
    link: Link,
    setting: Setting,
    traffic: Vec<Traffic>,
    requests: Option<(Traffic, Traffic, Instant)>,
    waiting: VecDeque<Instant>,
    received: BTreeMap<u16, Received>,
    pending: VecDeque<(usize, Output)>,
    ends: Option<ends::Ends>,
    /// Datagrams that have left the channel.
    datagrams: u64,
    /// A host whose datagrams are refused by its own system, and how many were.
    pub(crate) severed: Option<usize>,
    pub(crate) refused: u64,
    /// When the mobile host looked for which peer.
    pub(crate) sought: Vec<(Instant, usize)>,
    pub(crate) place: place::Place,
    /// Deadlines that came, of each host.
    pub(crate) wakes: [u64; 2],
    /// When each datagram to the mobile host was sent and came, while that is noted.
    pub(crate) crossings: Option<Vec<(Instant, Instant)>>,
}

/// Setting of a pair.
#[derive(Clone, Copy)]
struct Setting {
    seed: u64,
    lives: [u64; 2],
    outer: usize,
    tcp: [TcpTerms; 2],
    split: [SplitTerms; 2],
    /// True if the mobile host keeps no timers for streams.
    lean: bool,
    bearer_mtu: hosts::BearerMtu,
    /// True if flows of the mobile host may go around the hop.
    detours: bool,
    resolver: place::Terms,
    /// True if the gateway takes TLS too.
    has_tls: bool,
    is_marked: bool,
}

impl Setting {
    /// As most tests want it.
    fn usual(seed: u64) -> Self {
        Self {
            seed,
            lives: [0; 2],
            outer: 0,
            tcp: [TcpTerms::Follow, TcpTerms::Choose(TcpMethod::Arq)],
            split: [SplitTerms::Never; 2],
            lean: false,
            bearer_mtu: paths::usual(),
            detours: false,
            resolver: place::Terms::Unknown,
            has_tls: false,
            is_marked: false,
        }
    }
}

fn host(index: usize, setting: Setting) -> Host {
    let names = ["mobile", "gateway"];
    let networks: &[_] = match index {
        MOBILE => &[("0.0.0.0", 0), ("::", 0)],
        _ => &[("10.9.0.2", 32), ("fd09::2", 128)],
    };
    let peer = Peer {
        endpoint: (index == MOBILE).then(|| end(setting, GATEWAY)),
        tls_port: (index == MOBILE && setting.has_tls).then_some(tls::PORT),
        tcp: setting.tcp[index],
        split: setting.split[index],
        resolver: place::resolver_terms(index, setting),
        ..build::peer(names[1 - index], networks)
    };
    let role = [Role::Mobile, Role::Gateway][index];
    let config = Config {
        bearer_mtu: setting.bearer_mtu,
        mobile: place::mobile_terms(setting),
        streams: Some(StreamLimits {
            receive_buffer: None,
            connections: 512,
            lean: setting.lean && index == MOBILE,
        }),
        split: (setting.split[index] != SplitTerms::Never).then(|| sites::splitting::config(index)),
        ..build::config(role, names[index], vec![peer])
    };
    let name = format!("{} in life {}", names[index], setting.lives[index]);
    build::host(config, build::entropy(setting.seed, &name))
}

fn end(setting: Setting, host: usize) -> HopAddress {
    ENDS[setting.outer][host]
}

impl Pair {
    /// A pair over a named link.
    pub(crate) fn new(link: &str, seed: u64) -> Self {
        Self::over(Link::named(link).expect("a link"), seed, 0)
    }

    /// A pair over `link`; `outer` is 0 for IPv4 and 1 for IPv6.
    pub(crate) fn over(link: Link, seed: u64, outer: usize) -> Self {
        let setting = Setting {
            outer,
            ..Setting::usual(seed)
        };
        Self::with(link, setting)
    }

    /// A pair over `link` whose mobile and gateway have these terms for TCP.
    pub(crate) fn on_terms(link: Link, seed: u64, tcp: [TcpTerms; 2]) -> Self {
        let setting = Setting {
            tcp,
            ..Setting::usual(seed)
        };
        Self::with(link, setting)
    }

    /// A pair whose hosts choose between packets and streams for each connection.
    pub(crate) fn with_choice(link: Link, seed: u64) -> Self {
        let setting = Setting {
            split: [SplitTerms::Follow, SplitTerms::Choose(Profile::Wide)],
            ..Setting::usual(seed)
        };
        Self::with(link, setting)
    }

    /// A pair over `link` whose gateway wants streams in a profile; the mobile host may be lean.
    pub(crate) fn with_streams(link: Link, seed: u64, (profile, lean): (Profile, bool)) -> Self {
        let setting = Setting {
            split: [SplitTerms::Follow, SplitTerms::Choose(profile)],
            tcp: [TcpTerms::Follow, TcpTerms::Choose(TcpMethod::Plain)],
            lean,
            ..Setting::usual(seed)
        };
        Self::with(link, setting)
    }

    /// Returns a host like the one that this pair began with.
    pub(crate) fn first_life(&self, index: usize) -> Host {
        host(index, self.setting)
    }

    fn with(link: Link, setting: Setting) -> Self {
        let mut pair = Self {
            hosts: [host(MOBILE, setting), host(GATEWAY, setting)],
            channel: Channel::new(&link, setting.seed),
            rivals: Rivals::new(),
            now: Instant::ZERO,
            blackout: Instant::ZERO..Instant::ZERO,
            recent: VecDeque::new(),
            events: Vec::new(),
            replies: Vec::new(),
            systems: sites::splitting::systems(),
            answer: Some(Ok(())),
            handing_in: false,
            record: None,
            mark: mark::Mark::new(setting.is_marked),
            allocations: None,
            trouble: trouble::Trouble::none(setting.seed),
            network: paths::Network::default(),
            link,
            setting,
            traffic: Vec::new(),
            requests: None,
            waiting: VecDeque::new(),
            received: BTreeMap::new(),
            pending: VecDeque::new(),
            ends: None,
            datagrams: 0,
            severed: None,
            refused: 0,
            sought: Vec::new(),
            place: place::Place::default(),
            wakes: [0; 2],
            crossings: None,
        };
        for host in [MOBILE, GATEWAY] {
            pair.input(host, Input::Wall(WALL));
        }
        pair
    }

    pub(crate) fn add(&mut self, traffic: Traffic) {
        self.traffic.push(traffic);
    }

    /// A TCP connection of the mobile host with the fixed host takes the place of all other traffic; one end
    /// sends so many bytes.
    pub(crate) fn connect(&mut self, mut ends: ends::Ends, transfer: (usize, u64)) {
        ends.begin(self.now, transfer.0, transfer.1);
        self.ends = Some(ends);
    }

    /// The connection.
    pub(crate) fn ends(&self) -> &ends::Ends {
        self.ends.as_ref().expect("a connection")
    }

    /// Carries what the ends of the connection send.
    fn exchange(&mut self) {
        while let Some((host, packet)) = self
            .ends
            .as_mut()
            .and_then(|ends| ends.poll_packet(self.now))
        {
            self.input(host, Input::Packet(packet));
        }
    }

    /// From `start` on the mobile sends 200 bytes each 100 ms, and the fixed host answers at once.
    pub(crate) fn add_requests(&mut self, start: Instant) {
        let (up, down) = (Traffic::upload(REQUESTS), Traffic::bulk(REQUESTS));
        self.requests = Some((up, down, start));
    }

    /// A new life of a host: its key is all that it keeps.
    pub(crate) fn restart(&mut self, index: usize) {
        let wall = self.wall();
        self.restart_with_clock(index, wall);
    }

    /// Returns the wall clock time.
    fn wall(&self) -> u64 {
        WALL + self.now.as_nanos()
    }

    /// As [`Pair::restart`], with a clock that shows `wall`.
    pub(crate) fn restart_with_clock(&mut self, index: usize, wall: u64) {
        self.setting.lives[index] += 1;
        self.hosts[index] = host(index, self.setting);
        self.systems[index].kill();
        self.input(index, Input::Wall(wall));
    }

    /// Returns the packets that have arrived on `port`.
    pub(crate) fn received(&self, port: u16) -> Received {
        self.received.get(&port).cloned().unwrap_or_default()
    }

    /// Payload that arrived, as a share of what the link could carry in `time`.
    pub(crate) fn share(&self, port: u16, time: Duration) -> f64 {
        let span = Instant::ZERO..Instant::ZERO + time;
        let bound = self
            .link
            .capacity(Direction::Down, self.setting.seed, span)
            .unwrap_or(Bytes::new(1));
        self.received(port).payload as f64 / bound.get() as f64
    }

    /// Returns the bytes that the link could carry from `start` until now.
    pub(crate) fn capacity(&self, direction: Direction, start: Instant) -> Bytes {
        let bound = self
            .link
            .capacity(direction, self.setting.seed, start..self.now);
        bound.expect("a link with a rate")
    }

    pub(crate) fn status(&self, host: usize) -> PeerStatus {
        self.hosts[host].status(self.now).peers[0].clone()
    }

    pub(crate) fn summary(&self) -> String {
        format!("{:?}", self.status(GATEWAY).hop)
    }

    /// Returns the time that a packet sent by `direction` at `at` would wait for the end of a fade.
    pub(crate) fn fade_left(&self, direction: Direction, at: Instant) -> Duration {
        let until = at + Duration::from_secs(60);
        let mut good = true;
        for change in self.channel.state_changes(direction, until) {
            if change.at > at {
                let wait = change.at.since(at);
                return if good { Duration::ZERO } else { wait };
            }
            good = change.good;
        }
        Duration::ZERO
    }

    /// A datagram that reaches `host`, whoever sent it.
    pub(crate) fn inject(&mut self, host: usize, from: HopAddress, bytes: &[u8]) {
        self.input(host, datagram(from, self.now, PacketBuffer::copy_of(bytes)));
    }

    /// Where a host is.
    pub(crate) fn address(&self, host: usize) -> HopAddress {
        let moved = self.place.of(host);
        moved.unwrap_or_else(|| end(self.setting, host))
    }

    pub(crate) fn input(&mut self, host: usize, input: Input) {
        let now = self.now;
        let Some(input) = self.trouble.pass(host, now, input) else {
            return;
        };
        if let Some((recorded, inputs)) = &mut self.record
            && *recorded == host
        {
            inputs.push((now, input.clone()));
        }
        self.act(host, |machine| machine.handle_input(now, input));
    }

    /// Lets a host do something and carries out what comes of it.
    fn act(&mut self, host: usize, action: impl FnOnce(&mut Host)) {
        let (machine, pending) = (&mut self.hosts[host], &mut self.pending);
        pending.reserve(1_000);
        let work = || {
            action(machine);
            while let Some(output) = machine.poll_output() {
                pending.push_back((host, output));
            }
        };
        match &mut self.allocations {
            Some(count) => *count += allocation_counter::measure(work).count_total,
            None => work(),
        }
        while let Some((host, output)) = self.pending.pop_front() {
            self.mark.note(self.now, host, &output);
            self.carry_out(host, output);
        }
        self.hand_in_events();
    }

    fn carry_out(&mut self, host: usize, output: Output) {
        match output {
            Output::Datagram { to, .. } if self.severed == Some(host) => {
                self.refused += 1;
                self.input(host, Input::Unreachable(to));
            }
            Output::Datagram { to, buffer, .. } => {
                if !self.goes_beside(host, to, &buffer)
                    && !self.is_refused(host, &buffer)
                    && self.passes(host, to, &buffer)
                {
                    self.launch(host, buffer);
                }
            }
            Output::Packet(packet) => self.released(host, &packet),
            Output::System(request) => self.systems[host].carry_out(request),
            Output::Seek { peer } => self.sought.push((self.now, peer)),
            Output::HandedOver(handover) => self.begin_next_process(&handover),
            Output::Told => {}
            Output::Claim { .. } | Output::Exits { .. } => {
                panic!("no host of these tests does so")
            }
            Output::Resolvers(resolvers) => self.place.resolvers.push((self.now, resolvers)),
            Output::Event(event) => self.events.push((self.now, host, event.kind)),
        }
    }

    fn released(&mut self, host: usize, packet: &Packet) {
        if self.setting.split[host] != SplitTerms::Never && self.systems[host].packet(packet) {
            return;
        }
        let port = port_of(packet);
        if let Some(ends) = self.ends.as_mut().filter(|_| port != REQUESTS) {
            return ends.take(self.now, host, packet);
        }
        if port != REQUESTS {
            let received = self.received.entry(port).or_insert_with(Received::begin);
            received.note(packet);
        } else if host == GATEWAY {
            if let Some((_, down, _)) = &mut self.requests {
                let reply = down.packet(200);
                self.input(GATEWAY, Input::Packet(reply));
            }
        } else if let Some(sent) = self.waiting.pop_front() {
            self.replies.push((sent, self.now.since(sent)));
        }
    }

    /// Keeps every source's queue filled, in turns.
    fn feed(&mut self) {
        for host in [MOBILE, GATEWAY] {
            let mine = |traffic: &Traffic| traffic.from == host;
            if !self.trouble.runs(host, self.now) || !self.traffic.iter().any(mine) {
                continue;
            }
            // A gateway that has revoked its peer has none.
            let Some(queued) = self.hosts[host].queued(self.now, 0) else {
                continue;
            };
            let mut room = BACKLOG.get().saturating_sub(queued.get());
            while room > 0 {
                for index in 0..self.traffic.len() {
                    if mine(&self.traffic[index]) {
                        let packet = self.traffic[index].full_packet();
                        room = room.saturating_sub(packet.len() as u64);
                        self.input(host, Input::Packet(packet));
                    }
                }
            }
        }
    }

    /// Stops the bulk flows.
    pub(crate) fn stop(&mut self) {
        self.traffic.clear();
    }
}
