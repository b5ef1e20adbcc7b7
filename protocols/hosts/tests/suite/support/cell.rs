//! One gateway and its mobiles on one air, each with fades of its own.

use std::collections::VecDeque;

use hosts::{Caps, Config, Host, Input, Output, Peer, PeerStatus, Role, TcpMethod, TcpTerms};
use machine::Machine;
use scheduler::config::Discipline;
use units::{BitRate, Bytes, Duration, Instant};
use wire::address::HopAddress;
use wire::packet::{Packet, PacketBuffer};

use super::{Received, Traffic, build, datagram};

pub(crate) const RATE: BitRate = BitRate::from_megabits(10);
const DELAY: Duration = Duration::from_millis(5);
/// Queue of the air's driver, in datagrams.
const QUEUE: usize = 100;
const AROUND_UDP: usize = 14 + 20 + 8;
/// Bytes that wait at the gateway for each mobile host.
const BACKLOG: Bytes = Bytes::kibi(64);
/// Until here the hop is measured and flows begin.
pub(crate) const WARM_UP: Instant = Instant::from_millis(3_000);
/// Time between two feeds of packets.
const TICK: Duration = Duration::from_millis(10);

/// A mobile host, or what takes its place.
pub(crate) type Station = Box<dyn Machine<Input = Input, Output = Output>>;

pub(crate) fn name(index: usize) -> String {
    format!("host {index}")
}

pub(crate) fn place(index: usize) -> HopAddress {
    format!("10.0.0.{}:5000", index + 1)
        .parse()
        .expect("an address")
}

/// Setting of a cell.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) discipline: Discipline,
    /// Limits on each mobile host.
    pub(crate) caps: Caps,
    /// Weights of the mobile hosts, as many as there are.
    pub(crate) weights: Vec<u16>,
    /// Rate of the air.
    pub(crate) rate: BitRate,
    /// As the gateway wants it.
    pub(crate) tcp: TcpTerms,
    /// Memory of the gateway for all mobile hosts.
    pub(crate) memory: Option<Bytes>,
}

impl Setting {
    /// So many mobiles of equal weight, with the usual caps.
    pub(crate) fn usual(discipline: Discipline, mobiles: usize) -> Self {
        Self {
            discipline,
            caps: Caps::default(),
            weights: vec![1; mobiles],
            rate: RATE,
            tcp: TcpTerms::Choose(TcpMethod::Arq),
            memory: None,
        }
    }

    /// Returns the configuration of the gateway.
    pub(crate) fn config(&self) -> Config {
        self.config_of(0)
    }

    fn peer(&self, index: usize) -> Peer {
        match index.checked_sub(1) {
            None => Peer {
                endpoint: Some(place(0)),
                ..build::peer(&name(0), &[("0.0.0.0", 0)])
            },
            Some(mobile) => Peer {
                tcp: self.tcp,
                caps: self.caps,
                weight: self.weights[mobile],
                ..build::peer(&name(index), &[(&format!("10.9.0.{index}"), 32)])
            },
        }
    }

    fn config_of(&self, index: usize) -> Config {
        let (role, peers) = match index {
            0 => {
                let mobiles = 1..=self.weights.len();
                (
                    Role::Gateway,
                    mobiles.map(|index| self.peer(index)).collect(),
                )
            }
            _ => (Role::Mobile, vec![self.peer(0)]),
        };
        Config {
            memory: self.memory.filter(|_| index == 0),
            shared_air: (index == 0).then(|| scheduler::Config {
                discipline: self.discipline,
                ..scheduler::Config::default()
            }),
            snoop_cache: Bytes::mebi(2),
            ..build::config(role, &name(index), peers)
        }
    }

    fn host(&self, index: usize) -> Host {
        build::host(self.config_of(index), build::entropy(11, &name(index)))
    }
}

/// Spans in which a mobile host neither receives nor is received: `bad` of each `cycle`, from `WARM_UP` on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fades {
    pub(crate) cycle: Duration,
    pub(crate) bad: Duration,
}

impl Fades {
    fn is_bad(self, at: Instant) -> bool {
        at > WARM_UP
            && !self.cycle.is_zero()
            && at.since(WARM_UP).as_nanos() % self.cycle.as_nanos() < self.bad.as_nanos()
    }
}

/// A datagram on its way, with the mobile that sends or gets it.
struct Datagram {
    at: Instant,
    from: usize,
    to: usize,
    buffer: PacketBuffer,
}

