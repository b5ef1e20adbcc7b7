//! Several tunnels that know nothing of each other, with a download in each, on one hop.

use channel::{Channel, Direction, Link};
use hosts::{Host, Input, Output};
use machine::{Machine, earlier};
use units::{Bytes, Duration, Instant};
use wire::packet::PacketBuffer;

use super::{
    AROUND_UDP, BACKLOG, GATEWAY, MOBILE, Received, Setting, Traffic, WALL, datagram, end, host,
};

/// A datagram with its tunnel and the host that it goes to.
type Crossing = (usize, usize, PacketBuffer);

struct Tunnel {
    hosts: [Host; 2],
    setting: Setting,
    begins: Instant,
    traffic: Traffic,
    received: Received,
}

/// The tunnels and their hop.
pub(crate) struct Tunnels {
    channel: Channel<Crossing>,
    now: Instant,
    list: Vec<Tunnel>,
}

impl Tunnels {
    /// So many of them, whose downloads begin one `after` the other.
    pub(crate) fn new(link: &Link, seed: u64, (count, after): (usize, Duration)) -> Self {
        let tunnel = |number: usize| {
            let setting = Setting::usual(seed + number as u64);
            Tunnel {
                hosts: [host(MOBILE, setting), host(GATEWAY, setting)],
                setting,
                begins: Instant::ZERO + after * number as u64,
                traffic: Traffic::bulk(1),
                received: Received::begin(),
            }
        };
        let mut tunnels = Self {
            channel: Channel::new(link, seed),
            now: Instant::ZERO,
            list: (0..count).map(tunnel).collect(),
        };
        for number in 0..count {
            for host in [MOBILE, GATEWAY] {
                tunnels.input((number, host), Input::Wall(WALL));
            }
        }
        tunnels
    }

    /// The payload that each download has got; all of it came in order.
    pub(crate) fn received(&self) -> Vec<u64> {
        let payload = |tunnel: &Tunnel| {
            assert!(tunnel.received.in_order);
            tunnel.received.payload
        };
        self.list.iter().map(payload).collect()
    }

    fn input(&mut self, (number, host): (usize, usize), input: Input) {
        self.list[number].hosts[host].handle_input(self.now, input);
        self.drain(number, host);
    }

    fn drain(&mut self, number: usize, host: usize) {
        while let Some(output) = self.list[number].hosts[host].poll_output() {
            match output {
                Output::Datagram { buffer, .. } => {
                    let input = channel::Input::Send {
                        direction: [Direction::Up, Direction::Down][host],
                        size: Bytes::from(buffer.len() + AROUND_UDP),
                        payload: (number, 1 - host, buffer),
                    };
                    self.channel.handle_input(self.now, input);
                }
                Output::Packet(packet) => self.list[number].received.note(&packet),
                Output::Event(_)
                | Output::System(_)
                | Output::Seek { .. }
                | Output::Claim { .. }
                | Output::Resolvers(_)
                | Output::Exits { .. }
                | Output::HandedOver(_)
                | Output::Told => {}
            }
        }
    }

    /// Lets what has crossed arrive.
    fn deliver(&mut self) {
        while let Some(output) = self.channel.poll_output() {
            let channel::Output::Deliver { payload, .. } = output else {
                continue;
            };
            let (number, host, buffer) = payload;
            let from = end(self.list[number].setting, 1 - host);
            self.input((number, host), datagram(from, self.now, buffer));
        }
    }

    fn feed(&mut self) {
        for number in 0..self.list.len() {
            let tunnel = &self.list[number];
            let queued = tunnel.hosts[GATEWAY].queued(self.now, 0);
            let Some(queued) = queued.filter(|_| tunnel.begins <= self.now) else {
                continue;
            };
            let mut room = BACKLOG.get().saturating_sub(queued.get());
            while room > 0 {
                let packet = self.list[number].traffic.full_packet();
                room = room.saturating_sub(packet.len() as u64);
                self.input((number, GATEWAY), Input::Packet(packet));
            }
        }
    }

    /// A host does what is due.
    fn wake(&mut self, number: usize, host: usize) {
        let machine = &mut self.list[number].hosts[host];
        if machine.poll_timeout().is_some_and(|due| due <= self.now) {
            machine.handle_timeout(self.now);
            self.drain(number, host);
        }
    }

    pub(crate) fn run_until(&mut self, end: Instant) {
        while self.now < end {
            self.feed();
            let hosts = self.list.iter().flat_map(|tunnel| &tunnel.hosts);
            let next = hosts.filter_map(Machine::poll_timeout).min();
            let begins = self.list.iter().map(|tunnel| tunnel.begins);
            let begins = begins.filter(|begins| *begins > self.now).min();
            let next = earlier(earlier(next, begins), self.channel.poll_timeout());
            self.now = self.now.max(next.unwrap_or(end).min(end));
            self.channel.handle_timeout(self.now);
            self.deliver();
            for number in 0..self.list.len() {
                for host in [MOBILE, GATEWAY] {
                    self.wake(number, host);
                }
            }
        }
    }
}
