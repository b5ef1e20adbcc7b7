//! Two namespaces, a TUN device in each, and a thread that carries packets between them.

use std::net::IpAddr;
use std::os::fd::AsFd;
use std::thread::JoinHandle;

use edges::namespace::Namespace;
use edges::netlink::Netlink;
use edges::tun::{Offload, PacketDevice, TunDevice, TunOptions};
use edges::wait::{Interest, WOKEN, Waiter, Waker};
use rustix::time::{ClockId, clock_gettime};

/// Counters of a relay.
pub(crate) struct Passed {
    /// Size of the largest packet from the near and from the far end, in bytes.
    pub(crate) largest: (usize, usize),
    /// Packets with a wrong header.
    pub(crate) malformed: u64,
    /// CPU time of the relay's thread.
    pub(crate) cpu_nanos: u64,
}

pub(crate) struct Tunnel {
    pub(crate) near: Namespace,
    pub(crate) far: Namespace,
    waker: Waker,
    relay: JoinHandle<Passed>,
}

/// Returns a namespace; prints a message and returns `None` if this system or user cannot have one, unless `CI` is
/// `true`, which fails.
pub(crate) fn namespace_or_skip() -> Option<Namespace> {
    let problem = match Namespace::create() {
        Ok(_) if !std::path::Path::new("/dev/net/tun").exists() => "no /dev/net/tun".to_owned(),
        Ok(namespace) => return Some(namespace),
        Err(error) => error.to_string(),
    };
    let ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!ci, "this test needs root and TUN: {problem}");
    eprintln!("SKIPPED: this test needs root and TUN: {problem}");
    None
}

impl Tunnel {
    /// Opens a tunnel whose near and far devices have these offloads.
    pub(crate) fn open(offloads: [Offload; 2]) -> Option<Self> {
        let (near, far) = (namespace_or_skip()?, namespace_or_skip()?);
        let ends = [device(&near, offloads[0], 1), device(&far, offloads[1], 2)];
        let waiter = Waiter::new().expect("a waiter");
        let waker = waiter.waker();
        let relay = std::thread::spawn(move || relay(waiter, ends));
        Some(Self {
            near,
            far,
            waker,
            relay,
        })
    }

    /// Returns addresses of the far end, one of each family.
    pub(crate) fn far_addresses() -> [IpAddr; 2] {
        ["10.9.0.2", "fd09::2"].map(|address| address.parse().expect("an address"))
    }

    /// Ends the relay.
    pub(crate) fn close(self) -> Passed {
        self.waker.wake().expect("woken");
        self.relay.join().expect("no panic")
    }
}

/// Returns a device that is up, with the addresses of `host`.
fn device(namespace: &Namespace, offload: Offload, host: u8) -> TunDevice {
    let options = TunOptions {
        offload,
        ..TunOptions::new("lasthop%d")
    };
    let open = || {
        let device = TunDevice::open(&options).expect("a device");
        let mut netlink = Netlink::open().expect("netlink");
        for address in [format!("10.9.0.{host}/24"), format!("fd09::{host}/64")] {
            let address = address.parse().expect("an address");
            netlink
                .add_address(device.name(), address)
                .expect("an address added");
        }
        netlink.set_up(device.name()).expect("a device up");
        device
    };
    namespace.run(open).expect("a namespace")
}

/// Carries packets between the ends until it is woken.
fn relay(mut waiter: Waiter, [mut near, mut far]: [TunDevice; 2]) -> Passed {
    waiter
        .add(near.as_fd(), 0, Interest::Readable)
        .expect("added");
    waiter
        .add(far.as_fd(), 1, Interest::Readable)
        .expect("added");
    let mut largest = (0, 0);
    loop {
        if waiter
            .wait(None)
            .expect("a wait")
            .any(|ready| ready.token == WOKEN)
        {
            let malformed = near.counters().malformed + far.counters().malformed;
            let cpu = clock_gettime(ClockId::ThreadCPUTime);
            let cpu_nanos = (cpu.tv_sec * 1_000_000_000 + cpu.tv_nsec) as u64;
            return Passed {
                largest,
                malformed,
                cpu_nanos,
            };
        }
        largest.0 = carry(&mut near, &mut far).max(largest.0);
        largest.1 = carry(&mut far, &mut near).max(largest.1);
    }
}

/// Carries the waiting packets, at most a batch, and returns the size of the largest.
fn carry(from: &mut TunDevice, to: &mut TunDevice) -> usize {
    let mut largest = 0;
    for _ in 0..64 {
        let Some(mut packet) = from.receive().expect("received") else {
            break;
        };
        largest = packet.len().max(largest);
        to.send(&mut packet).expect("sent");
    }
    largest
}
