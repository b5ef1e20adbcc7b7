//! A mobile host among the gateways of a site, in virtual time.

use std::collections::BTreeMap;

use hosts::{
    ComparisonStatus, EventKind, ExitChange, GuestExits, Handover, Host, Input, Output, PeerStatus,
    SitePart, SiteStatus, Told,
};
use machine::{Machine, RandomStream};
use session::PublicKey;
use units::{BitRate, Bytes, Duration, Instant, Probability};
use wire::address::HopAddress;
use wire::packet::{Packet, PacketBuffer};

mod connections;

use crate::build::{datagram, private_key};
use crate::flows::{Connection, Flow};
pub use crate::setting::{DOWN, HOME, NAMES, Setting, Tcp, UP, peer};
use crate::setting::{address, host, spare};
use crate::splitting::Sockets;
use crate::traffic::{PAYLOAD, Traffic, port_of};
use crate::{MOBILE, WALL};

/// The delay and the losses that a part of a way adds, if it adds none.
const NOTHING: (Duration, Probability) = (Duration::ZERO, Probability::NEVER);

/// What crosses between the mobile host and a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HopUse {
    /// Time when the mobile host sent the last datagram there.
    pub sent: Instant,
    /// Bytes of datagrams in both directions.
    pub bytes: u64,
}

/// The ways between the hosts.
pub struct Network {
    /// The setting of the site.
    pub setting: Setting,
    random: RandomStream,
    /// Time from which each way is free.
    free_at: BTreeMap<(usize, usize), Instant>,
    /// Datagrams on their way, by time and number.
    flying: BTreeMap<(Instant, u64), (usize, usize, PacketBuffer)>,
    /// Number of datagrams that were sent.
    pub number: u64,
    /// What crosses between the mobile host and each gateway.
    pub hops: [HopUse; NAMES.len()],
    /// Delay and probability of a loss that the hop to each gateway adds.
    pub more: [(Duration, Probability); NAMES.len()],
    /// The same that the wire of each gateway adds, on the way to it and from it.
    pub wires: [(Duration, Probability); NAMES.len()],
    /// Pairs of hosts between which nothing comes through.
    pub cut: Vec<[usize; 2]>,
    /// A host that is stopped, and until when: it does nothing, and what comes waits.
    pub stopped: Option<(usize, Instant)>,
    /// The gateway at which the latest packet from the mobile host came out.
    pub left_at: usize,
    /// Address of each host.
    addresses: [HopAddress; NAMES.len()],
}

impl Network {
    /// Returns the time when a host does what is due at `due`.
    fn acts_at(&self, host: usize, due: Instant) -> Instant {
        match self.stopped {
            Some((stopped, until)) if stopped == host => due.max(until),
            _ => due,
        }
    }
}

/// What hosts have asked of their drivers.
#[derive(Default)]
pub struct Asked {
    /// For each gateway, true while packets of the mobile host are to leave there, as it stands in.
    pub exits: [bool; NAMES.len()],
    /// Keys that are to take the place of others: the gateway, the known key, and the next one.
    pub claims: Vec<(usize, PublicKey, PublicKey)>,
}

/// When a host acts next by itself, if it does.
#[derive(Clone, Copy)]
struct Timer(Option<Instant>);

/// A mobile host and three gateways.
pub struct Roaming {
    hosts: Vec<Host>,
    /// When each host acts next by itself, if it has done nothing since that was found out: to ask all of them at each
    /// event takes long.
    timers: [Option<Timer>; NAMES.len()],
    /// The present time.
    pub now: Instant,
    /// Events of all hosts.
    pub events: Vec<(Instant, usize, EventKind)>,
    /// The flow to the mobile host, and that from it.
    pub flows: [Flow; 2],
    /// The gateway at which the first one comes in.
    pub entrance: usize,
    /// Segments for which a packet of it stands.
    pub segments: usize,
    connection: Option<Connection>,
    /// True if a connection is reset by a packet that leaves elsewhere than it began, which is an error otherwise.
    pub may_reset: bool,
    sockets: Option<Sockets>,
    /// What hosts have asked of their drivers.
    pub asked: Asked,
    /// The ways between the hosts.
    pub network: Network,
}

