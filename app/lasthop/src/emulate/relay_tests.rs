//! The relay between in-memory twins: only the channel loses, duplicates or reorders packets.

use channel::{Link, PerDirection};
use edges::clock;
use edges::memory::MemoryDevice;
use edges::tun::PacketDevice;
use units::Duration;
use wire::packet::{Packet, PacketBuffer};

use super::Relay;
use super::error::RelayError;

const MTU: usize = 1500;

fn link(text: &str) -> Link {
    Link::from_toml(text, "test").unwrap()
}

/// Returns a relay, and the far ends of its left and right device.
fn relay(link: &Link, seed: u64) -> (Relay<MemoryDevice>, MemoryDevice, MemoryDevice) {
    let (left, gateway) = MemoryDevice::pair(4096).unwrap();
    let (right, mobile) = MemoryDevice::pair(4096).unwrap();
    let devices = PerDirection {
        down: left,
        up: right,
    };
    (
        Relay::new(link, seed, devices, MTU).unwrap(),
        gateway,
        mobile,
    )
}

fn numbered(number: u32, length: usize) -> Packet {
    let mut bytes = vec![0; length];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    Packet::new(PacketBuffer::copy_of(&bytes))
}

fn numbers(device: &mut MemoryDevice) -> Vec<u32> {
    let mut numbers = Vec::new();
    while let Some(packet) = device.receive().unwrap() {
        numbers.push(u32::from_be_bytes(*packet.first_chunk().unwrap()));
    }
    numbers
}

/// Steps until no packet is inside the link.
fn drain(relay: &mut Relay<MemoryDevice>) {
    loop {
        let limit = clock::monotonic() + Duration::from_millis(1);
        assert!(!relay.step(Some(limit)).unwrap());
        let report = relay.report(false);
        if report.down.inside.packets + report.up.inside.packets == 0 {
            return;
        }
    }
}

const LOSSY: &str = r#"
[each]
rate = "1 Gbit/s"
delay = "1 ms"
queue = "2000 packets"
[errors]
model = "independent"
p = "20 %"
"#;

#[test]
fn packets_are_conserved_and_keep_their_order() {
    let (mut relay, mut gateway, mut mobile) = relay(&link(LOSSY), 3);
    for number in 0..1000 {
        gateway.send(&mut numbered(number, 100)).unwrap();
        mobile.send(&mut numbered(number, 200)).unwrap();
    }
    drain(&mut relay);
    let report = relay.report(false);
    for (arrived, counted, bytes) in [
        (numbers(&mut mobile), &report.down, 114),
        (numbers(&mut gateway), &report.up, 214),
    ] {
        assert!(arrived.is_sorted_by(|a, b| a < b));
        assert_eq!(arrived.len() as u64, counted.delivered.packets);
        assert_eq!(counted.offered.packets, 1000);
        assert_eq!(counted.offered.bytes, 1000 * bytes);
        assert_eq!(counted.dropped_queue.packets, 0);
        assert_eq!(
            counted.delivered.packets + counted.dropped_air.packets,
            1000
        );
        assert!((100..=300).contains(&counted.dropped_air.packets));
    }
}

#[test]
fn equal_seeds_lose_the_same_packets() {
    let run = |seed| {
        let (mut relay, mut gateway, mut mobile) = relay(&link(LOSSY), seed);
        for number in 0..500 {
            gateway.send(&mut numbered(number, 100)).unwrap();
        }
        drain(&mut relay);
        numbers(&mut mobile)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_full_queue_drops_the_tail() {
    let text = LOSSY
        .replace("2000 packets", "10 packets")
        .replace("1 Gbit/s", "8 kbit/s");
    let (mut relay, mut gateway, _mobile) = relay(&link(&text), 1);
    for number in 0..30 {
        gateway.send(&mut numbered(number, 1500)).unwrap();
    }
    let now = clock::monotonic();
    relay.step(Some(now)).unwrap();
    let down = relay.report(false).down;
    // One is in transmission and ten wait.
    assert_eq!((down.offered.packets, down.dropped_queue.packets), (30, 19));
    assert_eq!(down.inside.packets, 11);
}

#[test]
fn an_interface_that_takes_no_more_is_counted() {
    let (left, mut gateway) = MemoryDevice::pair(64).unwrap();
    let (right, _mobile) = MemoryDevice::pair(4).unwrap();
    let text = LOSSY.replace("20 %", "0 %");
    let devices = PerDirection {
        down: left,
        up: right,
    };
    let mut relay = Relay::new(&link(&text), 1, devices, MTU).unwrap();
    for number in 0..10 {
        gateway.send(&mut numbered(number, 100)).unwrap();
    }
    drain(&mut relay);
    assert_eq!(relay.report(false).down.refused_packets, 6);
}

#[test]
fn a_packet_above_the_mtu_is_refused_with_the_remedy() {
    let (mut relay, mut gateway, _mobile) = relay(&link(LOSSY), 1);
    gateway.send(&mut numbered(0, MTU + 1)).unwrap();
    let error = relay.step(None).unwrap_err();
    assert!(matches!(
        error,
        RelayError::AboveMtu {
            bytes: 1501,
            mtu: 1500
        }
    ));
    assert!(error.to_string().contains("offload"));
}

#[test]
fn corrupted_packets_come_with_other_bits_and_are_counted() {
    let text = "each = { rate = 'unlimited', delay = '1 ms', queue = '100 packets', \
                faults = { corruption = '50 %' } }";
    let (mut relay, mut gateway, mut mobile) = relay(&link(text), 3);
    for _ in 0..200 {
        let bytes = [0; 100];
        let mut packet = Packet::new(PacketBuffer::copy_of(&bytes));
        gateway.send(&mut packet).unwrap();
    }
    drain(&mut relay);
    let mut changed = 0;
    for _ in 0..200 {
        let packet = mobile.receive().unwrap().expect("all arrive");
        changed += u64::from(packet.iter().any(|byte| *byte != 0));
    }
    let report = relay.report(false);
    assert_eq!(report.down.corrupted.packets, changed);
    assert_eq!(report.down.delivered.packets, 200);
    assert!((60..140).contains(&changed), "{changed}");
}
