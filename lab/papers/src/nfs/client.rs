//! The host of a client: the application, the NFS client, UDP and IP, and below them what the host has: our link
//! repair, the driver with its fades, a slow processor.

use std::collections::VecDeque;
use std::net::SocketAddrV4;

use bytes::Bytes as Content;
use channel::Direction;
use files::{Client, Input as Told, Output as Said};
use machine::{Machine, earlier};
use rpc::LinkEvent;
use simulator::{Input, Output};
use units::Instant;
use wire::packet::PacketBuffer;

use super::addresses::STATION;
use super::copy::{Copy, Next};
use super::fades::Fades;
use super::interface::{Event, LINK};
use super::internet::Internet;
use super::packet::Packet;
use super::processor::{Done, Processor};
use crate::link_repair::{LinkRepair, Repaired};

/// The parts of a client's host.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) copy: Copy,
    pub(super) client: Client,
    pub(super) internet: Internet,
    pub(super) repair: Option<LinkRepair>,
    pub(super) fades: Fades,
    pub(super) processor: Processor,
}

/// Counters of a client's host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    /// Bytes of the file.
    pub(crate) copied: u64,
    /// Bytes of the file that have crossed the network: by READs to this host, or by WRITEs to the server.
    pub(crate) crossed: u64,
    /// Calls, each counted once.
    pub(crate) calls: u64,
    /// Transmissions of calls.
    pub(crate) sent: u64,
    /// Retransmissions of calls.
    pub(crate) again: u64,
    /// Replies to calls that were already answered: their retransmission was not necessary.
    pub(crate) late: u64,
    /// Packets that the card dropped because its buffer was full.
    pub(crate) overflows: u64,
    /// Packets lost in fades.
    pub(crate) faded: u64,
    /// Datagrams with missing fragments.
    pub(crate) incomplete: u64,
}

/// The host of a client.
#[derive(Debug)]
pub(crate) struct ClientHost {
    parts: Parts,
    local: SocketAddrV4,
    server: SocketAddrV4,
    /// True if the client gets the events of the link repair.
    tells: bool,
    start: Instant,
    started: bool,
    outputs: VecDeque<Output<Packet, Event>>,
    now: Instant,
}

impl ClientHost {
    /// Creates a host at `local` whose application begins at time zero; `tells` is true if its client gets the events
    /// of the hop.
    pub(super) fn new(parts: Parts, [local, server]: [SocketAddrV4; 2], tells: bool) -> Self {
        Self {
            parts,
            local,
            server,
            tells,
            start: Instant::ZERO,
            started: false,
            outputs: VecDeque::new(),
            now: Instant::ZERO,
        }
    }

    /// Returns the same host with an application that begins later.
    pub(super) fn starting_at(self, start: Instant) -> Self {
        Self { start, ..self }
    }

    /// Returns its counters.
    pub(crate) fn counts(&self) -> Counts {
        let parts = &self.parts;
        let counters = parts.client.calls();
        let calls = counters.sent;
        let files = parts.client.counters();
        Counts {
            copied: parts.copy.moved(),
            crossed: files.read_bytes + files.written_bytes,
            calls: calls.calls,
            sent: calls.messages,
            again: calls.messages - calls.calls,
            late: counters.received.late,
            overflows: parts.processor.overflows(),
            faded: parts.fades.lost(),
            incomplete: parts.internet.incomplete(),
        }
    }

    fn go_on(&mut self, next: Next) {
        match next {
            Next::Ask(request) => {
                let request = Told::Request(*request);
                self.parts.client.handle_input(self.now, request);
            }
            Next::Copied => {
                let took = self.now.since(self.start);
                self.outputs.push_back(Output::Event(Event::Copied(took)));
            }
            Next::Failed(why) => self.outputs.push_back(Output::Event(Event::Failed(why))),
        }
    }

    fn tell(&mut self, event: LinkEvent) {
        self.parts.client.handle_input(self.now, Told::Link(event));
    }

