//! CPU time of the edges: UDP datagrams in trains over loopback, and super-packets through a TUN device. `cargo bench
//! -p edges`; the second part needs root and is skipped with a message otherwise.

#[path = "../tests/suite/tunnel.rs"]
mod tunnel;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use edges::bearer::DatagramBearer;
use edges::clock;
use edges::tun::Offload;
use edges::udp::{UdpBearer, UdpOptions};
use rustix::time::{ClockId, clock_gettime};
use tunnel::Tunnel;
use wire::packet::PacketBuffer;

const TRAIN: usize = 40;
const DATAGRAM: usize = 1_473;
const TRAINS: u64 = 20_000;
const RELAYED: usize = 4 << 30;

/// Returns the CPU time of the calling thread, or of the whole process, in nanoseconds.
fn cpu(of: ClockId) -> u64 {
    let time = clock_gettime(of);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn bearer() -> UdpBearer {
    let address = "127.0.0.1:0".parse().expect("an address");
    UdpBearer::open(&UdpOptions::new(address)).expect("a bearer")
}

fn udp() {
    let (mut one, mut other) = (bearer(), bearer());
    let train: Vec<PacketBuffer> = (0..TRAIN)
        .map(|_| PacketBuffer::copy_of(&[7; DATAGRAM]))
        .collect();
    let (mut sending, mut receiving) = (0, 0);
    for _ in 0..TRAINS {
        let start = cpu(ClockId::ThreadCPUTime);
        assert_eq!(one.send(other.local_address(), &train).handled, TRAIN);
        let middle = cpu(ClockId::ThreadCPUTime);
        let got = other
            .receive_batch(clock::monotonic(), &mut |_, _| ())
            .expect("received");
        assert_eq!(got.datagrams, TRAIN);
        sending += middle - start;
        receiving += cpu(ClockId::ThreadCPUTime) - middle;
    }
    let count = TRAINS * TRAIN as u64;
    println!("UDP loopback, {DATAGRAM} bytes in trains of {TRAIN}, CPU ns per datagram:");
    println!(
        "  send {} (with the kernel's delivery), receive {}",
        sending / count,
        receiving / count
    );
}

/// Downloads zeros through a relay of two TUN devices.
fn tun(offload: Offload, bytes: usize) {
    let Some(tunnel) = Tunnel::open([offload; 2]) else {
        return;
    };
    let target = Tunnel::far_addresses()[0];
    let listener = tunnel
        .far
        .run(|| TcpListener::bind((target, 0)))
        .expect("a namespace");
    let listener = listener.expect("a listener");
    let target = listener.local_addr().expect("an address");
    let connected = tunnel
        .near
        .run(|| TcpStream::connect(target))
        .expect("a namespace");
    let mut sender = connected.expect("connected");
    let mut receiver = listener.accept().expect("accepted").0;

    let start = clock::monotonic();
    let mut room = vec![0; 1 << 20];
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let block = vec![0; 1 << 20];
            for _ in 0..bytes / block.len() {
                sender.write_all(&block).expect("sent");
            }
        });
        while receiver.read(&mut room).expect("read") > 0 {}
    });
    let span = (clock::monotonic() - start).as_secs_f64();
    let passed = tunnel.close();
    assert_eq!(passed.malformed, 0);
    let relay_cpu = passed.cpu_nanos as f64 / 1e9;
    let gigabytes = bytes as f64 / 1e9;
    println!(
        "TUN relay, {offload:?}: {:.2} Gbit/s, relay thread {:.2} CPU-s/GB, packets up to {} bytes",
        gigabytes * 8.0 / span,
        relay_cpu / gigabytes,
        passed.largest.0
    );
}

fn main() {
    udp();
    tun(Offload::Segments, RELAYED);
    tun(Offload::None, RELAYED / 8);
}
