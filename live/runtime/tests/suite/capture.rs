//! Captures of a running loop: what they have, what they refuse, and that nothing waits for their clients.

use std::path::{Path, PathBuf};

use edges::bearer::DatagramBearer;
use edges::memory::{MemoryBearer, MemoryDevice};
use edges::tun::PacketDevice;
use runtime::Ports;
use runtime::capture::{Capture, Counts, Received, Selection, Side};
use runtime::control::{Control, ask_status};
use serde_json::Value;
use tempfile::TempDir;
use wire::packet::PacketBuffer;

use crate::event_loop::{datagrams, next_packet, packet, with_loop};

const EPB_INBOUND: u32 = 1;
const EPB_OUTBOUND: u32 = 2;

fn inner(snap: usize) -> Selection {
    Selection {
        inner: true,
        hop: false,
        peer: None,
        snap,
    }
}

/// Runs a loop with a control socket.
fn with_socket(room: usize, test: impl FnOnce(&Path, &mut MemoryDevice, &mut MemoryBearer)) {
    let folder = TempDir::new().unwrap();
    let socket: PathBuf = folder.path().join("test.sock");
    let control = |ports: &mut Ports<_, _>| ports.control = Some(Control::bind(&socket).unwrap());
    with_loop([room; 2], control, |user, peer| test(&socket, user, peer));
}

/// A packet with its direction.
type Seen = (u32, Vec<u8>);

/// Ends a capture; returns its packets, and the last counts of the device.
fn end(capture: &mut Capture) -> (Vec<Seen>, Counts) {
    capture.stopper().unwrap().stop();
    let (mut seen, mut last) = (Vec::new(), None);
    while capture
        .receive(|record| match (record.is_last, record.side) {
            (true, Side::Inner) => last = Some(record.counts),
            (true, Side::Hop) => assert_eq!(record.counts, Counts::default()),
            (false, _) => seen.push((record.flags, record.bytes.to_vec())),
        })
        .unwrap()
        != Received::End
    {}
    (seen, last.expect("the last counts"))
}

#[test]
fn a_capture_has_the_packets_of_both_directions_in_order() {
    with_socket(100, |socket, user, peer| {
        let mut capture = Capture::begin(socket, &inner(4)).unwrap().unwrap();
        user.send(&mut packet(b"outward")).unwrap();
        datagrams(peer, 1);
        let to = "192.0.2.1:1".parse().unwrap();
        peer.send(to, &[PacketBuffer::copy_of(b"inward")]);
        assert_eq!(next_packet(user), b"inward");
        let (seen, counts) = end(&mut capture);
        let expected = [
            (EPB_OUTBOUND, b"outw".to_vec()),
            (EPB_INBOUND, b"inwa".to_vec()),
        ];
        assert_eq!(seen, expected);
        assert_eq!((counts.seen, counts.dropped), (2, 0));
        assert_eq!(capture.beginning().version, env!("CARGO_PKG_VERSION"));
    });
}

#[test]
fn nothing_waits_for_a_client_that_does_not_read() {
    const PACKETS: usize = 10_000;
    with_socket(2 * PACKETS, |socket, user, peer| {
        let mut capture = Capture::begin(socket, &inner(1 << 16)).unwrap().unwrap();
        let content = [7; 1_400];
        for _ in 0..PACKETS {
            user.send(&mut packet(&content)).unwrap();
        }
        assert_eq!(datagrams(peer, PACKETS).len(), PACKETS);
        // Others are answered too.
        ask_status::<Value>(socket).unwrap();
        let (seen, counts) = end(&mut capture);
        assert_eq!(counts.seen, PACKETS as u64);
        assert!(counts.dropped > 0, "the queue is bounded");
        assert_eq!(seen.len() as u64, counts.seen - counts.dropped);
    });
}

#[test]
fn there_is_one_capture_at_a_time_until_its_client_is_gone() {
    with_socket(100, |socket, user, peer| {
        let first = Capture::begin(socket, &inner(100)).unwrap().unwrap();
        let Err(refused) = Capture::begin(socket, &inner(100)).unwrap() else {
            panic!("two captures");
        };
        let own = format!("(process {})", std::process::id());
        assert!(refused.contains(&own), "{refused}");
        drop(first);
        // The loop notices the end at the next packet, or before.
        let again = || {
            user.send(&mut packet(b"any")).unwrap();
            datagrams(peer, 1);
            Capture::begin(socket, &inner(100)).unwrap().ok()
        };
        let mut again = std::iter::repeat_with(again).take(1_000);
        let mut second = again.find_map(|capture| capture).expect("a second capture");
        end(&mut second);
    });
}

#[test]
fn a_query_that_is_no_selection_is_refused() {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    with_socket(100, |socket, _, _| {
        for query in ["capture {}\n", "capture x\n", "capture \n"] {
            let mut stream = UnixStream::connect(socket).unwrap();
            stream.write_all(query.as_bytes()).unwrap();
            let mut reply = String::new();
            stream.read_to_string(&mut reply).unwrap();
            assert!(
                reply.starts_with(r#"{"error":"the query is no selection"#),
                "{reply}"
            );
        }
        ask_status::<Value>(socket).unwrap();
    });
}

#[test]
fn a_loop_that_ends_sends_the_last_counts() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("test.sock");
    let control = |ports: &mut Ports<_, _>| ports.control = Some(Control::bind(&socket).unwrap());
    let mut capture = None;
    with_loop([100; 2], control, |user, peer| {
        capture = Some(Capture::begin(&socket, &inner(100)).unwrap().unwrap());
        user.send(&mut packet(b"one")).unwrap();
        datagrams(peer, 1);
    });
    let (seen, counts) = end(&mut capture.unwrap());
    assert_eq!((seen.len(), counts.seen), (1, 1));
}
