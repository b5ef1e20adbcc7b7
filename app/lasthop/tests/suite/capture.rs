//! `lasthop capture` of real daemons: the file as a reader of pcapng sees it, and how it ends.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Output};

use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_statistics::InterfaceStatisticsOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use rig::Process;
use serde_json::Value;
use wire::hop::{Chunk, Frame};
use wire::ip::IpPacket;

use crate::support::{Daemon, FIXED_HOST, Hosts, LOSSY_LINK, PROGRAM, able, fetch, ping};

const INNER: u32 = 0;
const HOP: u32 = 1;
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
/// Length of the fixed part of a capture header, and of an IPv4 address with a port.
const HEADER: usize = 10;
const ADDRESS: usize = 6;

/// One packet of a file.
struct Packet {
    interface: u32,
    direction: u32,
    bytes: Vec<u8>,
}

/// A file, which must be whole.
#[derive(Default)]
struct Contents {
    links: Vec<DataLink>,
    packets: Vec<Packet>,
    /// Number of packets seen, of each interface; empty if the file has no statistics.
    seen: Vec<u64>,
}

impl Contents {
    fn read(bytes: &[u8]) -> Self {
        let mut contents = Self::default();
        let mut reader = PcapNgReader::new(bytes).unwrap();
        while let Some(block) = reader.next_block() {
            match block.unwrap() {
                Block::InterfaceDescription(interface) => contents.links.push(interface.linktype),
                Block::EnhancedPacket(packet) => {
                    let [EnhancedPacketOption::Flags(flags)] = packet.options[..] else {
                        panic!("{:?}", packet.options);
                    };
                    contents.packets.push(Packet {
                        interface: packet.interface_id,
                        direction: flags & 3,
                        bytes: packet.data.into_owned(),
                    });
                }
                Block::InterfaceStatistics(statistics) => {
                    let options = &statistics.options;
                    assert!(options.contains(&InterfaceStatisticsOption::IsbIfDrop(0)));
                    let seen = options.iter().find_map(|option| match option {
                        InterfaceStatisticsOption::IsbIfRecv(seen) => Some(*seen),
                        _ => None,
                    });
                    contents.seen.push(seen.unwrap());
                }
                other => panic!("{other:?}"),
            }
        }
        contents
    }

    fn of(&self, interface: u32, direction: u32) -> impl Iterator<Item = &[u8]> {
        let wanted =
            move |packet: &&Packet| (packet.interface, packet.direction) == (interface, direction);
        self.packets
            .iter()
            .filter(wanted)
            .map(|packet| &packet.bytes[..])
    }

    /// The frames in a direction, without the header of the capture.
    fn frames(&self, direction: u32) -> Vec<Frame<'_>> {
        let content = |bytes: &'_ [u8]| HEADER + ADDRESS + usize::from(bytes[9]);
        let plaintexts = self.of(HOP, direction).filter(|bytes| bytes[1] == 1);
        let frames = plaintexts.map(|bytes| &bytes[content(bytes)..]);
        frames
            .filter(|bytes| bytes.len() > 1 && bytes[0] >> 4 == 1)
            .map(|bytes| Frame::parse(bytes).unwrap())
            .collect()
    }
}

