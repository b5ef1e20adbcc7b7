//! The file as a reader of pcapng sees it.

use std::io::{self, Write};

use pcap_file::pcapng::{Block, PcapNgReader};
use units::Instant;

use super::*;

/// A disk of this size.
#[derive(Default)]
struct Disk {
    bytes: Vec<u8>,
    size: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.size - self.bytes.len();
        if room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let count = bytes.len().min(room);
        self.bytes.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Target for Disk {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.bytes.truncate(length as usize);
        Ok(())
    }
}

fn file(size: usize, inner: bool) -> CaptureFile<Disk> {
    let about = About {
        daemon: "mobile".into(),
        beginning: Beginning {
            version: "1.2.3".into(),
            wall_ahead: Duration::from_secs(1_800_000_000),
        },
        selection: Selection {
            inner,
            hop: true,
            peer: Some("tablet7".into()),
            snap: 100,
        },
    };
    let disk = Disk {
        bytes: Vec::new(),
        size,
    };
    CaptureFile::new(disk, about)
}

fn record(side: Side, nanos: u64, bytes: &[u8]) -> Record<'_> {
    Record {
        side,
        at: Instant::from_nanos(nanos),
        counts: Counts::default(),
        is_last: false,
        flags: 2,
        length: 1_400,
        bytes,
    }
}

/// The blocks of a file, which must be whole.
fn blocks(bytes: &[u8]) -> Vec<Block<'static>> {
    let mut reader = PcapNgReader::new(bytes).unwrap();
    let mut blocks = Vec::new();
    while let Some(block) = reader.next_block() {
        blocks.push(block.unwrap().into_owned());
    }
    blocks
}

#[test]
fn a_reader_gets_interfaces_packets_and_counts() {
    let mut file = file(usize::MAX, true);
    file.add(&record(Side::Hop, 5, b"frame"));
    file.add(&record(Side::Inner, 1_000_000_007, b"packet"));
    file.flush().unwrap();
    let counts = |seen, dropped| Counts { seen, dropped };
    file.finish([counts(1, 0), counts(9, 8)]).unwrap();
    assert_eq!(file.written().records, [1, 1]);
    assert_eq!(file.written().bytes, file.target.bytes.len() as u64);
    let blocks = blocks(&file.target.bytes);
    let described = |at: usize| match &blocks[at] {
        Block::InterfaceDescription(block) => block,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        [0, 1].map(|at| (described(at).linktype, described(at).snaplen)),
        [(DataLink::RAW, 100), (DataLink::USER0, 100 + 283)]
    );
    let text = format!("{:?}", described(1).options);
    for part in [
        "\"hop\"",
        "tablet7",
        "daemon 'mobile', lasthop 1.2.3",
        "IfTsResol(9)",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let packet = |at: usize| match &blocks[at] {
        Block::EnhancedPacket(block) => block,
        other => panic!("{other:?}"),
    };
    let first = packet(2);
    assert_eq!(
        (first.interface_id, &*first.data, first.original_len),
        (1, &b"frame"[..], 1_400)
    );
    assert_eq!(first.timestamp, std::time::Duration::new(1_800_000_000, 5));
    assert_eq!(first.options, [EnhancedPacketOption::Flags(2)]);
    assert_eq!(
        packet(3).timestamp,
        std::time::Duration::new(1_800_000_001, 7)
    );
    let Block::InterfaceStatistics(last) = &blocks[5] else {
        panic!("{:?}", blocks[5]);
    };
    for option in [
        InterfaceStatisticsOption::IsbIfRecv(9),
        InterfaceStatisticsOption::IsbIfDrop(8),
        InterfaceStatisticsOption::IsbUsrDeliv(1),
        InterfaceStatisticsOption::IsbStartTime(1_800_000_000_000_000_005),
        InterfaceStatisticsOption::IsbEndTime(1_800_000_001_000_000_007),
    ] {
        assert!(last.options.contains(&option), "{option:?}");
    }
}

#[test]
fn a_file_on_a_full_disk_consists_of_whole_blocks() {
    let mut whole = file(usize::MAX, false);
    whole.flush().unwrap();
    let head = whole.written().bytes as usize;
    for size in head..head + 400 {
        let mut file = file(size, false);
        file.flush().unwrap();
        let mut failed = None;
        for _ in 0..10 {
            file.add(&record(Side::Hop, 1, &[7; 90]));
            failed = failed.or(file.flush().err());
            if failed.is_some() {
                break;
            }
        }
        assert!(matches!(failed, Some(WriteError::System(_))), "{failed:?}");
        // The counts, if there is room for them.
        let _ = file.finish([Counts::default(); 2]);
        assert_eq!(file.target.bytes.len() as u64, file.written().bytes);
        assert!(!blocks(&file.target.bytes).is_empty());
    }
}

#[test]
fn a_side_that_is_not_captured_has_no_interface() {
    let mut file = file(usize::MAX, false);
    file.add(&record(Side::Inner, 5, b"packet"));
    file.add(&record(Side::Hop, 5, b"frame"));
    file.finish([Counts::default(); 2]).unwrap();
    assert_eq!(file.written().records, [0, 1]);
    // The section itself is read before the first of them.
    assert_eq!(blocks(&file.target.bytes).len(), 3);
}
