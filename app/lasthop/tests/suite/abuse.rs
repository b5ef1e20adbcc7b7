//! What one mobile host, or a stranger, does to a gateway from the command line: the others get all of theirs, and the
//! gateway takes no more memory than it says.

use std::io::{ErrorKind, Read};
use std::net::{TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use rig::initiation;
use serde_json::Value;
use session::COOKIE_REPLY_BYTES;
use units::Bytes;

use crate::support::cell::{Cell, MOBILES, inside, outer};
use crate::support::{able, connect};

/// The mobile host that is killed, and the one whose place in the air a stranger takes.
const KILLED: usize = MOBILES - 1;
const STRANGER: usize = MOBILES;
const HANDSHAKES: u64 = 10_000;
/// Datagrams to the mobile host that is gone.
const FLOOD: usize = 60_000;

/// A stranger asks ten thousand times, and gets cookies at most.
fn ask(cell: &Cell) {
    let gateway = cell.status()["host"]["public_key"].clone();
    let gateway = gateway.as_str().unwrap().parse().unwrap();
    let bind = || UdpSocket::bind((outer(STRANGER), 0)).unwrap();
    let socket = cell.hosts[STRANGER].run(bind).unwrap();
    let to = format!("{}:51830", outer(0));
    // All are made before, so that they come fast enough even from a busy machine, and slowly enough for the hop.
    let asked: Vec<_> = (0..HANDSHAKES)
        .map(|number| initiation(number, gateway))
        .collect();
    for some in asked.chunks(20) {
        for initiation in some {
            socket.send_to(initiation, &to).unwrap();
        }
        thread::sleep(Duration::from_millis(5));
    }
    socket.set_nonblocking(true).unwrap();
    let mut heard = [0; 2_000];
    loop {
        match socket.recv(&mut heard) {
            Ok(length) => assert_eq!((length, heard[0]), (COOKIE_REPLY_BYTES, 3)),
            Err(error) => return assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }
}

/// A mobile host begins to fetch without end; it has got some of that when this returns.
fn begin_to_fetch(cell: &Cell) -> [TcpStream; 2] {
    let (mut stream, sender) = connect(&cell.hosts[KILLED], &cell.hosts[0], inside(0)).unwrap();
    let mut writer = sender.try_clone().unwrap();
    thread::spawn(move || {
        // It ends when nobody reads any more.
        let _ = std::io::copy(&mut std::io::repeat(7), &mut writer);
    });
    stream.read_exact(&mut vec![0; 100_000]).unwrap();
    [sender, stream]
}

/// Small datagrams of many flows, to a mobile host that is gone.
fn flood(cell: &Cell) {
    let bind = || UdpSocket::bind((inside(0), 0)).unwrap();
    let socket = cell.hosts[0].run(bind).unwrap();
    for number in 0..FLOOD {
        let port = 1_024 + (number % 50_000) as u16;
        // What the device has no room for is lost here already.
        let _ = socket.send_to(&[7; 20], (inside(KILLED), port));
        if number % 100 == 0 {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn hop(cell: &Cell, mobile: usize) -> Value {
    cell.peers()[mobile - 1]["hop"].clone()
}

#[test]
fn one_that_is_killed_and_a_stranger_that_floods_cost_the_others_nothing() {
    if !able() {
        return;
    }
    let cell = Cell::create("[caps]\nmemory = \"16 MiB\"\nnew_flows = 1000\n");
    let gateway = cell.start(0);
    let mut mobiles: Vec<_> = (1..STRANGER).map(|host| cell.start(host)).collect();
    cell.wait_until("all are connected", || {
        let peers = cell.peers();
        let mut connected = peers.iter().take(STRANGER - 1);
        peers.len() == MOBILES && connected.all(|peer| !peer["keys_age"].is_null())
    });
    let streams = begin_to_fetch(&cell);
    let killed = mobiles.pop().unwrap();
    thread::scope(|scope| {
        let fetching = [1, 2].map(|mobile| {
            let cell = &cell;
            scope.spawn(move || cell.fetch(mobile))
        });
        // Dropped is killed, without a word to the gateway.
        drop(killed);
        flood(&cell);
        ask(&cell);
        for fetched in fetching {
            fetched.join().unwrap();
        }
    });
    drop(streams);
    let status = cell.status();
    let most: Bytes = status["memory_most"].as_str().unwrap().parse().unwrap();
    let peak = Bytes::new(gateway.memory("VmHWM"));
    println!("{peak} of {most}");
    assert!(peak <= most, "{peak} of {most}");
    let gone = hop(&cell, KILLED);
    let held: Bytes = gone["memory"].as_str().unwrap().parse().unwrap();
    assert!(held <= Bytes::mebi(16), "{held}");
    assert!(
        gone["packets_of_refused_flows"].as_u64().unwrap() > 0,
        "{gone}"
    );
    let dropped = &status["host"]["datagrams_dropped"].to_string();
    assert!(
        dropped.contains("UnknownPeer") && dropped.contains("Unproven"),
        "{dropped}"
    );
    let said = format!("takes at most {most} of memory");
    cell.wait_until("the log says the same", || cell.log(0).contains(&said));
    assert!(cell.page(0).contains(&format!("at most {most} in all")));
    for daemon in mobiles.into_iter().chain([gateway]) {
        assert!(daemon.terminate().success());
    }
}