impl Roaming {
    /// Returns a site in this setting whose hosts begin.
    pub fn new(setting: Setting) -> Self {
        let hosts = (0..NAMES.len()).map(|index| host(index, &setting, None));
        let mut site = Self {
            hosts: hosts.collect(),
            timers: [None; NAMES.len()],
            now: Instant::ZERO,
            events: Vec::new(),
            flows: [
                Flow::new(Traffic::bulk(DOWN), Duration::from_micros(500)),
                Flow::new(Traffic::upload(UP), Duration::from_millis(5)),
            ],
            entrance: HOME,
            segments: 1,
            connection: None,
            may_reset: false,
            sockets: None,
            asked: Asked::default(),
            network: Network {
                setting,
                random: RandomStream::named(setting.seed, "losses"),
                free_at: BTreeMap::new(),
                flying: BTreeMap::new(),
                number: 0,
                hops: [HopUse::default(); NAMES.len()],
                more: [NOTHING; NAMES.len()],
                wires: [NOTHING; NAMES.len()],
                cut: Vec::new(),
                stopped: None,
                left_at: HOME,
                addresses: std::array::from_fn(address),
            },
        };
        for host in 0..NAMES.len() {
            site.input(host, Input::Wall(WALL));
        }
        site
    }

    /// Gives a host an input.
    pub fn input(&mut self, host: usize, input: Input) {
        self.hosts[host].handle_input(self.now, input);
        self.carry(host);
    }

    /// Has the mobile host begin a new life, with this clock.
    pub fn restart_mobile(&mut self, wall: u64) {
        self.restart(MOBILE, wall, None);
    }

    /// Has the mobile host begin a new life in which it knows no home, as if the gateways made its proofs.
    pub fn without_proofs(&mut self) {
        self.restart(MOBILE, WALL + 1_000_000_000, Some(SitePart::Gateway));
    }

    /// Has a gateway begin a new life in which it takes itself for the home of the mobile host.
    pub fn usurp(&mut self, gateway: usize) {
        self.restart(gateway, WALL, Some(SitePart::Alone));
    }

    /// Has a host begin a new life, which knows what its former one was told.
    pub fn restart(&mut self, which: usize, wall: u64, first: Option<SitePart>) {
        self.network.setting.seed += 1;
        let told = self.told_to(which);
        self.hosts[which] = host(which, &self.network.setting, first);
        self.input(which, Input::Told(told));
        self.input(which, Input::Wall(wall));
    }

    /// Has another process take the place of the home's, and go on with its split connections.
    pub fn succeed_home(&mut self) {
        self.input(HOME, Input::HandOver);
    }

    fn begin_next_process(&mut self, handover: Box<Handover>) {
        self.input(HOME, Input::Leave);
        if let Some(sockets) = &mut self.sockets {
            sockets.succeed(&handover);
        }
        self.restart(HOME, WALL + self.now.as_nanos(), None);
        self.input(HOME, Input::TakeOver(handover));
    }

    /// Tells each gateway another address of the others.
    pub fn tell_spares(&mut self) {
        for (gateway, other) in [(1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2)] {
            let mut peer = peer(gateway, other);
            peer.membership.elsewhere = [spare(other)].into();
            self.input(
                gateway,
                Input::Admit {
                    peer: Box::new(peer),
                    scope: None,
                },
            );
        }
    }

    /// Has another machine take the place of a gateway's, with another address.
    pub fn move_machine(&mut self, gateway: usize) {
        self.input(gateway, Input::Leave);
        self.network.addresses[gateway] = spare(gateway);
        self.restart(gateway, WALL + self.now.as_nanos(), None);
    }

    /// Returns what gateways have told a host.
    pub fn told_to(&self, host: usize) -> Vec<Told> {
        self.hosts[host].told()
    }

    /// Returns the names of the peers of a host.
    pub fn peers_of(&self, host: usize) -> Vec<String> {
        let peers = self.hosts[host].status(self.now).peers.into_iter();
        peers.map(|peer| peer.name).collect()
    }

