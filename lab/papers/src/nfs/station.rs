//! The base station: it forwards between wire and air, and may be one end of our link repair.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use bytes::Bytes as Content;
use machine::{Machine, earlier};
use simulator::{Input, Output, Port};
use units::Instant;
use wire::packet::PacketBuffer;

use super::network::{SERVER, STATION};
use super::node::{AIR, Event, WIRED};
use super::packet::Packet;
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
    /// Where the link repair is ours: one for each mobile host.
    hops: Vec<Hop>,
    frames: VecDeque<Packet>,
}

impl Station {
    /// A station with these mobile hosts on the air, and further hosts on ports of their own; with a link repair for
    /// each mobile host where one is given.
    pub(crate) fn new(
        mobiles: &[Ipv4Addr],
        wired: &[(Ipv4Addr, Port)],
        repair: Option<&arq::Config>,
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
        }
    }

    fn hop(&mut self, mobile: Ipv4Addr) -> Option<&mut Hop> {
        self.hops.iter_mut().find(|hop| hop.mobile == mobile)
    }

    fn take(&mut self, now: Instant, packet: Packet) {
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

    /// Takes what comes out of the link repair.
    fn drain(&mut self) {
        for hop in &mut self.hops {
            while let Some(repaired) = hop.repair.poll_output() {
                match repaired {
                    Repaired::Frame(frame) => {
                        let frame = Packet::frame([STATION, hop.mobile], &frame);
                        self.frames.push_back(frame);
                    }
                    Repaired::Packet(packet) => {
                        let bytes = Content::copy_from_slice(&packet.buffer);
                        if let Ok(packet) = Packet::ip(bytes) {
                            self.router.take(packet);
                        }
                    }
                    Repaired::Event(_) => {}
                }
            }
        }
    }
}

impl Machine for Station {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        if let Input::Packet { packet, .. } = input {
            self.take(now, packet);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        for hop in &mut self.hops {
            hop.repair.handle_timeout(now);
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        self.drain();
        let frame = self.frames.pop_front().map(|frame| (AIR, frame));
        let (port, packet) = frame.or_else(|| self.router.poll())?;
        Some(Output::Send { port, packet })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let deadlines = self.hops.iter().map(|hop| hop.repair.poll_timeout());
        deadlines.fold(None, earlier)
    }
}
