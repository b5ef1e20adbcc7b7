//! A gateway with a processor of its own speed, its mobile hosts on hops of their own, and a fixed host.
//!
//! The model of the processor: each packet and each datagram takes a fixed time, in either direction, and nothing
//! else takes any. The gateway's driver goes on as the daemon's loop does: deadlines that have come, then a batch of
//! datagrams from its socket, then a batch of packets from the wired network, of which both hold only so many.

use std::collections::VecDeque;

use hosts::{Caps, Host, Input, Output, Peer, Role};
use machine::Machine;
use simulator::testing::{Clock, Next};
use units::{BitRate, Bytes, Duration, Instant};
use wire::address::HopAddress;
use wire::packet::{Packet, PacketBuffer};

use super::cell::{Station, name, place};
use super::{build, datagram};

/// Time of the processor for a packet to the wired network, a datagram from the hop, and what goes the other way: as
/// the issue measured them, 65,000 packets a second took 55 % of a core.
const PACKET_OUT: Duration = Duration::from_micros(8);
const DATAGRAM_IN: Duration = Duration::from_micros(3);
const PACKET_IN: Duration = Duration::from_micros(3);
const DATAGRAM_OUT: Duration = Duration::from_micros(2);
/// Time for an initiation that is within the budget for handshakes.
const HANDSHAKE: Duration = Duration::from_micros(200);
/// First byte of an initiation.
const INITIATION: u8 = 1;
/// Time for a turn of the loop.
const TURN: Duration = Duration::from_micros(3);
/// Datagrams in the socket's buffer, and packets in the device's queue.
const SOCKET: usize = 256;
const DEVICE: usize = 500;
/// Datagrams or packets in one turn.
const BATCH: usize = 64;
/// Protocol number and flag of TCP.
const TCP: u8 = 6;
const RST: u8 = 4;
const DELAY: Duration = Duration::from_millis(10);
const AROUND_UDP: usize = 14 + 20 + 8;
const WALL: u64 = 1_800_000_000_000_000_000;

/// What happens later.
enum Later {
    /// A datagram leaves the hop.
    Hop {
        from: usize,
        to: usize,
        buffer: PacketBuffer,
    },
    /// A packet comes from the wired network.
    Wired(Packet),
}

/// A hop: the time until which each direction is busy, to the mobile host and from it, and its queue.
#[derive(Clone, Copy)]
struct Hop {
    rate: BitRate,
    busy: [Instant; 2],
}

/// Time after which a datagram finds no room in a hop's queue.
const QUEUE: Duration = Duration::from_millis(100);

pub(crate) struct Site {
    pub(crate) gateway: Host,
    mobiles: Vec<Station>,
    hops: Vec<Hop>,
    clock: Clock<Later>,
    socket: VecDeque<(HopAddress, Instant, PacketBuffer)>,
    device: VecDeque<Packet>,
    /// Time until which the gateway's processor is busy.
    busy: Instant,
    /// Packets that mobile hosts received, and that left the gateway, with their times.
    pub(crate) received: Vec<Vec<(Instant, Packet)>>,
    pub(crate) forwarded: Vec<(Instant, Packet)>,
    /// Datagrams that found no room in the socket.
    pub(crate) overflows: u64,
    wired: Wired,
    /// Packets written to the device since it was last read.
    written: usize,
}

/// How the wired side behaves, and how slow the processor is.
#[derive(Clone, Copy)]
pub(crate) struct Wired {
    /// Times for which a packet to the wired network and one from there take the processor.
    pub(crate) packet_out: Duration,
    pub(crate) packet_in: Duration,
    /// True if each TCP segment is answered by a reset.
    pub(crate) resets: bool,
}

impl Default for Wired {
    fn default() -> Self {
        Self {
            packet_out: PACKET_OUT,
            packet_in: PACKET_IN,
            resets: false,
        }
    }
}