    /// Returns what the mobile host has measured through a gateway, when it compared that with another one last.
    pub fn compared(&self, gateway: &str) -> Option<ComparisonStatus> {
        let peers = self.hosts[MOBILE].status(self.now).peers;
        let peer = peers.into_iter().find(|peer| peer.name == gateway);
        peer.and_then(|peer| peer.compared)
    }

    /// Returns the state of the mobile host at a gateway, if that knows it.
    pub fn mobile_at(&self, gateway: usize) -> Option<PeerStatus> {
        let peers = self.hosts[gateway].status(self.now).peers;
        let mut peers = peers.into_iter();
        peers.find(|peer| peer.name.starts_with(NAMES[MOBILE]))
    }

    /// Returns the place of the mobile host in the site, as a gateway sees it.
    pub fn place_at(&self, gateway: usize) -> Option<SiteStatus> {
        self.mobile_at(gateway).and_then(|peer| peer.site)
    }

    /// Returns the name of the gateway that serves the mobile host, or that relays.
    pub fn serving(&self) -> String {
        let peers = self.hosts[MOBILE].status(self.now).peers;
        let with = |site| peers.iter().find(|peer| peer.site.as_ref() == Some(&site));
        let serves = with(SiteStatus::Relays).or_else(|| with(SiteStatus::Serves));
        serves.map(|peer| peer.name.clone()).unwrap_or_default()
    }

    /// Returns the gateway that serves the mobile host, or that relays, if one does.
    pub fn serving_host(&self) -> Option<usize> {
        let name = self.serving();
        NAMES.iter().position(|known| *known == name)
    }

    /// Has the mobile host move to this gateway.
    pub fn move_to(&mut self, gateway: usize) {
        let known = self.hosts[MOBILE].gateway_named(NAMES[gateway]);
        let key = known.unwrap_or_else(|| private_key(NAMES[gateway]).public_key());
        self.input(MOBILE, Input::MoveTo(key));
    }

    fn carry(&mut self, host: usize) {
        self.timers[host] = None;
        while let Some(output) = self.hosts[host].poll_output() {
            match output {
                Output::Packet(packet) => self.delivered(host, &packet),
                Output::Datagram { to, buffer, .. } => self.launch(host, to, buffer),
                Output::System(request) => {
                    if let Some(sockets) = &mut self.sockets {
                        sockets.carry_out(host, request);
                    }
                }
                Output::Exits { prefixes, change } => match change {
                    ExitChange::Begins => {
                        self.asked.exits[host] = true;
                        self.announced_by(host);
                        self.hosts[host].handle_input(self.now, Input::ExitsOpen(prefixes));
                    }
                    ExitChange::Ends => self.asked.exits[host] = false,
                    ExitChange::Stays => self.announced_by(host),
                },
                Output::Claim { of, key } => self.asked.claims.push((host, of, key)),
                Output::HandedOver(handover) => self.begin_next_process(handover),
                Output::Event(event) => self.events.push((self.now, host, event.kind)),
                _ => {}
            }
        }
    }

    fn delivered(&mut self, host: usize, packet: &Packet) {
        if host != MOBILE {
            self.network.left_at = host;
        }
        let flow = match port_of(packet) {
            DOWN => 0,
            UP => 1,
            _ => return self.take_segment(host, packet),
        };
        let may_leave_anywhere = match self.network.setting.exits {
            GuestExits::Untranslated => true,
            GuestExits::ToInternet => self.flows[flow].traffic.is_call,
            GuestExits::None | GuestExits::OfSilentHome => false,
        };
        if host == MOBILE || !may_leave_anywhere {
            assert_eq!(host, [MOBILE, HOME][flow], "flow {flow} came out elsewhere");
        }
        self.flows[flow].arrived(self.now, packet);
    }

