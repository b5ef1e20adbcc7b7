//! The limit on the memory that one end holds for the other, whatever the other does.

use arq::{COMMON_FLOW, Config, Input, MEMORY_LEAST};
use units::{Bytes, Duration};
use wire::flow::Class;
use wire::packet::{Packet, PacketBuffer};

use super::script::{Script, usual};

fn least() -> Config {
    Config {
        memory: MEMORY_LEAST,
        ..usual()
    }
}

/// Lets `other` hear one frame with as many parts of streams as are given: flow, offset and bytes.
fn hear(other: &mut Script, parts: &[(u64, u64, &[u8])]) {
    other.hear(|frame| {
        for (flow, offset, bytes) in parts {
            frame.stream(*flow, *offset, bytes.len(), false, |out| {
                out.copy_from_slice(bytes);
            });
        }
    });
    assert!(other.arq.memory() <= MEMORY_LEAST, "{}", other.arq.memory());
}

/// A record that announces a packet of so many bytes, with its first byte.
fn announced(length: u32) -> [u8; 6] {
    let [a, b, c, d] = (length | 0x8000_0000).to_be_bytes();
    [0, a, b, c, d, 0x45]
}

#[test]
fn small_packets_count_as_what_they_take() {
    let mut end = Script::new(least());
    for packet in 0..60_000 {
        end.brief(packet as u16 % 40, 30);
        if packet % 3 == 0 {
            end.held(packet as u16 % 30 + 100, 60);
        }
    }
    let stats = end.stats().sent;
    assert!(stats.packets_capped > 10_000, "{stats:?}");
    assert!(end.arq.memory() <= MEMORY_LEAST, "{}", end.arq.memory());
    assert!(end.arq.queued() < Bytes::mebi(4));
    // What was never sent before still gets in: room is made by those of which most waits.
    let capped = stats.packets_capped;
    end.held(999, 60);
    end.send_all();
    assert!(end.stats().sent.packets_capped > capped);
    assert!(end.arq.memory() <= MEMORY_LEAST, "{}", end.arq.memory());
}

#[test]
fn flows_beyond_those_that_there_may_be_share_one() {
    let mut end = Script::new(least());
    (0..5_000).for_each(|flow| end.brief(flow, 30));
    assert!(end.arq.flows() <= 2_049, "{}", end.arq.flows());
    assert_eq!(end.stats().sent.packets_in_common, 5_000 - 2_048);
    assert_eq!(end.stats().sent.packets_capped, 0);
    // While there are so many, quiet ones soon make room.
    for _ in 0..6 {
        end.send_all();
        end.wait(Duration::from_secs(5));
    }
    assert!(end.arq.flows() <= 1_024, "{}", end.arq.flows());
}

#[test]
fn who_asks_for_no_flow_of_its_own_shares_one_in_each_lane() {
    let mut end = Script::new(usual());
    for class in [Class::Held, Class::Brief].repeat(5) {
        let packet = Packet::new(PacketBuffer::copy_of(&[0x45; 40]));
        let key = COMMON_FLOW;
        end.input(Input::Packet { packet, key, class });
    }
    assert_eq!(end.arq.flows(), 2);
    assert_eq!(end.stats().sent.packets_in_common, 10);
}

#[test]
fn parts_of_a_byte_are_held_up_to_a_limit() {
    let mut other = Script::new(least());
    for frame in 0..2_000 {
        let parts: Vec<_> = (0..60)
            .map(|part| (0, 10 + (frame * 60 + part) * 2, &[7][..]))
            .collect();
        hear(&mut other, &parts);
    }
    assert!(other.stats().received.chunks_refused > 100_000);
    assert!(
        other.arq.held() <= Bytes::new(1_030),
        "{}",
        other.arq.held()
    );
}

#[test]
fn packets_that_never_end_take_no_more_than_their_share_and_others_go_on() {
    let mut other = Script::new(least());
    for flow in 0..4_000 {
        hear(&mut other, &[(flow, 0, &announced(65_535))]);
    }
    let refused = other.stats().received.chunks_refused;
    assert!((3_000..4_000).contains(&refused), "{refused}");
    // One that was begun can be completed, and what comes after it begins in the room that it leaves.
    let mut offset = 6;
    while offset < 65_535 + 5 {
        let bytes = vec![1; (65_535 + 5 - offset).min(1_300)];
        hear(&mut other, &[(0, offset as u64, &bytes)]);
        offset += bytes.len();
    }
    assert_eq!(other.stats().received.packets, 1);
    hear(&mut other, &[(5_000, 0, &announced(65_535))]);
    assert_eq!(other.stats().received.chunks_refused, refused);
}

/// A few bytes of a stream may stand for a packet, so what is held is not released all at once.
#[test]
fn much_that_a_few_bytes_stand_for_comes_bit_by_bit() {
    const PACKETS: u32 = 20_000;
    let (mut one, mut other) = (Script::new(usual()), Script::new(usual()));
    (0..PACKETS).for_each(|_| one.held(1, 60));
    let sent = one.send_all();
    for frame in &sent[1..] {
        other.receive(frame.bytes.clone());
    }
    other.receive(sent[0].bytes.clone());
    let at_once = other.released().len();
    assert!((1_000..3_000).contains(&at_once), "{at_once} at once");
    other.wait(Duration::ZERO);
    let all: Vec<_> = (0..PACKETS).map(|place| (1, place)).collect();
    assert_eq!(other.released(), all);
    assert_eq!(other.arq.held(), Bytes::ZERO);
}