/// Returns the configuration of a peer: the gateway is number 0.
fn peer(index: usize, caps: Caps) -> Peer {
    match index {
        0 => Peer {
            endpoint: Some(place(0)),
            ..build::peer(&name(0), &[("0.0.0.0", 0)])
        },
        _ => Peer {
            caps,
            ..build::peer(&name(index), &[(&format!("10.9.0.{index}"), 32)])
        },
    }
}

fn host(role: Role, index: usize, peers: Vec<Peer>) -> Host {
    let config = build::config(role, &name(index), peers);
    build::host(config, build::entropy(21, &name(index)))
}

/// Returns a TCP segment of the same length that goes back and resets the connection.
fn reset(packet: &Packet) -> Packet {
    let mut bytes = packet.to_vec();
    bytes[12..20].rotate_left(4);
    bytes[20..24].rotate_left(2);
    bytes[33] = RST;
    Packet::new(PacketBuffer::copy_of(&bytes))
}

impl Site {
    /// Returns a gateway with these caps and one mobile host for each rate, which is that of its hop.
    pub(crate) fn new(caps: Caps, rates: &[BitRate]) -> Self {
        let mobiles = 1..=rates.len();
        let peers = mobiles.clone().map(|index| peer(index, caps)).collect();
        let usual = Caps::default();
        let station =
            |index| -> Station { Box::new(host(Role::Mobile, index, vec![peer(0, usual)])) };
        let hop = |rate: &BitRate| Hop {
            rate: *rate,
            busy: [Instant::ZERO; 2],
        };
        Self {
            gateway: host(Role::Gateway, 0, peers),
            mobiles: mobiles.map(station).collect(),
            hops: rates.iter().map(hop).collect(),
            clock: Clock::new(Instant::ZERO),
            socket: VecDeque::new(),
            device: VecDeque::new(),
            busy: Instant::ZERO,
            received: vec![Vec::new(); rates.len()],
            forwarded: Vec::new(),
            overflows: 0,
            wired: Wired::default(),
            written: 0,
        }
    }

    /// Sets the behaviour of the wired side.
    pub(crate) fn set_wired(&mut self, wired: Wired) {
        self.wired = wired;
    }

    /// Puts something else in the place of a mobile host, by number from 0.
    pub(crate) fn replace(&mut self, mobile: usize, station: Station) {
        self.mobiles[mobile] = station;
    }

