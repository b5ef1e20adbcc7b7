//! The pcapng file: one interface for each side, nanoseconds, and counts at the end.

use std::borrow::Cow;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::{
    InterfaceStatisticsBlock, InterfaceStatisticsOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness};
use runtime::capture::{Beginning, Counts, Record, Selection, Side};
use units::Duration;
use wire::capture::CAPTURE_HEADER_MAX;

use super::target::{Target, WriteError};

/// Time stamps count nanoseconds: 10⁻⁹ s.
const NANOSECONDS: u8 = 9;
/// Writing to memory does not fail, and the interfaces are those that were described.
const IN_MEMORY: &str = "a block is written to memory";

/// What the file says of its origin.
pub(super) struct About {
    /// Name of the daemon.
    pub(super) daemon: String,
    pub(super) beginning: Beginning,
    pub(super) selection: Selection,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Written {
    /// Number of packets or frames of each side.
    pub(super) records: [u64; Side::ALL.len()],
    /// Bytes of the file.
    pub(super) bytes: u64,
}

impl Written {
    /// Returns the number of packets and frames.
    pub(super) fn packets(&self) -> u64 {
        self.records.iter().sum()
    }
}

/// A capture file. What reaches the target are whole blocks, so it is a valid file at any time.
pub(super) struct CaptureFile<T> {
    target: T,
    writer: PcapNgWriter<Vec<u8>>,
    about: About,
    /// Number of the interface of each side that is captured.
    interfaces: [Option<u32>; Side::ALL.len()],
    /// Time of the first and the last record.
    times: Option<(Duration, Duration)>,
    written: Written,
}

impl<T: Target> CaptureFile<T> {
    /// Begins a file; nothing is written before [`Self::flush`].
    pub(super) fn new(target: T, about: About) -> Self {
        let section = section(&about);
        let writer = PcapNgWriter::with_section_header(Vec::new(), section).expect(IN_MEMORY);
        let mut file = Self {
            target,
            writer,
            about,
            interfaces: [None; 2],
            times: None,
            written: Written::default(),
        };
        let (mut number, selection) = (0, file.about.selection.clone());
        for side in Side::ALL {
            let is_wanted = match side {
                Side::Inner => selection.inner,
                Side::Hop => selection.hop,
            };
            if is_wanted {
                file.interfaces[side as usize] = Some(number);
                number += 1;
                let block = interface(side, &file.about);
                file.writer.write_pcapng_block(block).expect(IN_MEMORY);
            }
        }
        file
    }

    /// Returns what was written, and what waits for [`Self::flush`].
    pub(super) fn written(&self) -> Written {
        self.written
    }

    /// Appends a packet or frame. It waits in memory for [`Self::flush`].
    pub(super) fn add(&mut self, record: &Record<'_>) {
        let Some(interface_id) = self.interfaces[record.side as usize] else {
            return;
        };
        let at = record.at.since_origin() + self.about.beginning.wall_ahead;
        let first = self.times.map_or(at, |(first, _)| first);
        self.times = Some((first, at));
        self.written.records[record.side as usize] += 1;
        let block = EnhancedPacketBlock {
            interface_id,
            timestamp: at.into(),
            original_len: record.length,
            data: Cow::Borrowed(record.bytes),
            options: vec![EnhancedPacketOption::Flags(record.flags)],
        };
        self.writer.write_pcapng_block(block).expect(IN_MEMORY);
    }

    /// Writes everything that waits. After an error the file ends as it did before.
    pub(super) fn flush(&mut self) -> Result<(), WriteError> {
        let blocks = self.writer.get_mut();
        let written = self
            .target
            .write_all(blocks)
            .and_then(|()| self.target.flush());
        let length = blocks.len() as u64;
        blocks.clear();
        match written {
            Ok(()) => {
                self.written.bytes += length;
                Ok(())
            }
            Err(error) => {
                // If that fails too, the first error says more.
                let _ = self.target.cut(self.written.bytes);
                Err(error.into())
            }
        }
    }

    /// Ends the file with the counts of each side.
    pub(super) fn finish(&mut self, counts: [Counts; Side::ALL.len()]) -> Result<(), WriteError> {
        let (first, last) = self.times.unwrap_or_default();
        for side in Side::ALL {
            let Some(interface_id) = self.interfaces[side as usize] else {
                continue;
            };
            let counts = counts[side as usize];
            let block = InterfaceStatisticsBlock {
                interface_id,
                timestamp: last.as_nanos(),
                options: vec![
                    InterfaceStatisticsOption::IsbStartTime(first.as_nanos()),
                    InterfaceStatisticsOption::IsbEndTime(last.as_nanos()),
                    InterfaceStatisticsOption::IsbIfRecv(counts.seen),
                    InterfaceStatisticsOption::IsbIfDrop(counts.dropped),
                    InterfaceStatisticsOption::IsbUsrDeliv(self.written.records[side as usize]),
                ],
            };
            self.writer.write_pcapng_block(block).expect(IN_MEMORY);
        }
        self.flush()
    }
}

fn section(about: &About) -> SectionHeaderBlock<'static> {
    let version = env!("CARGO_PKG_VERSION");
    let daemon = format!(
        "daemon '{}', lasthop {}",
        about.daemon, about.beginning.version
    );
    let system = rustix::system::uname();
    let system =
        [system.sysname(), system.release()].map(|text| text.to_string_lossy().into_owned());
    SectionHeaderBlock {
        // The library writes the times of statistics as one number. Only in this order that is what pcapng wants: the
        // high half first.
        endianness: Endianness::Big,
        options: vec![
            SectionHeaderOption::Comment(daemon.into()),
            SectionHeaderOption::OS(system.join(" ").into()),
            SectionHeaderOption::UserApplication(format!("lasthop capture {version}").into()),
        ],
        ..SectionHeaderBlock::default()
    }
}

fn interface(side: Side, about: &About) -> InterfaceDescriptionBlock<'static> {
    let snap = about.selection.snap as u32;
    let (name, what, linktype, snaplen) = match side {
        Side::Inner => (
            "inner",
            "IP packets that cross the TUN device",
            DataLink::RAW,
            snap,
        ),
        Side::Hop => (
            "hop",
            "frames of the hop, before they are sealed and after they were opened",
            DataLink::USER0,
            snap + CAPTURE_HEADER_MAX as u32,
        ),
    };
    let of = match &about.selection.peer {
        Some(peer) => format!(", of peer '{peer}' alone"),
        None => String::new(),
    };
    let (daemon, version) = (&about.daemon, &about.beginning.version);
    let description = format!("{what}{of}; daemon '{daemon}', lasthop {version}");
    InterfaceDescriptionBlock {
        linktype,
        snaplen,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
            InterfaceDescriptionOption::IfDescription(description.into()),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ],
    }
}

#[cfg(test)]
mod tests;
