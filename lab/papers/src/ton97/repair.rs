//! One end of our own link repair, which is below TCP: segments in order in, and out.

use std::collections::VecDeque;

use units::Instant;
use wire::TcpSegment;
use wire::packet::{Packet, PacketBuffer};
use wire::segment::Segments;

use crate::link_repair::{self, LinkRepair};

/// One end of the hop.
#[derive(Debug)]
pub(crate) struct Repair {
    link: LinkRepair,
    /// Segments that have crossed the hop.
    crossed: VecDeque<TcpSegment>,
    /// Buffer for a segment.
    bytes: Vec<u8>,
}

/// An output of the link repair.
#[derive(Debug)]
pub(crate) enum Repaired {
    /// A frame to send across the hop.
    Frame(PacketBuffer),
    /// A segment that has crossed the hop.
    Segment(TcpSegment),
}

impl Repair {
    /// Creates an idle end, which measures the rate of the hop itself.
    pub(crate) fn new() -> Self {
        Self {
            link: LinkRepair::new(link_repair::usual()),
            crossed: VecDeque::new(),
            bytes: Vec::new(),
        }
    }

    /// Sends a segment across the hop.
    pub(crate) fn cross(&mut self, now: Instant, segment: &TcpSegment) {
        let mut buffer = PacketBuffer::with_room(segment.packet_length(), 0);
        segment.encode(buffer.grow(segment.packet_length()));
        self.link.cross(now, buffer);
    }

    /// Takes a frame from the hop.
    pub(crate) fn frame(&mut self, now: Instant, frame: PacketBuffer) {
        self.link.frame(now, frame);
    }

    /// See [`machine::Machine::handle_timeout`].
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.link.handle_timeout(now);
    }

    /// See [`machine::Machine::poll_output`].
    pub(crate) fn poll_output(&mut self) -> Option<Repaired> {
        loop {
            if let Some(segment) = self.crossed.pop_front() {
                return Some(Repaired::Segment(segment));
            }
            match self.link.poll_output()? {
                link_repair::Repaired::Frame(frame) => return Some(Repaired::Frame(frame)),
                link_repair::Repaired::Packet(packet) => self.cut(&packet),
                link_repair::Repaired::Event(_) => {}
            }
        }
    }

    /// Converts a packet, which may hold several segments, to values.
    fn cut(&mut self, packet: &Packet) {
        let cut = |ip| Segments::of(&ip, packet.segment_size).ok();
        let segments = packet.ip().and_then(cut);
        let segments = segments.expect("what crossed the hop are the segments that we gave it");
        for index in 0..segments.count() {
            self.bytes.resize(segments.length(index), 0);
            segments.write(index, &mut self.bytes);
            match TcpSegment::parse(&self.bytes) {
                Ok((segment, true)) => self.crossed.push_back(segment),
                // Both ends are ours, and the hop delivers whole frames.
                other => panic!("the link repair changed a packet: {other:?}"),
            }
        }
    }

    /// See [`machine::Machine::poll_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.link.poll_timeout()
    }
}
