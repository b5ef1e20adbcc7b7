//! Traces: their content, equal content for equal runs, and an error for a full disk.

use std::io::{self, Write};

use pcap_file::DataLink;
use pcap_file::pcapng::{Block, PcapNgReader};
use simulator::{Ending, Limits, Moment, Pcap, Probe, Series, Sighting, Simulation};
use units::Instant;

use crate::common::{Host, Parcel, Role, Sender, hop, path};

const FADING: &str = "model = 'temporal', loss_bad = 1.0, \
    good = { distribution = 'deterministic', mean = '100 ms' }, \
    bad = { distribution = 'deterministic', mean = '40 ms' }";

fn end() -> Limits {
    Limits::until(Instant::from_millis(60_000))
}

struct Window;

impl Probe<Host> for Window {
    fn node(&mut self, host: &Host, record: &mut dyn FnMut(&'static str, u64)) {
        if let Role::Sender(sender) = &host.role {
            record("flight", sender.next - sender.acknowledged);
            record("timeouts", sender.timeouts);
        }
    }

    fn packet(&mut self, at: Sighting, packet: &Parcel, record: &mut dyn FnMut(&'static str, u64)) {
        if at.moment == Moment::Sent && packet.length == crate::common::DATA {
            record("sequence", packet.number);
        }
    }
}

/// The capture and the series of one run.
fn trace(seed: u64, snap: u16) -> (Vec<u8>, String) {
    let mut simulation = Simulation::new();
    let line = hop(FADING, seed).with_state_notes();
    let path = path(&mut simulation, |host| host, Sender::new(0, 20, 300), &line);
    let mut taps = simulation.ends(path.wire).to_vec();
    taps.extend(simulation.ends(path.hop));
    let mut pcap = Pcap::new(Vec::new(), &simulation, &taps, snap).expect("memory does not fail");
    let mut series = Series::new(Vec::new(), &simulation, Window);
    let limits = Limits::until(Instant::from_millis(3000));
    simulation
        .run(limits, &mut (&mut pcap, &mut series))
        .expect("a run");
    let series = series.finish().expect("memory does not fail");
    let text = String::from_utf8(series).expect("text");
    (pcap.finish().expect("memory does not fail"), text)
}

#[test]
fn equal_seeds_give_equal_bytes() {
    assert_eq!(trace(1, 100), trace(1, 100));
}

#[test]
fn a_capture_reads_back() {
    let (bytes, _) = trace(1, 100);
    let mut reader = PcapNgReader::new(bytes.as_slice()).expect("a capture");
    let (mut interfaces, mut last) = (0, std::time::Duration::ZERO);
    let mut seen = [0u32; 4];
    while let Some(block) = reader.next_block() {
        match block.expect("a block") {
            Block::InterfaceDescription(interface) => {
                assert_eq!(interface.linktype, DataLink::RAW);
                interfaces += 1;
            }
            Block::EnhancedPacket(packet) => {
                assert!(packet.timestamp >= last);
                last = packet.timestamp;
                assert_eq!(packet.data.len(), packet.original_len.min(100) as usize);
                seen[packet.interface_id as usize] += 1;
            }
            other => panic!("an unexpected block: {other:?}"),
        }
    }
    assert_eq!(interfaces, 4);
    // The wire loses nothing; the hop does, and lost packets are seen at one end only.
    assert_eq!(seen[0], seen[1]);
    assert!(seen[2] > seen[3] && seen[3] > 300, "{seen:?}");
}

#[test]
fn the_series_tell_of_windows_queues_sequences_and_states() {
    let (_, text) = trace(1, 0);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("seconds,who,what,value"));
    assert_eq!(lines.next(), Some("0.000000000,source>base,sequence,0"));
    for row in [
        "0.100000000,base>mobile,good,0",
        "0.140000000,base>mobile,good,1",
        "0.140000000,mobile>base,good,1",
        "0.000000000,source,flight,20",
    ] {
        assert!(text.lines().any(|line| line == row), "{row} is missing");
    }
    for part in ["base>mobile,queue,", "source,timeouts,1"] {
        assert!(text.contains(part), "{part} is missing");
    }
}

/// A disk with limited space.
struct Disk(usize);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_run_and_is_told() {
    for room in [0, 200_000] {
        let mut simulation = Simulation::new();
        let path = path(
            &mut simulation,
            |host| host,
            Sender::new(0, 20, 2000),
            &hop(FADING, 1),
        );
        let taps = simulation.ends(path.hop);
        let mut pcap = Pcap::new(Disk(room), &simulation, &taps, u16::MAX).expect("buffered");
        let ending = simulation.run(end(), &mut pcap).expect("a run");
        assert_eq!(ending, Ending::Stopped);
        let error = pcap.finish().err().expect("the disk is full").to_string();
        assert!(
            error.starts_with("cannot write the capture: no storage space"),
            "{error}"
        );
    }
}

#[test]
fn a_disk_that_fills_at_the_very_end_is_told_too() {
    let mut simulation = Simulation::new();
    path(
        &mut simulation,
        |host| host,
        Sender::new(0, 2, 5),
        &hop(FADING, 1),
    );
    let mut series = Series::new(Disk(10), &simulation, ());
    let ending = simulation.run(end(), &mut series).expect("a run");
    assert_eq!(ending, Ending::Idle);
    assert!(series.finish().is_err());
}
