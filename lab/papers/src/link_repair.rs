//! One end of our link repair as a hop of the papers' networks: IP packets in and out.

use std::net::Ipv4Addr;

use association::{Association, Input, LinkEvent, Output, TcpConfig, TcpMethod};
use machine::Machine;
use units::{Bytes, Instant};
use wire::ip::Ecn;
use wire::packet::{Packet, PacketBuffer};

/// Bytes of a frame of our link repair besides its content: IPv4 and UDP headers, and the seal.
pub(crate) const FRAME_OVERHEAD: usize = 20 + 8 + 24;
/// Largest frame in bytes: with its overhead, an IP packet of 1,500.
const FRAME: usize = 1_500 - FRAME_OVERHEAD;

/// The first byte of an IPv4 header without options, and the protocol number that marks a frame: 253, for
/// experiments (RFC 3692).
pub(crate) const IPV4: u8 = 0x45;
const FRAME_PROTOCOL: u8 = 253;

/// One end of the hop.
#[derive(Debug)]
pub(crate) struct LinkRepair {
    association: Association,
}

/// An output of the link repair.
#[derive(Debug)]
pub(crate) enum Repaired {
    /// A frame to send across the hop.
    Frame(PacketBuffer),
    /// A packet that has crossed the hop.
    Packet(Packet),
    /// An event of the hop.
    Event(LinkEvent),
}

/// Returns the default configuration of our link repair.
pub(crate) fn usual() -> arq::Config {
    arq::Config::new(FRAME, FRAME_OVERHEAD)
}

impl LinkRepair {
    /// Creates an idle end, which measures the rate of the hop itself.
    pub(crate) fn new(config: arq::Config) -> Self {
        let tcp = TcpConfig {
            method: TcpMethod::Arq,
            at_gateway: false,
            cache: Bytes::ZERO,
        };
        Self {
            association: Association::new(config, None, &tcp),
        }
    }

    /// Sends a packet across the hop.
    pub(crate) fn cross(&mut self, now: Instant, packet: PacketBuffer) {
        let packet = Input::Packet(Packet::new(packet));
        self.association.handle_input(now, packet);
    }

    /// Takes a frame from the hop.
    pub(crate) fn frame(&mut self, now: Instant, frame: PacketBuffer) {
        let frame = Input::Frame {
            arrived: now,
            frame,
            ecn: Ecn::NotCapable,
        };
        self.association.handle_input(now, frame);
    }

    /// See [`Machine::handle_timeout`].
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.association.handle_timeout(now);
    }

    /// See [`Machine::poll_output`].
    pub(crate) fn poll_output(&mut self) -> Option<Repaired> {
        loop {
            return Some(match self.association.poll_output()? {
                Output::Frame { frame, .. } => Repaired::Frame(frame),
                Output::Packet(packet) => Repaired::Packet(packet),
                Output::Event(event) => Repaired::Event(event),
                Output::Silence | Output::Streams(_) => continue,
            });
        }
    }

    /// See [`Machine::poll_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.association.poll_timeout()
    }
}

/// Appends a frame as a capture shows it: behind an IPv4 header with the addresses of the hosts; the rest of its
/// overhead is left out.
pub(crate) fn encode_frame(frame: &[u8], [from, to]: [Ipv4Addr; 2], into: &mut Vec<u8>) {
    let start = into.len();
    let length = frame.len() + FRAME_OVERHEAD;
    into.resize(start + length, 0);
    let bytes = &mut into[start..];
    bytes[0] = IPV4;
    bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    bytes[9] = FRAME_PROTOCOL;
    bytes[12..16].copy_from_slice(&from.octets());
    bytes[16..20].copy_from_slice(&to.octets());
    bytes[FRAME_OVERHEAD..].copy_from_slice(frame);
}

/// Returns the frame of a packet in a capture, if it is one.
pub(crate) fn parse_frame(bytes: &[u8]) -> Option<&[u8]> {
    let is_frame = bytes.get(9) == Some(&FRAME_PROTOCOL);
    bytes.get(FRAME_OVERHEAD..).filter(|_| is_frame)
}
