//! Requests for connections in the names of hosts that do not exist.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machine::RandomStream;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use wire::checksum::fill_transport_checksum;

use crate::support::{FIXED_HOST, Hosts};

/// Those hosts would be behind the fixed host, which drops what is for them.
pub(crate) fn make_way(hosts: &Hosts) {
    let via = FIXED_HOST.to_string();
    rig::route(&hosts.gateway, "198.18.0.0/15", &via).unwrap();
}

/// The fixed host floods one of these addresses after the other until it is told to stop or has sent `most`, of which
/// it sends at most `rate` in a second; gives how many these were.
pub(crate) fn flood(
    hosts: &Hosts,
    targets: &[SocketAddr],
    most: u32,
    rate: u32,
    stop: &AtomicBool,
) -> u32 {
    // What IP calls a raw packet with its header (raw(7)).
    let raw = Protocol::from(255);
    let open = || Socket::new(Domain::IPV4, Type::RAW, Some(raw)).unwrap();
    let socket = hosts.fixed.run(open).unwrap();
    let mut random = RandomStream::named(4, "flood");
    let begun = Instant::now();
    let mut sent = 0;
    while sent < most && !stop.load(Ordering::Relaxed) {
        let due = f64::from(rate) * begun.elapsed().as_secs_f64();
        if f64::from(sent) >= due {
            std::thread::sleep(Duration::from_micros(500));
            continue;
        }
        let to = targets[sent as usize % targets.len()];
        // What finds no room is lost.
        let _ = socket.send_to(&request(&mut random, to), &SockAddr::from(to));
        sent += 1;
    }
    sent
}

/// The first segment of somebody.
fn request(random: &mut RandomStream, to: SocketAddr) -> Vec<u8> {
    let IpAddr::V4(address) = to.ip() else {
        panic!("only IPv4")
    };
    let from = Ipv4Addr::from_bits(0xc612_0000 | random.below(1 << 17) as u32);
    let port = 1_024 + random.below(60_000) as u16;
    let mut packet = vec![0x45, 0, 0, 44, 0, 0, 0x40, 0, 64, 6, 0, 0];
    packet.extend(from.octets());
    packet.extend(address.octets());
    packet.extend(port.to_be_bytes());
    packet.extend(to.port().to_be_bytes());
    packet.extend((random.next_u64() as u32).to_be_bytes());
    // It acknowledges nothing, has six words and the flag SYN, a window, and the option MSS.
    packet.extend([0, 0, 0, 0, 0x60, 2, 0xff, 0xff, 0, 0, 0, 0, 2, 4, 5, 0xb4]);
    fill_transport_checksum(&mut packet).unwrap();
    packet
}
