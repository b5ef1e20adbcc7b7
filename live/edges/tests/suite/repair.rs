//! TCP connections that move from one machine to another, with all that is on its way. Needs root.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use edges::hold::Hold;
use edges::namespace::Namespace;
use edges::netlink::{Netlink, Route};
use edges::repair::{Frozen, Image, ends};
use edges::sysctl;
use edges::transparent::{Asks, TransparentStream};

use crate::support::{has_program, net, privileged};

const PATIENCE: Duration = Duration::from_secs(10);
/// The server's addresses, and those that move.
const SERVER: [&str; 2] = ["198.51.100.2", "2001:db8::2"];
const MOVING: [&str; 2] = ["10.73.0.5", "fd73::5"];
/// States of a connection in the tables of the kernel.
const FIN_WAIT_1: &str = "04";
const FIN_WAIT_2: &str = "05";
const CLOSE_WAIT: &str = "08";
/// More than a closed window lets out at once.
const MUCH: usize = 8 << 20;

/// Two machines, and a server that reaches both.
struct Hosts {
    server: Namespace,
    machines: [Namespace; 2],
}

impl Hosts {
    fn create() -> Self {
        let create = || Namespace::create().unwrap();
        let hosts = Self {
            server: create(),
            machines: [create(), create()],
        };
        for (number, machine) in hosts.machines.iter().enumerate() {
            let (here, there) = (format!("to{number}"), "eth");
            hosts.on_server(|netlink| {
                netlink.create_veth(&here, "eth.new").unwrap();
                netlink.move_link("eth.new", machine).unwrap();
                netlink.set_up(&here).unwrap();
                for (address, prefix) in SERVER.into_iter().zip([32, 128]) {
                    let address = net(&format!("{address}/{prefix}"));
                    netlink.add_address(&here, address).unwrap();
                }
            });
            on(machine, |netlink| {
                netlink.rename_link("eth.new", there).unwrap();
                netlink.set_up(there).unwrap();
                for own in [
                    format!("10.1.{number}.2/24"),
                    format!("fd01:{number}::2/64"),
                ] {
                    netlink.add_address(there, net(&own)).unwrap();
                }
                for (address, prefix) in SERVER.into_iter().zip([32, 128]) {
                    let to = Route::to(net(&format!("{address}/{prefix}"))).through(there);
                    netlink.add_route(&to).unwrap();
                }
            });
        }
        hosts.lead_to(0);
        hosts
    }

    fn on_server(&self, act: impl FnOnce(&mut Netlink) + Send) {
        on(&self.server, act);
    }

    /// Has packets to the moving addresses come to this machine.
    fn lead_to(&self, number: usize) {
        for (address, prefix) in MOVING.into_iter().zip([32, 128]) {
            let moving = net(&format!("{address}/{prefix}"));
            let [here, there] = [number, 1 - number];
            on(&self.machines[there], |netlink| {
                let _ = netlink.remove_address("eth", moving);
            });
            self.on_server(|netlink| {
                let _ = netlink.remove_route(&Route::to(moving).through(&format!("to{there}")));
                let route = Route::to(moving).through(&format!("to{here}"));
                netlink.add_route(&route).unwrap();
            });
            on(&self.machines[here], |netlink| {
                netlink.add_address("eth", moving).unwrap();
            });
        }
    }

    /// Returns a connection from the first machine, and the server's end.
    fn connect(&self, version: usize) -> (TransparentStream, TcpStream) {
        let at = SocketAddr::new(SERVER[version].parse().unwrap(), 0);
        let listener = self.server.run(|| TcpListener::bind(at)).unwrap().unwrap();
        let asks = Asks {
            source: Some(SocketAddr::new(MOVING[version].parse().unwrap(), 0)),
            ..Asks::default()
        };
        let to = listener.local_addr().unwrap();
        let connect = || TransparentStream::connect(to, &asks);
        let stream = self.machines[0].run(connect).unwrap().unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_read_timeout(Some(PATIENCE)).unwrap();
        server.set_write_timeout(Some(PATIENCE)).unwrap();
        (stream, server)
    }

    /// Moves a connection to the second machine; `meanwhile` runs while it is nowhere.
    fn carry(&self, stream: TransparentStream, meanwhile: impl FnOnce()) -> Option<Moved> {
        let descriptor: OwnedFd = stream.into_descriptor();
        let hold = Hold {
            instance: "test".into(),
            connections: ends(&descriptor).into_iter().collect(),
        };
        self.machines[0].run(|| hold.install()).unwrap().unwrap();
        let frozen = Frozen::new(descriptor).unwrap();
        let image = frozen.image().unwrap();
        meanwhile();
        let mut image: Image = copied(&image?);
        let unsent = image.take_unsent();
        // Whoever gets segments of a connection that it does not know resets it.
        let restored = self.machines[1].run(|| image.restore()).unwrap();
        self.lead_to(1);
        drop(frozen);
        Some(Moved {
            stream: restored.unwrap(),
            image,
            unsent,
        })
    }
}

