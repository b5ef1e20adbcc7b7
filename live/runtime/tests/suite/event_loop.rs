//! The loop between in-memory twins of its devices.

use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration as Patience;

use edges::bearer::{Arrival, DatagramBearer};
use edges::memory::{MemoryBearer, MemoryDevice};
use edges::namespace::Namespace;
use edges::netlink::{Netlink, NetworkWatch};
use edges::tun::PacketDevice;
use edges::wait::{Interest, Waiter};
use hosts::Input;
use runtime::control::Control;
use runtime::supervisor::Supervisor;
use runtime::{Errand, EventLoop, Finder, Ports, Status, Stopped};
use units::{Duration, Instant};
use wire::address::HopAddress;
use wire::packet::{Packet, PacketBuffer};

use crate::echo::{Echo, EchoStatus};

/// Time that a test waits for what must arrive; it only affects how long a failure takes.
const LONG: Duration = Duration::from_secs(20);

/// Asks the loop for its state.
fn ask_status(socket: &Path) -> Status<EchoStatus> {
    runtime::control::ask_status(socket).unwrap()
}

/// Runs a loop in a thread of its own while `test` plays both of its neighbours.
pub(crate) fn with_loop(
    rooms: [usize; 2],
    prepare: impl FnOnce(&mut Ports<MemoryDevice, MemoryBearer>),
    test: impl FnOnce(&mut MemoryDevice, &mut MemoryBearer),
) {
    let addresses = ["192.0.2.1:1", "192.0.2.2:2"].map(|text| text.parse().unwrap());
    let (device, mut user) = MemoryDevice::pair(rooms[0]).unwrap();
    let (bearer, mut peer) = MemoryBearer::pair(addresses, rooms[1]).unwrap();
    let mut ports = Ports::new(device, bearer);
    prepare(&mut ports);
    let mut event_loop = EventLoop::new(Echo::new(addresses[1]), ports).unwrap();
    let stopper = event_loop.stopper();
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || event_loop.run().unwrap());
        // This also runs if the test fails, so that the failure is seen.
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&mut user, &mut peer)));
        stopper.wake().unwrap();
        assert_eq!(thread.join().unwrap(), Stopped::Woken);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn wait_for(port: impl AsFd) {
    let mut waiter = Waiter::new().unwrap();
    waiter.add(port, 0, Interest::Readable).unwrap();
    assert!(
        waiter.wait(Some(LONG)).unwrap().next().is_some(),
        "nothing came"
    );
}

pub(crate) fn packet(content: &[u8]) -> Packet {
    Packet::new(PacketBuffer::copy_of(content))
}

pub(crate) fn next_packet(user: &mut MemoryDevice) -> Vec<u8> {
    wait_for(&*user);
    user.receive().unwrap().unwrap().to_vec()
}

/// Receives datagrams until there are `count`.
pub(crate) fn datagrams(peer: &mut MemoryBearer, count: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    while all.len() < count {
        wait_for(&*peer);
        let mut sink = |_: Arrival, datagram: &mut [u8]| all.push(datagram.to_vec());
        peer.receive_batch(Instant::ZERO, &mut sink).unwrap();
    }
    all
}

#[test]
fn carries_both_ways_in_order() {
    with_loop(
        [2_000, 2_000],
        |_| {},
        |user, peer| {
            let numbers: Vec<Vec<u8>> = (0..1_000_u32).map(|n| n.to_be_bytes().to_vec()).collect();
            for number in &numbers {
                user.send(&mut packet(number)).unwrap();
            }
            assert_eq!(datagrams(peer, numbers.len()), numbers);
            let back: Vec<_> = numbers
                .iter()
                .map(|number| PacketBuffer::copy_of(number))
                .collect();
            let to = "192.0.2.1:1".parse().unwrap();
            assert_eq!(peer.send(to, &back).handled, back.len());
            for number in &numbers {
                assert_eq!(&next_packet(user), number);
            }
        },
    );
}

#[test]
fn keeps_what_finds_no_room_in_the_bearer() {
    with_loop(
        [1_000, 4],
        |_| {},
        |user, peer| {
            let numbers: Vec<Vec<u8>> = (0..500_u32).map(|n| n.to_be_bytes().to_vec()).collect();
            for number in &numbers {
                user.send(&mut packet(number)).unwrap();
            }
            assert_eq!(datagrams(peer, numbers.len()), numbers);
        },
    );
}

#[test]
fn drops_what_the_device_has_no_room_for() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("test.sock");
    with_loop(
        [2, 100],
        |ports| ports.control = Some(Control::bind(&socket).unwrap()),
        |user, peer| {
            let to = "192.0.2.1:1".parse().unwrap();
            let many: Vec<_> = (0..50_u8).map(|n| PacketBuffer::copy_of(&[n])).collect();
            assert_eq!(peer.send(to, &many).handled, 50);
            let lost = loop {
                let status = ask_status(&socket);
                if status.bearer.counters.received == 50 {
                    break status.device.without_room;
                }
            };
            assert_eq!(lost, 48);
            assert_eq!([next_packet(user), next_packet(user)], [vec![0], vec![1]]);
        },
    );
}