/// Gateway, mobiles, and the air between them: one queue, in which each datagram takes its time.
pub(crate) struct Cell {
    pub(crate) gateway: Host,
    /// By number, from 0.
    mobiles: Vec<Station>,
    fades: Vec<Fades>,
    pub(crate) now: Instant,
    rate: BitRate,
    busy_until: Instant,
    flying: VecDeque<Datagram>,
    traffic: Vec<Traffic>,
    /// Packets that each mobile host received, and true if it is fed.
    pub(crate) received: Vec<Received>,
    pub(crate) fed: Vec<bool>,
    /// More that happens at each tick.
    pub(crate) extra: Option<Extra>,
    pub(crate) counts: Counts,
}

/// Counters of the run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    /// Datagrams for which the air had no room.
    pub(crate) overflows: u64,
    /// Packets that the gateway sent on to the wired network.
    pub(crate) forwarded: u64,
    /// Bytes that the last mobile has put on the air.
    pub(crate) sent_by_last: u64,
    /// Datagrams from the gateway to nobody that is known.
    pub(crate) to_strangers: u64,
    /// The most that the gateway said that it held, in bytes.
    pub(crate) held_most: Bytes,
}

/// Further inputs, once each tick: of the gateway, or of a mobile host by number.
pub(crate) type Extra = Box<dyn FnMut(Instant) -> Vec<(Option<usize>, Input)>>;

impl Cell {
    pub(crate) fn new(setting: &Setting, fades: Vec<Fades>) -> Self {
        let mobiles = fades.len();
        let station = |index| -> Station { Box::new(setting.host(index + 1)) };
        Self {
            gateway: setting.host(0),
            mobiles: (0..mobiles).map(station).collect(),
            fades,
            now: Instant::ZERO,
            rate: setting.rate,
            busy_until: Instant::ZERO,
            flying: VecDeque::new(),
            traffic: (0..mobiles)
                .map(|port| Traffic::bulk(port as u16))
                .collect(),
            received: (0..mobiles).map(|_| Received::begin()).collect(),
            fed: vec![true; mobiles],
            extra: None,
            counts: Counts::default(),
        }
    }

    /// Puts something else in a mobile's place.
    pub(crate) fn replace(&mut self, mobile: usize, station: Station) {
        self.mobiles[mobile] = station;
    }

    /// Starts a mobile host once more, without any state of its former life.
    pub(crate) fn restart(&mut self, mobile: usize, setting: &Setting) {
        let index = mobile + 1;
        let host = build::host(setting.config_of(index), build::entropy(12, &name(index)));
        self.replace(mobile, Box::new(host));
        self.tell_time(Some(mobile));
    }

    pub(crate) fn begin(&mut self) {
        self.tell_time(None);
        for mobile in 0..self.mobiles.len() {
            self.tell_time(Some(mobile));
        }
    }

    fn tell_time(&mut self, mobile: Option<usize>) {
        let wall = 1_800_000_000_000_000_000 + self.now.as_nanos();
        self.tell(mobile, Input::Wall(wall));
    }

    /// Tells a mobile, or the gateway, something.
    pub(crate) fn tell(&mut self, mobile: Option<usize>, input: Input) {
        match mobile {
            Some(mobile) => self.mobiles[mobile].handle_input(self.now, input),
            None => self.gateway.handle_input(self.now, input),
        }
        self.drain(mobile);
    }

    fn drain(&mut self, mobile: Option<usize>) {
        loop {
            let output = match mobile {
                Some(mobile) => self.mobiles[mobile].poll_output(),
                None => self.gateway.poll_output(),
            };
            match (output, mobile) {
                (None, _) => break,
                (Some(Output::Datagram { to, buffer, .. }), _) => {
                    let from = mobile.map_or(0, |mobile| mobile + 1);
                    self.launch(from, to, buffer);
                }
                (Some(Output::Packet(packet)), Some(mobile)) => self.received[mobile].note(&packet),
                (Some(Output::Packet(_)), None) => self.counts.forwarded += 1,
                (
                    Some(
                        Output::Event(_)
                        | Output::System(_)
                        | Output::Seek { .. }
                        | Output::Claim { .. }
                        | Output::Resolvers(_)
                        | Output::Exits { .. }
                        | Output::HandedOver(_)
                        | Output::Told,
                    ),
                    _,
                ) => {}
            }
        }
        if mobile.is_none() {
            let (held, most) = self.gateway.memory();
            assert!(held <= most, "{held} is held, and {most} may be");
            self.counts.held_most = self.counts.held_most.max(held);
        }
    }