fn on(host: &Namespace, act: impl FnOnce(&mut Netlink) + Send) {
    host.run(|| act(&mut Netlink::open().unwrap())).unwrap();
}

/// Returns what arrives at another machine.
fn copied(image: &Image) -> Image {
    let text = serde_json::to_string(image).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A connection that has moved.
struct Moved {
    stream: TransparentStream,
    image: Image,
    unsent: Bytes,
}

impl Moved {
    /// Writes what was not sent, and the end if it was there.
    fn go_on(&self) {
        send(&self.stream, &self.unsent);
        if self.image.state().is_finishing {
            self.stream.finish().unwrap();
        }
    }
}

/// Returns some bytes, each different from its neighbours.
fn bytes(count: usize) -> Vec<u8> {
    let byte = |at: usize| (at.wrapping_mul(0x9e37_79b9) >> 16) as u8;
    (0..count).map(byte).collect()
}

fn pause() {
    thread::sleep(Duration::from_millis(1));
}

/// Writes as much as there is room for; returns the count.
fn write_some(stream: &TransparentStream, bytes: &[u8]) -> usize {
    let mut sent = 0;
    // There is room again until the window is closed.
    for _ in 0..50 {
        sent += stream.send([&bytes[sent..]].into_iter()).unwrap();
        pause();
    }
    sent
}

fn send(stream: &TransparentStream, bytes: &[u8]) {
    let mut sent = 0;
    wait_until("all is written", || {
        sent += stream.send([&bytes[sent..]].into_iter()).unwrap();
        sent == bytes.len()
    });
}

fn receive(stream: &TransparentStream, count: usize) -> Vec<u8> {
    let mut received = Vec::new();
    wait_until("all is received", || {
        received.extend(stream.receive(count - received.len()).unwrap());
        received.len() == count
    });
    received
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + PATIENCE;
    while !is_so() {
        assert!(std::time::Instant::now() < end, "{what}");
        pause();
    }
}

/// Waits until a connection of this machine has a state, as the kernel numbers them.
fn wait_for_state(machine: &Namespace, stream: &TransparentStream, state: &str) {
    let port = ends(stream).expect("it stands")[0].port();
    let listed = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/thread-self/net/{name}"));
        let text = text.unwrap_or_default();
        text.lines().any(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            words[1].ends_with(&format!(":{port:04X}")) && words[3] == state
        })
    };
    wait_until("the state", || {
        machine.run(|| listed("tcp") || listed("tcp6")).unwrap()
    });
}

fn available(stream: &TransparentStream, count: u64) {
    wait_until("all has come", || stream.available().unwrap() == count);
}

/// Full queues in both directions, and what comes while the connection is nowhere.
#[test]
fn nothing_is_lost_or_repeated() {
    if !privileged() || !has_program("nft") {
        return;
    }
    for version in 0..SERVER.len() {
        let hosts = Hosts::create();
        let (stream, mut server) = hosts.connect(version);
        let (there, back) = (bytes(MUCH), bytes(100_000));
        let first = write_some(&stream, &there);
        assert!(first < MUCH, "no queue is full");
        server.write_all(&back[..50_000]).unwrap();
        available(&stream, 50_000);
        let meanwhile = || server.write_all(&back[50_000..]).unwrap();
        let moved = hosts.carry(stream, meanwhile).unwrap();
        assert!(!moved.unsent.is_empty(), "all was sent");
        thread::scope(|scope| {
            let received = scope.spawn(|| {
                let mut received = vec![0; MUCH];
                (&server).read_exact(&mut received).unwrap();
                received
            });
            moved.go_on();
            send(&moved.stream, &there[first..]);
            assert!(receive(&moved.stream, back.len()) == back);
            assert!(received.join().unwrap() == there);
        });
        moved.stream.finish().unwrap();
        assert_eq!(server.read(&mut [0]).unwrap(), 0);
    }
}