    fn launch(&mut self, from: usize, to: HopAddress, buffer: PacketBuffer) {
        let network = &mut self.network;
        let mut all = 0..NAMES.len();
        let Some(to) = all.find(|host| network.addresses[*host] == to) else {
            // The machine of a gateway that has moved.
            return;
        };
        if from == MOBILE {
            network.hops[to].sent = self.now;
        }
        let setting = network.setting;
        let is_hop = from == MOBILE || to == MOBILE;
        if is_hop {
            network.hops[from.max(to)].bytes += buffer.len() as u64 + 28;
        }
        let (rate, delay, loss) = if is_hop {
            (setting.rate, setting.delay, setting.loss)
        } else {
            let rate = BitRate::from_megabits(1_000);
            (rate, setting.wire, Probability::NEVER)
        };
        let free_at = network.free_at.entry((from, to)).or_default();
        *free_at = self.now.max(*free_at) + rate.time_for(Bytes::from(buffer.len() + 42));
        let free_at = *free_at;
        let parts = if is_hop {
            [network.more[from.max(to)], NOTHING]
        } else {
            [network.wires[from], network.wires[to]]
        };
        let more = parts
            .iter()
            .fold(Duration::ZERO, |sum, (delay, _)| sum + *delay);
        let arrives = network.acts_at(to, free_at + delay + more);
        let mut losses = parts
            .iter()
            .filter(|(_, loses)| *loses != Probability::NEVER);
        let is_lost = losses.any(|(_, loses)| network.random.chance(*loses));
        let is_cut = |pair: &[usize; 2]| pair.contains(&from) && pair.contains(&to);
        let is_full = is_hop && free_at.since(self.now) > setting.queue;
        if !is_full && !is_lost && !network.random.chance(loss) && !network.cut.iter().any(is_cut) {
            network.number += 1;
            let cargo = (from, to, buffer);
            network.flying.insert((arrives, network.number), cargo);
        }
    }

    /// Lets time pass. Both flows send, unless they are `silent`.
    pub fn run(&mut self, span: Duration, silent: bool) {
        let end = self.now + span;
        loop {
            let timers: [_; NAMES.len()] = std::array::from_fn(|host| self.due(host));
            let flying = self.network.flying.keys().next().map(|(due, _)| *due);
            let traffic = self.flows.iter().map(|flow| flow.next);
            let traffic = traffic.filter(|_| !silent);
            let connection = self.connection.as_ref();
            let ends = connection.and_then(|connection| connection.ends.poll_timeout());
            let Some(next) = timers
                .into_iter()
                .flatten()
                .chain(flying)
                .chain(traffic)
                .chain(ends)
                .min()
            else {
                break;
            };
            if next > end {
                break;
            }
            self.now = next.max(self.now);
            self.step(silent);
        }
        self.now = end;
        for flow in self.flows.iter_mut().filter(|_| silent) {
            flow.next = end;
        }
    }

    /// Returns the time when a host acts next by itself.
    fn due(&mut self, host: usize) -> Option<Instant> {
        let timer = &mut self.timers[host];
        let Timer(due) = *timer.get_or_insert_with(|| Timer(self.hosts[host].poll_timeout()));
        due.map(|due| self.network.acts_at(host, due))
    }

    fn step(&mut self, silent: bool) {
        let now = self.now;
        if let Some(Connection { ends, .. }) = &mut self.connection {
            ends.handle_timeout(now);
        }
        self.carry_segments();
        while let Some(first) = self.network.flying.first_entry()
            && first.key().0 <= now
        {
            let (from, to, buffer) = first.remove();
            let from = self.network.addresses[from];
            self.input(to, datagram(from, now, buffer));
        }
        for host in 0..NAMES.len() {
            let due = self.due(host);
            if due.is_some_and(|due| due <= now) {
                self.hosts[host].handle_timeout(now);
                self.carry(host);
            }
        }
        self.carry_segments();
        self.hand_in_events();
        let (window, segments) = (self.network.setting.window, self.segments);
        for (flow, from) in [self.entrance, MOBILE].into_iter().enumerate() {
            let flow = &mut self.flows[flow];
            if silent || flow.next > now {
                continue;
            }
            flow.next = now + flow.every;
            if self.network.acts_at(from, now) > now {
                continue;
            }
            if flow.sent < flow.came() + window {
                let segments = if from == MOBILE { 1 } else { segments };
                flow.departed(now, segments);
                let mut packet = flow.traffic.packet(PAYLOAD * segments);
                if segments > 1 {
                    packet.segment_size = PAYLOAD as u16;
                }
                self.input(from, Input::Packet(packet));
            }
        }
    }
}