/// Bytes of streams that these frames send again.
fn repeated(frames: &[Frame<'_>]) -> u64 {
    let (mut ends, mut total) = (BTreeMap::new(), 0);
    for chunk in frames.iter().flat_map(Frame::chunks) {
        if let Chunk::Stream {
            flow,
            offset,
            bytes,
            ..
        } = chunk.unwrap()
        {
            let end = ends.entry(flow).or_insert(0);
            total += if offset < *end { bytes.len() as u64 } else { 0 };
            *end = offset.max(*end).max(offset + bytes.len() as u32);
        }
    }
    total
}

fn command(hosts: &Hosts, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(["capture", "--state-dir"])
        .arg(hosts.folder.path().join("state"))
        .args(arguments);
    command
}

fn run(hosts: &Hosts, arguments: &[&str]) -> Output {
    command(hosts, arguments).output().unwrap()
}

/// Begins a capture in the background, and waits until it runs.
fn begin(hosts: &Hosts, daemon: &str, more: &[&str]) -> (Process, PathBuf) {
    let file = hosts.folder.path().join(format!("{daemon}.pcapng"));
    let _ = fs::remove_file(&file);
    let arguments = [&["--name", daemon, file.to_str().unwrap()], more].concat();
    let process = Process::start(
        command(hosts, &arguments),
        "capture",
        hosts.folder.path(),
        None,
    )
    .unwrap();
    hosts.wait_until("the capture has begun", || {
        fs::metadata(&file).is_ok_and(|file| file.len() > 0)
    });
    (process, file)
}

fn sent(hosts: &Hosts) -> Value {
    hosts.peer("gateway")["hop"]["stats"]["sent"].clone()
}

#[test]
fn a_capture_has_what_crosses_the_device_and_the_hop() {
    if !able() {
        return;
    }
    let hosts = Hosts::over_air(LOSSY_LINK);
    let gateway = hosts.start("gateway");
    let state = hosts.folder.path().join("state");
    hosts.wait_until("the gateway runs", || state.join("gateway.sock").exists());
    let (mut capture, file) = begin(&hosts, "gateway", &[]);
    let mobile = hosts.start("mobile");
    hosts.wait_until_connected();
    ping(&hosts.mobile, FIXED_HOST);
    fetch(&hosts, 2 << 20);
    let before = sent(&hosts);
    assert!(capture.end().unwrap().success(), "{}", capture.words());
    let after = sent(&hosts);
    let bytes = fs::read(&file).unwrap();
    let contents = Contents::read(&bytes);
    assert_eq!(contents.links, [DataLink::RAW, DataLink::USER0]);
    let counts = [INNER, HOP].map(|one| {
        contents
            .packets
            .iter()
            .filter(|its| its.interface == one)
            .count() as u64
    });
    assert_eq!(contents.seen, counts);
    // At the gateway a packet for the mobile host is outbound at the device and on the hop.
    for direction in [INBOUND, OUTBOUND] {
        let echoes = contents
            .of(INNER, direction)
            .filter(|bytes| bytes.ends_with(b"echo"));
        assert!(echoes.count() >= 1);
    }
    let payload: usize = contents
        .of(INNER, OUTBOUND)
        .map(|bytes| IpPacket::parse(bytes).unwrap().payload().len())
        .sum();
    assert!(payload > 2 << 20, "{payload}");
    let frames = contents.frames(OUTBOUND);
    let within = |field: &str, count: u64| {
        let [least, most] = [&before, &after].map(|stats| stats[field].as_u64().unwrap());
        assert!(
            (least..=most).contains(&count),
            "{field}: {least} to {most}, and {count}"
        );
    };
    within("frames", frames.len() as u64);
    within("bytes_repeated", repeated(&frames));
    assert!(repeated(&frames) > 0, "the air loses frames");
    assert!(!contents.frames(INBOUND).is_empty());
    drop((gateway, mobile));
}

#[test]
fn a_capture_ends_well_or_says_why_not() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let [gateway, mobile] = hosts.start_both();
    let words = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let refused = run(&hosts, &["--name", "gateway", "--peer", "nobody", "-"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        words(&refused).contains("no peer 'nobody'"),
        "{}",
        words(&refused)
    );
    let full = run(&hosts, &["--name", "mobile", "/dev/full"]);
    assert_eq!(full.status.code(), Some(1), "{}", words(&full));
    assert!(
        words(&full).contains("cannot write /dev/full"),
        "{}",
        words(&full)
    );
    // Nobody reads the other end of this pipe.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let closed = command(&hosts, &["--name", "mobile", "-"])
        .stdout(writer)
        .output()
        .unwrap();
    assert!(closed.status.success(), "{}", words(&closed));
    let limit = run(&hosts, &["--name", "gateway", "--hop", "--seconds", "1"]);
    assert!(limit.status.success(), "{}", words(&limit));
    let contents = Contents::read(&limit.stdout);
    assert_eq!(contents.links, [DataLink::USER0]);
    assert_eq!(contents.seen.len(), 1);
    let (mut some, file) = begin(
        &hosts,
        "mobile",
        &[
            "--packets",
            "3",
            "--snap",
            "20",
            "--inner",
            "--peer",
            "gateway",
        ],
    );
    while !some.has_ended() {
        ping(&hosts.mobile, FIXED_HOST);
    }
    let contents = Contents::read(&fs::read(&file).unwrap());
    assert_eq!(contents.packets.len(), 3);
    assert!(
        contents
            .packets
            .iter()
            .all(|packet| packet.bytes.len() == 20)
    );
    ends_with_its_daemon(&hosts, mobile);
    drop(gateway);
}

/// A capture has everything until its daemon has ended.
fn ends_with_its_daemon(hosts: &Hosts, mobile: Daemon) {
    let (mut capture, file) = begin(hosts, "mobile", &[]);
    assert!(mobile.terminate().success());
    assert_eq!(capture.wait().unwrap().code(), Some(1));
    assert!(
        capture.words().contains("daemon 'mobile' has ended"),
        "{}",
        capture.words()
    );
    assert_eq!(Contents::read(&fs::read(&file).unwrap()).seen.len(), 2);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &File::open(&file).unwrap().metadata().unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600, "packets hold what users send");
}