#[test]
fn calls_the_host_when_a_deadline_has_come() {
    with_loop(
        [10, 10],
        |_| {},
        |user, peer| {
            let to = "192.0.2.1:1".parse().unwrap();
            assert_eq!(peer.send(to, &[PacketBuffer::copy_of(b"later")]).handled, 1);
            assert_eq!(next_packet(user), b"later");
            assert_eq!(next_packet(user), b"now");
        },
    );
}

#[test]
fn answers_questions_and_survives_odd_askers() {
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixStream;

    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("test.sock");
    with_loop(
        [10, 10],
        |ports| ports.control = Some(Control::bind(&socket).unwrap()),
        |_, _| {
            assert_eq!(
                socket.metadata().unwrap().permissions().mode() & 0o777,
                0o600
            );
            // Clients that never send a query, one that goes away, and one with an unknown query.
            let silent: Vec<_> = (0..20)
                .map(|_| UnixStream::connect(&socket).unwrap())
                .collect();
            drop(UnixStream::connect(&socket).unwrap());
            let mut odd = UnixStream::connect(&socket).unwrap();
            odd.set_read_timeout(Some(Patience::from_secs(20))).unwrap();
            odd.write_all(&[b'x'; 256]).unwrap();
            let mut answer = String::new();
            odd.read_to_string(&mut answer).unwrap();
            assert!(answer.contains("unknown question"), "{answer}");
            let status = ask_status(&socket);
            assert_eq!(status.host.walls, 1);
            assert!(
                Control::bind(&socket).is_err(),
                "a living daemon's socket is not taken over"
            );
            drop(silent);
        },
    );
    assert!(!socket.exists(), "the socket goes with its daemon");
}

#[test]
fn takes_the_place_of_a_dead_daemons_socket() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("test.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(socket.exists());
    with_loop(
        [10, 10],
        |ports| ports.control = Some(Control::bind(&socket).unwrap()),
        |_, _| {
            assert!(!ask_status(&socket).version.is_empty());
        },
    );
}

#[test]
fn tells_the_host_when_the_network_has_changed() {
    let Some(namespace) = namespace() else { return };
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("test.sock");
    let prepare = |ports: &mut Ports<_, _>| {
        ports.control = Some(Control::bind(&socket).unwrap());
        ports.network = Some(namespace.run(|| NetworkWatch::open().unwrap()).unwrap());
    };
    let address = "192.0.2.9/32".parse().unwrap();
    let link_ups = || ask_status(&socket).host.link_ups;
    with_loop([1, 1], prepare, |_, _| {
        assert_eq!(link_ups(), 0);
        namespace
            .run(|| Netlink::open().unwrap().add_address("lo", address).unwrap())
            .unwrap();
        while link_ups() == 0 {
            std::thread::yield_now();
        }
    });
}

/// Returns a new namespace; if none can be created the test is skipped with a message, but fails under CI=true.
fn namespace() -> Option<Namespace> {
    match Namespace::create() {
        Ok(namespace) => Some(namespace),
        Err(error) => {
            assert!(
                std::env::var_os("CI").is_none(),
                "under CI nothing is skipped: {error}"
            );
            eprintln!("skipped: {error}");
            None
        }
    }
}

#[test]
fn a_search_that_takes_long_holds_nobody_up() {
    let (answer, answers) = std::sync::mpsc::channel();
    let find = move |errand, tell: &mut dyn FnMut(Input)| match errand {
        Errand::Look => {}
        Errand::Seek(peer) => {
            let places: Vec<HopAddress> = answers.recv().unwrap_or_default();
            for at in places {
                tell(Input::Found { peer, at });
            }
        }
    };
    let finder = Finder::start(find).unwrap();
    with_loop(
        [100, 100],
        |ports| ports.finder = Some(finder),
        |user, peer| {
            for content in [&b"seek"[..], b"one", b"seek", b"seek", b"seek", b"two"] {
                user.send(&mut packet(content)).unwrap();
            }
            // The name resolver has not replied yet.
            assert_eq!(datagrams(peer, 2), [b"one", b"two"]);
            let places = ["192.0.2.7:1", "192.0.2.8:1"].map(|place| place.parse().unwrap());
            answer.send(places.to_vec()).unwrap();
            for place in places {
                let told = String::from_utf8(next_packet(user)).unwrap();
                assert_eq!(told, format!("3 at {place}"));
            }
        },
    );
}

/// A supervisor that watches hears from the loop, and not from a loop that hangs.
#[test]
fn a_supervisor_hears_from_the_loop_as_long_as_it_turns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(LONG.into())).unwrap();
    let next = || {
        let mut bytes = [0; 64];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    let limit = Some(Duration::from_millis(100));
    let supervisor = Supervisor::at(path.as_os_str(), limit).unwrap();
    with_loop(
        [10, 10],
        |ports| ports.supervisor = Some(supervisor),
        |_, _| {
            assert_eq!(next(), "READY=1");
            for _ in 0..5 {
                assert_eq!(next(), "WATCHDOG=1");
            }
        },
    );
    // The loop has ended, and says nothing more but that.
    socket.set_nonblocking(true).unwrap();
    let mut last = String::new();
    let mut bytes = [0; 64];
    while let Ok(length) = socket.recv(&mut bytes) {
        last = String::from_utf8(bytes[..length].to_vec()).unwrap();
    }
    assert_eq!(last, "STOPPING=1");
    std::thread::sleep(Patience::from_millis(200));
    assert!(socket.recv(&mut bytes).is_err());
}