    /// Carries out an output of the NFS client.
    fn carry_out(&mut self, said: Said) {
        match said {
            Said::Send(message) => {
                for packet in self.parts.internet.send(self.server, &message) {
                    self.leave(packet);
                }
            }
            Said::Answer(answer) => {
                let next = self.parts.copy.take(answer);
                self.go_on(next);
            }
            Said::Silent { .. } | Said::Answering { .. } | Said::Reconnect => {}
        }
    }

    /// Sends an IP packet out of the host.
    fn leave(&mut self, packet: Packet) {
        match (&mut self.parts.repair, packet) {
            (Some(repair), Packet::Ip { bytes, .. }) => {
                repair.cross(self.now, PacketBuffer::copy_of(&bytes));
            }
            (_, packet) => self.parts.fades.pass(self.now, Direction::Up, packet),
        }
    }

    /// Takes a packet that has passed the driver.
    fn arrive(&mut self, packet: Packet) {
        match (packet, &mut self.parts.repair) {
            (Packet::Ip { bytes, .. }, _) => self.datagram(&bytes),
            (Packet::Frame { bytes, .. }, Some(repair)) => {
                repair.frame(self.now, PacketBuffer::copy_of(&bytes));
            }
            (Packet::Frame { .. }, None) => {}
        }
    }

    fn datagram(&mut self, packet: &Content) {
        if let Some((_, message)) = self.parts.internet.receive(self.now, packet) {
            let received = Told::Received(message);
            self.parts.client.handle_input(self.now, received);
        }
    }

    fn repaired(&mut self, repaired: Repaired) {
        match repaired {
            Repaired::Frame(frame) => {
                let frame = Packet::frame([*self.local.ip(), STATION], &frame);
                self.parts.fades.pass(self.now, Direction::Up, frame);
            }
            Repaired::Packet(packet) => {
                self.datagram(&Content::copy_from_slice(&packet));
            }
            Repaired::Event(event) if self.tells => self.tell(match event {
                association::LinkEvent::FadeBegan => LinkEvent::FadeBegan,
                association::LinkEvent::FadeEnded { .. } => LinkEvent::FadeEnded { kept: true },
            }),
            Repaired::Event(_) => {}
        }
    }

    /// Lets every part act on the outputs of the others; returns true if any did.
    fn step(&mut self) -> bool {
        if let Some(said) = self.parts.client.poll_output() {
            self.carry_out(said);
        } else if let Some(repaired) = self.parts.repair.as_mut().and_then(LinkRepair::poll_output)
        {
            self.repaired(repaired);
        } else if let Some(event) = self.parts.fades.poll_news() {
            self.tell(event);
        } else if let Some((direction, packet)) = self.parts.fades.poll() {
            match direction {
                Direction::Up => self.parts.processor.send(self.now, packet),
                Direction::Down => self.arrive(packet),
            }
        } else if let Some(done) = self.parts.processor.poll() {
            match done {
                Done::Received(packet) => self.parts.fades.pass(self.now, Direction::Down, packet),
                Done::Sent(packet) => {
                    let port = LINK;
                    self.outputs.push_back(Output::Send { port, packet });
                }
            }
        } else {
            return false;
        }
        true
    }
}

impl Machine for ClientHost {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        self.now = now;
        if let Input::Packet { packet, .. } = input {
            self.parts.processor.receive(now, packet);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        if !self.started && self.start <= now {
            self.started = true;
            let first = self.parts.copy.begin();
            self.go_on(first);
        }
        let parts = &mut self.parts;
        parts.processor.handle_timeout(now);
        parts.fades.handle_timeout(now);
        if let Some(repair) = &mut parts.repair {
            repair.handle_timeout(now);
        }
        parts.internet.handle_timeout(now);
        parts.client.handle_timeout(now);
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        while self.outputs.is_empty() && self.step() {}
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if !self.started {
            return Some(self.start);
        }
        let parts = &self.parts;
        let deadlines = [
            parts.client.poll_timeout(),
            parts.internet.poll_timeout(),
            parts.repair.as_ref().and_then(LinkRepair::poll_timeout),
            parts.fades.poll_timeout(),
            parts.processor.poll_timeout(),
        ];
        deadlines.into_iter().fold(None, earlier)
    }
}