    fn launch(&mut self, from: usize, to: HopAddress, buffer: PacketBuffer) {
        let known = (0..=self.mobiles.len()).find(|index| place(*index) == to);
        let Some(to) = known else {
            self.counts.to_strangers += 1;
            return;
        };
        let waiting = self
            .flying
            .iter()
            .filter(|flying| flying.at > self.now + DELAY);
        if waiting.count() >= QUEUE {
            self.counts.overflows += u64::from(self.now > WARM_UP);
            return;
        }
        let size = Bytes::from(buffer.len() + AROUND_UDP);
        if from == self.mobiles.len() {
            self.counts.sent_by_last += size.get();
        }
        self.busy_until = self.busy_until.max(self.now) + self.rate.time_for(size);
        if !self.fades[from.max(to) - 1].is_bad(self.busy_until) {
            let at = self.busy_until + DELAY;
            self.flying.push_back(Datagram {
                at,
                from,
                to,
                buffer,
            });
        }
    }

    /// Keeps something waiting for every mobile that is fed.
    fn feed(&mut self) {
        for mobile in 0..self.traffic.len() {
            while self.fed[mobile] && self.queued(mobile) < BACKLOG {
                let packet = self.packet(mobile);
                let before = self.queued(mobile);
                self.tell(None, Input::Packet(packet));
                if self.queued(mobile) <= before {
                    break;
                }
            }
        }
        if let Some(mut extra) = self.extra.take() {
            for (mobile, input) in extra(self.now) {
                self.tell(mobile, input);
            }
            self.extra = Some(extra);
        }
    }

    fn packet(&mut self, mobile: usize) -> Packet {
        let mut packet = self.traffic[mobile].full_packet();
        packet.rewrite(|bytes| bytes[16..20].copy_from_slice(&[10, 9, 0, mobile as u8 + 1]));
        packet
    }

    /// Returns the number of bytes that wait for a mobile host.
    fn queued(&self, mobile: usize) -> Bytes {
        self.gateway.queued(self.now, mobile).unwrap_or_default()
    }

    pub(crate) fn peer(&self, mobile: usize) -> PeerStatus {
        self.gateway.status(self.now).peers[mobile].clone()
    }

    pub(crate) fn run_until(&mut self, end: Instant) {
        let mut next_feed = self.now;
        while self.now < end {
            let timeouts = self
                .mobiles
                .iter()
                .filter_map(|mobile| mobile.poll_timeout());
            let arrival = self.flying.front().map(|flying| flying.at);
            let own = [self.gateway.poll_timeout(), arrival, Some(next_feed)];
            let next = timeouts.chain(own.into_iter().flatten()).min();
            self.now = next.expect("a time").max(self.now);
            if next_feed <= self.now {
                next_feed = self.now + TICK;
                if self.now > Instant::from_millis(500) {
                    self.feed();
                }
            }
            while let Some(flying) = self.flying.pop_front_if(|flying| flying.at <= self.now) {
                let input = datagram(place(flying.from), self.now, flying.buffer);
                self.tell(flying.to.checked_sub(1), input);
            }
            self.act_on_timeouts();
        }
    }

    fn act_on_timeouts(&mut self) {
        let now = self.now;
        if self.gateway.poll_timeout().is_some_and(|due| due <= now) {
            self.gateway.handle_timeout(now);
            self.drain(None);
        }
        for mobile in 0..self.mobiles.len() {
            let station = &mut self.mobiles[mobile];
            if station.poll_timeout().is_some_and(|due| due <= now) {
                station.handle_timeout(now);
                self.drain(Some(mobile));
            }
        }
    }

    /// Runs for so long, after the warm-up; returns what each mobile got in that time, in bytes.
    pub(crate) fn measure(&mut self, span: Duration) -> Vec<u64> {
        self.run_until(WARM_UP);
        let begin = self.now;
        let payload = |received: &Received| received.payload;
        let before: Vec<_> = self.received.iter().map(payload).collect();
        self.run_until(begin + span);
        let got = self.received.iter().zip(&before);
        got.map(|(received, before)| received.payload - before)
            .collect()
    }
}
