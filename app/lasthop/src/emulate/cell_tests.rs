//! One air between in-memory twins.

use std::net::Ipv4Addr;

use channel::Link;
use edges::clock;
use edges::memory::MemoryDevice;
use edges::tun::PacketDevice;
use units::Duration;
use wire::packet::{Packet, PacketBuffer};

use super::cell::{Cell, Member};
use super::error::RelayError;

const MTU: usize = 1500;
const PLAIN: &str = "[each]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\nqueue = \"2000 packets\"\n";

fn link(more: &str) -> Link {
    Link::from_toml(&format!("{PLAIN}{more}"), "test").unwrap()
}

fn address(mobile: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, 2 + mobile as u8)
}

/// Returns an air of `link`, the far end of the gateway's device, and those of the mobile hosts, with the error models
/// `errors`.
fn cell(link: &Link, errors: &[&Link]) -> (Cell<MemoryDevice>, MemoryDevice, Vec<MemoryDevice>) {
    let (left, gateway) = MemoryDevice::pair(4096).unwrap();
    let mut mobiles = Vec::new();
    let mut member = |(number, errors): (usize, &&Link)| {
        let (device, mobile) = MemoryDevice::pair(4096).unwrap();
        mobiles.push(mobile);
        Member {
            name: format!("air{number}"),
            device,
            addresses: vec![address(number).into()],
            errors: (*errors).clone(),
        }
    };
    let members = errors.iter().enumerate().map(&mut member).collect();
    (
        Cell::new(link, 1, left, members, MTU).unwrap(),
        gateway,
        mobiles,
    )
}

/// Returns an IPv4 packet to this address with a number in its payload, of a protocol for experiments (RFC 3692).
fn numbered(to: Ipv4Addr, number: u32) -> Packet {
    let mut bytes = vec![0; 100];
    (bytes[0], bytes[3], bytes[8], bytes[9]) = (0x45, 100, 64, 253);
    bytes[16..20].copy_from_slice(&to.octets());
    bytes[20..24].copy_from_slice(&number.to_be_bytes());
    Packet::new(PacketBuffer::copy_of(&bytes))
}

fn numbers(device: &mut MemoryDevice) -> Vec<u32> {
    let received = std::iter::from_fn(|| device.receive().unwrap());
    let number = |packet: Packet| u32::from_be_bytes(packet[20..24].try_into().unwrap());
    received.map(number).collect()
}

/// Steps until no packet waits at a device or is inside the air.
fn drain(cell: &mut Cell<MemoryDevice>) {
    loop {
        let limit = clock::monotonic() + Duration::from_millis(1);
        assert!(!cell.step(Some(limit)).unwrap());
        let report = cell.report(false);
        let inside = |mobile: &super::report::MobileReport| {
            mobile.down.inside.packets + mobile.up.inside.packets
        };
        if cell.clockwork().ready().is_empty() && report.mobiles.iter().all(|one| inside(one) == 0)
        {
            return;
        }
    }
}

#[test]
fn a_packet_goes_to_the_mobile_host_that_has_its_address() {
    let link = link("");
    let (mut cell, mut gateway, mut mobiles) = cell(&link, &[&link; 3]);
    for number in 0..300 {
        let to = address(number as usize % 3);
        gateway.send(&mut numbered(to, number)).unwrap();
        let from = &mut mobiles[number as usize % 3];
        from.send(&mut numbered(Ipv4Addr::LOCALHOST, number))
            .unwrap();
    }
    gateway.send(&mut numbered(address(3), 0)).unwrap();
    gateway
        .send(&mut Packet::new(PacketBuffer::copy_of(b"?")))
        .unwrap();
    drain(&mut cell);
    for (mobile, device) in mobiles.iter_mut().enumerate() {
        let expected: Vec<_> = (mobile as u32..300).step_by(3).collect();
        assert_eq!(numbers(device), expected);
    }
    let mut arrived = numbers(&mut gateway);
    arrived.sort_unstable();
    assert_eq!(arrived, (0..300).collect::<Vec<_>>());
    let report = cell.report(true);
    assert_eq!((report.ended, report.unroutable_packets), (true, 2));
    for mobile in &report.mobiles {
        assert_eq!(mobile.down.delivered.packets, 100);
        assert_eq!(mobile.up.delivered.bytes, 100 * 114);
        assert!(mobile.airtime_down_ms > 0.0);
    }
}

#[test]
fn each_meets_errors_of_its_own() {
    let (clean, lossy) = (
        link(""),
        link("[errors]\nmodel = \"independent\"\np = \"100 %\"\n"),
    );
    let (mut cell, mut gateway, mut mobiles) = cell(&clean, &[&clean, &lossy]);
    for number in 0..10 {
        gateway
            .send(&mut numbered(address(number as usize % 2), number))
            .unwrap();
    }
    drain(&mut cell);
    assert_eq!(numbers(&mut mobiles[0]), [0, 2, 4, 6, 8]);
    assert!(numbers(&mut mobiles[1]).is_empty());
    let lossy = &cell.report(false).mobiles[1];
    assert_eq!(
        (lossy.down.dropped_air.packets, lossy.errors.as_str()),
        (5, "test")
    );
}

#[test]
fn a_packet_above_the_mtu_is_refused() {
    let link = link("");
    let (mut cell, mut gateway, _mobiles) = cell(&link, &[&link; 2]);
    gateway
        .send(&mut Packet::new(PacketBuffer::copy_of(&[0; MTU + 1])))
        .unwrap();
    let limit = clock::monotonic() + Duration::from_secs(1);
    cell.step(Some(limit)).unwrap();
    let error = cell.step(Some(limit)).unwrap_err();
    assert!(matches!(error, RelayError::AboveMtu { bytes: 1501, .. }));
}
