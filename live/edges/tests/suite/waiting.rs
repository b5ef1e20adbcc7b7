//! Waiting, waking, signals, and the twins in memory.

use std::os::fd::AsFd;

use edges::bearer::DatagramBearer;
use edges::clock;
use edges::memory::{MemoryBearer, MemoryDevice};
use edges::signals::{Signal, Signals};
use edges::tun::PacketDevice;
use edges::wait::{Interest, Ready, WOKEN, Waiter, sharpen_timers};
use units::{Duration, Instant};
use wire::packet::{Packet, PacketBuffer};

fn tokens(waiter: &mut Waiter, timeout: Duration) -> Vec<u64> {
    waiter
        .wait(Some(timeout))
        .expect("a wait")
        .map(|ready| ready.token)
        .collect()
}

#[test]
fn a_timeout_ends_a_wait_and_not_too_early() {
    sharpen_timers().expect("sharp timers");
    let mut waiter = Waiter::new().expect("a waiter");
    for nanos in [1, 50_000, 1_000_000, 1_234_567] {
        let span = Duration::from_nanos(nanos);
        let start = clock::monotonic();
        assert_eq!(tokens(&mut waiter, span), Vec::<u64>::new());
        assert!(clock::monotonic() - start >= span);
    }
}

#[test]
fn a_wake_from_another_thread_is_seen_once() {
    let mut waiter = Waiter::new().expect("a waiter");
    let waker = waiter.waker();
    let thread = std::thread::spawn(move || {
        waker.wake().expect("woken");
        waker.wake().expect("woken");
    });
    thread.join().expect("no panic");
    assert_eq!(tokens(&mut waiter, Duration::from_secs(10)), [WOKEN]);
    assert_eq!(tokens(&mut waiter, Duration::ZERO), Vec::<u64>::new());
}

#[test]
fn a_signal_makes_its_descriptor_readable() {
    let mut signals = Signals::catch().expect("signals");
    let mut waiter = Waiter::new().expect("a waiter");
    waiter
        .add(signals.as_fd(), 7, Interest::Readable)
        .expect("added");
    assert_eq!(signals.pending().count(), 0);
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::USR1).expect("sent");
    // The signal itself may end a wait.
    let mut seen = Vec::new();
    while seen.is_empty() {
        seen = tokens(&mut waiter, Duration::from_secs(10));
    }
    assert_eq!(seen, [7]);
    assert_eq!(signals.pending().collect::<Vec<_>>(), [Signal::User1]);
    assert_eq!(tokens(&mut waiter, Duration::ZERO), Vec::<u64>::new());
}

#[test]
fn packets_pass_between_twins_and_their_descriptors_tell() {
    let (mut one, mut other) = MemoryDevice::pair(2).expect("a pair");
    let mut waiter = Waiter::new().expect("a waiter");
    waiter
        .add(other.as_fd(), 3, Interest::Readable)
        .expect("added");
    assert_eq!(tokens(&mut waiter, Duration::ZERO), Vec::<u64>::new());

    let mut packet = Packet::new(PacketBuffer::copy_of(b"a packet"));
    one.send(&mut packet).expect("room");
    one.send(&mut packet).expect("room");
    let full = one.send(&mut packet).expect_err("no room");
    assert_eq!(full.kind(), std::io::ErrorKind::WouldBlock);

    let ready: Vec<Ready> = waiter.wait(Some(Duration::ZERO)).expect("a wait").collect();
    assert_eq!(
        ready,
        [Ready {
            token: 3,
            readable: true,
            writable: false,
            ended: false,
        }]
    );
    assert_eq!(other.receive().expect("received"), Some(packet.clone()));
    assert_eq!(tokens(&mut waiter, Duration::ZERO), [3]);
    assert_eq!(other.receive().expect("received"), Some(packet));
    assert_eq!(other.receive().expect("received"), None);
    assert_eq!(tokens(&mut waiter, Duration::ZERO), Vec::<u64>::new());
    assert_eq!((one.counters().sent, other.counters().received), (2, 2));
}

#[test]
fn datagrams_pass_between_twins_and_go_nowhere_else() {
    let addresses = ["10.0.0.1:1".parse(), "10.0.0.2:2".parse()].map(|it| it.expect("an address"));
    let (mut one, mut other) = MemoryBearer::pair(addresses, 2).expect("a pair");
    let batch: Vec<PacketBuffer> = (0..3_u8).map(|it| PacketBuffer::copy_of(&[it])).collect();
    assert_eq!(one.send(addresses[1], &batch).handled, 2);
    let sent = one.send(addresses[0], &batch[..1]);
    assert_eq!((sent.handled, sent.dropped), (1, 1));

    let now = Instant::from_millis(5);
    let mut got = Vec::new();
    let batch = other
        .receive_batch(now, &mut |arrival, bytes| {
            got.push((arrival.from, arrival.at, bytes[0]));
        })
        .expect("received");
    assert_eq!((batch.datagrams, batch.is_full), (2, false));
    assert_eq!(got, [(addresses[0], now, 0), (addresses[0], now, 1)]);
}