/// A connection whose one direction has ended goes on in the other one.
#[test]
fn half_closed_connections_go_on() {
    if !privileged() || !has_program("nft") {
        return;
    }
    for version in 0..SERVER.len() {
        // The server has ended.
        let hosts = Hosts::create();
        let (stream, mut server) = hosts.connect(version);
        server.write_all(b"the last").unwrap();
        server.shutdown(Shutdown::Write).unwrap();
        wait_for_state(&hosts.machines[0], &stream, CLOSE_WAIT);
        let moved = hosts.carry(stream, || ()).unwrap();
        let state = moved.image.state();
        assert!(state.has_ended && !state.is_finishing, "{state:?}");
        assert_eq!(receive(&moved.stream, 8), b"the last");
        send(&moved.stream, b"an answer");
        moved.stream.finish().unwrap();
        let mut answer = Vec::new();
        server.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, b"an answer");

        // The machine has ended: all has come to the server, or nothing of much.
        for count in [8, MUCH] {
            let hosts = Hosts::create();
            let (stream, mut server) = hosts.connect(version);
            let all = bytes(count);
            let sent = write_some(&stream, &all);
            assert_eq!(sent == count, count == 8);
            stream.finish().unwrap();
            let state = if count == 8 { FIN_WAIT_2 } else { FIN_WAIT_1 };
            wait_for_state(&hosts.machines[0], &stream, state);
            let moved = hosts.carry(stream, || ()).unwrap();
            let state = moved.image.state();
            assert!(state.is_finishing && !state.has_ended, "{state:?}");
            assert_eq!(state.is_finished, count == 8);
            let answers = thread::spawn(move || {
                let mut received = Vec::new();
                server.read_to_end(&mut received).unwrap();
                server.write_all(b"late").unwrap();
                (received, server)
            });
            moved.go_on();
            assert_eq!(receive(&moved.stream, 4), b"late");
            let (received, server) = answers.join().unwrap();
            assert!(received == all[..sent]);
            drop(server);
        }
    }
}

#[test]
fn what_is_over_does_not_move() {
    if !privileged() || !has_program("nft") {
        return;
    }
    let hosts = Hosts::create();
    let (stream, server) = hosts.connect(0);
    stream.finish().unwrap();
    drop(server);
    let descriptor = stream.into_descriptor();
    // Its state is lost with the last segment.
    wait_until("it is over", || ends(&descriptor).is_none());
    let stream = TransparentStream::resume(descriptor).unwrap();
    assert!(hosts.carry(stream, || ()).is_none());

    // The other end resets it.
    let hosts = Hosts::create();
    let (stream, server) = hosts.connect(0);
    socket2::SockRef::from(&server)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
    drop(server);
    let descriptor = stream.into_descriptor();
    wait_until("it is over", || ends(&descriptor).is_none());
    let error = Frozen::new(descriptor).unwrap().image().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

/// Nobody goes on with a connection: its other end must not wait for ever.
#[test]
fn a_frozen_connection_can_be_reset() {
    if !privileged() {
        return;
    }
    let hosts = Hosts::create();
    let (stream, mut server) = hosts.connect(0);
    let frozen = Frozen::new(stream.into_descriptor()).unwrap();
    frozen.image().unwrap();
    frozen.reset();
    let error = server.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn what_is_no_sound_image_is_refused() {
    if !privileged() {
        return;
    }
    let hosts = Hosts::create();
    let (stream, _server) = hosts.connect(0);
    let image = Frozen::new(stream.into_descriptor())
        .unwrap()
        .image()
        .unwrap();
    let text = serde_json::to_string(&image.unwrap()).unwrap();
    let restored = |text: &str| {
        let image: Image = serde_json::from_str(text).unwrap();
        hosts.machines[1].run(|| image.restore().map(drop)).unwrap()
    };
    let mut unknown: serde_json::Value = serde_json::from_str(&text).unwrap();
    unknown["congestion_control"] = "none-such".into();
    let unknown = unknown.to_string();
    assert_eq!(restored(&unknown).unwrap_err().kind(), ErrorKind::NotFound);
    let mut steep: serde_json::Value = serde_json::from_str(&text).unwrap();
    steep["window_scales"] = serde_json::json!([15, 7]);
    let steep = steep.to_string();
    assert_eq!(restored(&steep).unwrap_err().kind(), ErrorKind::InvalidData);
    restored(&text).unwrap();
}

/// A router says that it knows no way to the other end, which the kernel notes, and goes on.
#[test]
fn a_missing_route_ends_no_connection() {
    if !privileged() {
        return;
    }
    let hosts = Hosts::create();
    let (stream, _server) = hosts.connect(0);
    hosts.on_server(|netlink| {
        sysctl::set("net/ipv4/ip_forward", "1").unwrap();
        netlink.add_address("to0", net("10.1.0.1/24")).unwrap();
        for link in ["to0", "to1"] {
            let address = net(&format!("{}/32", SERVER[0]));
            netlink.remove_address(link, address).unwrap();
        }
    });
    send(&stream, b"nobody hears this");
    // It is sent several times.
    thread::sleep(Duration::from_secs(1));
    let frozen = Frozen::new(stream.into_descriptor()).unwrap();
    assert!(frozen.image().unwrap().is_some());
}