    pub(crate) fn begin(&mut self) {
        self.gateway.handle_input(self.clock.now, Input::Wall(WALL));
        self.drain_gateway();
        for mobile in 0..self.mobiles.len() {
            self.tell(mobile, Input::Wall(WALL));
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now
    }

    /// Gives a mobile host an input.
    pub(crate) fn tell(&mut self, mobile: usize, input: Input) {
        self.mobiles[mobile].handle_input(self.clock.now, input);
        self.drain(mobile);
    }

    /// A packet comes from the wired network.
    pub(crate) fn send(&mut self, packet: Packet) {
        self.clock.add_after(Duration::ZERO, Later::Wired(packet));
    }

    fn launch(&mut self, from: usize, to: usize, at: Instant, buffer: PacketBuffer) {
        let mobile = from.max(to) - 1;
        let hop = &mut self.hops[mobile];
        let busy = &mut hop.busy[usize::from(from > 0)];
        if busy.since(at) > QUEUE {
            return;
        }
        *busy = (*busy).max(at) + hop.rate.time_for(Bytes::from(buffer.len() + AROUND_UDP));
        let arrives = *busy + DELAY;
        let later = Later::Hop { from, to, buffer };
        self.clock.add_after(arrives.since(self.clock.now), later);
    }

    fn drain(&mut self, mobile: usize) {
        while let Some(output) = self.mobiles[mobile].poll_output() {
            match output {
                Output::Datagram { buffer, .. } => {
                    self.launch(mobile + 1, 0, self.clock.now, buffer);
                }
                Output::Packet(packet) => self.received[mobile].push((self.clock.now, packet)),
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

    /// A packet from the wired network comes to the device.
    fn arrive(&mut self, packet: Packet) {
        if self.device.len() < DEVICE {
            self.device.push_back(packet);
        }
    }

    /// Carries out what the gateway puts out; each output takes its time.
    fn drain_gateway(&mut self) {
        while let Some(output) = self.gateway.poll_output() {
            match output {
                Output::Datagram { to, buffer, .. } => {
                    self.busy += DATAGRAM_OUT;
                    let known = (1..=self.mobiles.len()).find(|index| place(*index) == to);
                    if let Some(to) = known {
                        self.launch(0, to, self.busy, buffer);
                    }
                }
                Output::Packet(packet) => {
                    self.busy += self.wired.packet_out;
                    self.written += 1;
                    if self.wired.resets && packet[9] == TCP {
                        self.arrive(reset(&packet));
                    }
                    self.forwarded.push((self.busy, packet));
                }
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

    /// One turn of the gateway's loop.
    fn turn(&mut self) {
        self.busy = self.busy.max(self.clock.now) + TURN;
        if self
            .gateway
            .poll_timeout()
            .is_some_and(|due| due <= self.busy)
        {
            self.gateway.handle_timeout(self.busy);
            self.drain_gateway();
        }
        let now = self.busy;
        for _ in 0..BATCH {
            let Some((from, arrived, buffer)) = self.socket.pop_front() else {
                break;
            };
            self.busy += DATAGRAM_IN;
            let asks = buffer.first() == Some(&INITIATION);
            let refused = self.refused(asks);
            self.gateway
                .handle_input(now, datagram(from, arrived, buffer));
            if asks && self.refused(asks) == refused {
                self.busy += HANDSHAKE;
            }
            self.drain_gateway();
        }
        // What was written may be answered already.
        let written = std::mem::take(&mut self.written);
        for _ in 0..BATCH + written {
            let Some(packet) = self.device.pop_front() else {
                break;
            };
            self.busy += self.wired.packet_in;
            self.gateway.handle_input(self.busy, Input::Packet(packet));
            self.drain_gateway();
        }
    }

    /// Returns the number of initiations beyond the budget, if this is asked.
    fn refused(&self, is_asked: bool) -> u64 {
        let status = is_asked.then(|| self.gateway.status(self.busy));
        let dropped = status
            .into_iter()
            .flat_map(|status| status.datagrams_dropped);
        let over = dropped.filter(|(cause, _)| cause == "OverBudget");
        over.map(|(_, count)| count).sum()
    }

    /// Returns the time of the gateway's next turn.
    fn next_turn(&self) -> Option<Instant> {
        let waits = !self.socket.is_empty() || !self.device.is_empty();
        let at = waits.then_some(self.clock.now);
        let at = at.or_else(|| self.gateway.poll_timeout())?;
        Some(at.max(self.busy))
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.clock.now + span;
        loop {
            let mobiles = self
                .mobiles
                .iter()
                .filter_map(|mobile| mobile.poll_timeout());
            let deadline = mobiles.chain(self.next_turn()).min();
            match self.clock.advance(end, deadline) {
                Next::Event(Later::Wired(packet)) => self.arrive(packet),
                Next::Event(Later::Hop {
                    from,
                    to: 0,
                    buffer,
                }) => {
                    if self.socket.len() < SOCKET {
                        self.socket.push_back((place(from), self.clock.now, buffer));
                    } else {
                        self.overflows += 1;
                    }
                }
                Next::Event(Later::Hop { from, to, buffer }) => {
                    let now = self.clock.now;
                    self.tell(to - 1, datagram(place(from), now, buffer));
                }
                Next::Deadline => self.act(),
                Next::End => return,
            }
        }
    }

    fn act(&mut self) {
        let now = self.clock.now;
        for mobile in 0..self.mobiles.len() {
            let due = self.mobiles[mobile].poll_timeout();
            if due.is_some_and(|due| due <= now) {
                self.mobiles[mobile].handle_timeout(now);
                self.drain(mobile);
            }
        }
        if self.next_turn().is_some_and(|at| at <= now) {
            self.turn();
        }
    }
}
