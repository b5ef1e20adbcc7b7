//! Captures for Wireshark: pcapng, an interface for each tapped port, raw IP, nanoseconds.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;

use channel::PerDirection;
use pcap_file::pcapng::blocks::ENHANCED_PACKET_BLOCK;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::SectionHeaderBlock;
use pcap_file::pcapng::{PcapNgWriter, RawBlock};
use pcap_file::{DataLink, Endianness, PcapError};
use units::Instant;

use crate::line::End;
use crate::node::Node;
use crate::observer::{Moment, Observer, Sighting};
use crate::packet::Coding;
use crate::simulation::Simulation;
use crate::trace::{FirstError, TraceError, buffered};

/// Time stamps count nanoseconds: 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

/// Unit of block lengths, in bytes.
const WORD: usize = 4;
/// Bytes of a block besides its body: its type, and its length twice.
const FRAME: usize = 12;

const WHAT: &str = "the capture";

/// An observer that captures the packets that tapped ports send and receive, as `tcpdump` on their hosts would: a lost
/// packet is seen at the sender only. It writes bytes during the run, so it keeps no packet.
pub struct Pcap<W: Write> {
    writer: PcapNgWriter<BufWriter<W>>,
    first_error: FirstError,
    /// Interface at the sending end of each link and direction, by the link's index.
    senders: Vec<PerDirection<Option<u32>>>,
    /// Interface at the receiving end of each link and direction, by the link's index.
    receivers: Vec<PerDirection<Option<u32>>>,
    /// Largest number of bytes kept of a packet.
    snap: u32,
    /// The block that is being assembled, without its framing.
    body: Vec<u8>,
}

impl<W: Write> Pcap<W> {
    /// Begins a capture at the ports `taps`, of at most `snap` bytes of each packet.
    pub fn new<N: Node>(
        writer: W,
        simulation: &Simulation<N>,
        taps: &[End],
        snap: u16,
    ) -> Result<Self, TraceError> {
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            ..SectionHeaderBlock::default()
        };
        let links = simulation.links.len();
        let mut pcap = Self {
            writer: PcapNgWriter::with_section_header(buffered(writer), section)
                .map_err(|error| TraceError::new(WHAT, io_error(error)))?,
            first_error: FirstError::new(WHAT),
            senders: vec![PerDirection::default(); links],
            receivers: vec![PerDirection::default(); links],
            snap: u32::from(snap),
            body: Vec::new(),
        };
        for (tap, number) in taps.iter().zip(0..) {
            // A port without a link has no traffic.
            if let Some((link, sends)) = simulation.link_at(*tap) {
                pcap.senders[link.index()][sends] = Some(number);
                pcap.receivers[link.index()][sends.reverse()] = Some(number);
            }
            let begun = pcap.interface(format!("{}:{}", simulation.name(tap.node), tap.port.0));
            if begun.is_break() {
                break;
            }
        }
        Ok(pcap)
    }

    /// Ends the capture; the error is the first one from writing.
    pub fn finish(self) -> Result<W, TraceError> {
        self.first_error.finish(self.writer.into_inner())
    }

    fn interface(&mut self, name: String) -> ControlFlow<()> {
        let block = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: self.snap,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Owned(name)),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        let writer = &mut self.writer;
        let write = || writer.write_pcapng_block(block).map(drop).map_err(io_error);
        self.first_error.guard(write)
    }

    /// Writes a packet as an enhanced packet block (pcapng §4.3), which is assembled here: the library would copy each
    /// packet twice.
    fn capture(&mut self, at: Instant, interface: u32, packet: &impl Coding) -> ControlFlow<()> {
        let (high, low) = ((at.as_nanos() >> 32) as u32, at.as_nanos() as u32);
        let length = packet.length().get() as u32;
        self.body.clear();
        for word in [interface, high, low, length.min(self.snap), length] {
            self.body.extend_from_slice(&word.to_le_bytes());
        }
        packet.encode_head(self.snap as usize, &mut self.body);
        self.body.resize(self.body.len().next_multiple_of(WORD), 0);
        let length = (self.body.len() + FRAME) as u32;
        let block = RawBlock {
            type_: ENHANCED_PACKET_BLOCK,
            initial_len: length,
            body: Cow::Borrowed(&self.body),
            trailer_len: length,
        };
        let writer = &mut self.writer;
        let write = || writer.write_raw_block(&block).map(drop).map_err(io_error);
        self.first_error.guard(write)
    }
}

impl<N, W> Observer<N> for Pcap<W>
where
    N: Node,
    N::Packet: Coding,
    W: Write,
{
    fn packet(&mut self, sighting: Sighting, packet: &N::Packet) -> ControlFlow<()> {
        let ends = match sighting.moment {
            Moment::Sent => &self.senders,
            Moment::Delivered => &self.receivers,
            Moment::Lost(_) => return ControlFlow::Continue(()),
        };
        let interface = ends.get(sighting.link.index());
        match interface.and_then(|interface| interface[sighting.direction]) {
            Some(interface) => self.capture(sighting.at, interface, packet),
            None => ControlFlow::Continue(()),
        }
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
