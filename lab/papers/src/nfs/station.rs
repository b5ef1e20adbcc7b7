//! The base station: it forwards between wire and air, and can be one end of our link repair.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use bytes::Bytes as Content;
use machine::{Machine, earlier};
use simulator::{Input, Output, Port};
use units::Instant;
use wire::packet::PacketBuffer;

use super::addresses::{SERVER, STATION};
use super::interface::{AIR, Event, WIRED};
use super::packet::Packet;
use super::processor::{Done, Processor};
use crate::link_repair::{LinkRepair, Repaired};
use crate::router::Router;

/// The base station's end of one hop.
#[derive(Debug)]
struct Hop {
    mobile: Ipv4Addr,
    repair: LinkRepair,
}

/// The base station.
#[derive(Debug)]
pub(crate) struct Station {
    router: Router<Packet>,
    /// Ends of our link repair, one for each mobile host; empty without it.
    hops: Vec<Hop>,
    frames: VecDeque<Packet>,
    /// Processor for the packets of the air.
    processor: Processor,
    now: Instant,
}

impl Station {
    /// Creates a station with these mobile hosts on the air, and further hosts on ports of their own; with a link
    /// repair for each mobile host if `repair` is set.
    pub(super) fn new(
        mobiles: &[Ipv4Addr],
        wired: &[(Ipv4Addr, Port)],
        repair: Option<&arq::Config>,
        processor: Processor,
    ) -> Self {
        let air = mobiles.iter().map(|mobile| (*mobile, AIR));
        let routes = [(SERVER, WIRED)].into_iter();
        let routes = routes.chain(air).chain(wired.iter().copied());
        let hop = |mobile: &Ipv4Addr| {
            repair.map(|config| Hop {
                mobile: *mobile,
                repair: LinkRepair::new(config.clone()),
            })
        };
        Self {
            router: Router::new(routes.collect()),
            hops: mobiles.iter().filter_map(hop).collect(),
            frames: VecDeque::new(),
            processor,
            now: Instant::ZERO,
        }
    }

    /// Returns the number of packets from the air that its card dropped because its buffer was full.
    pub(crate) fn overflows(&self) -> u64 {
        self.processor.overflows()
    }

    fn hop(&mut self, mobile: Ipv4Addr) -> Option<&mut Hop> {
        self.hops.iter_mut().find(|hop| hop.mobile == mobile)
    }

    fn take(&mut self, packet: Packet) {
        let now = self.now;
        match packet {
            Packet::Ip { hosts, bytes } => match self.hop(hosts[1]) {
                Some(hop) => hop.repair.cross(now, PacketBuffer::copy_of(&bytes)),
                None => self.router.take(Packet::Ip { hosts, bytes }),
            },
            Packet::Frame { hosts, bytes } => {
                if let Some(hop) = self.hop(hosts[0]) {
                    hop.repair.frame(now, PacketBuffer::copy_of(&bytes));
                }
            }
        }
    }

    /// Takes the outputs of the link repair.
    fn drain(&mut self) {
        for hop in &mut self.hops {
            while let Some(repaired) = hop.repair.poll_output() {
                match repaired {
                    Repaired::Frame(frame) => {
                        let frame = Packet::frame([STATION, hop.mobile], &frame);
                        self.frames.push_back(frame);
                    }
                    Repaired::Packet(packet) => {
                        let bytes = Content::copy_from_slice(&packet);
                        if let Ok(packet) = Packet::ip(bytes) {
                            self.router.take(packet);
                        }
                    }
                    Repaired::Event(_) => {}
                }
            }
        }
    }

    /// Passes the outputs of the parts on; returns the next packet that leaves.
    fn next(&mut self) -> Option<(Port, Packet)> {
        loop {
            self.drain();
            let frame = self.frames.pop_front().map(|frame| (AIR, frame));
            if let Some((port, packet)) = frame.or_else(|| self.router.poll()) {
                if port != AIR {
                    return Some((port, packet));
                }
                self.processor.send(self.now, packet);
            }
            match self.processor.poll() {
                Some(Done::Sent(packet)) => return Some((AIR, packet)),
                Some(Done::Received(packet)) => self.take(packet),
                None if self.router.is_empty() && self.frames.is_empty() => return None,
                None => {}
            }
        }
    }
}

impl Machine for Station {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        self.now = now;
        match input {
            Input::Packet { port: AIR, packet } => self.processor.receive(now, packet),
            Input::Packet { packet, .. } => self.take(packet),
            Input::Corrupted { .. } => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.processor.handle_timeout(now);
        for hop in &mut self.hops {
            hop.repair.handle_timeout(now);
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        let (port, packet) = self.next()?;
        Some(Output::Send { port, packet })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let deadlines = self.hops.iter().map(|hop| hop.repair.poll_timeout());
        deadlines.fold(self.processor.poll_timeout(), earlier)
    }
}
