//! Packets of the split transport: each crosses once, whole, in a chunk of its own.

use arq::{Config, Input};
use units::{Bytes, Duration};
use wire::packet::PacketBuffer;

use super::script::{Carried, Script, usual};

const ROUND_TRIP: Duration = Duration::from_millis(20);

fn give(end: &mut Script, fill: u8, length: usize) {
    let packet = PacketBuffer::copy_of(&vec![fill; length]);
    end.input(Input::Transport(packet));
}

#[test]
fn packets_arrive_as_they_were_and_in_their_order() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    let longest = end.arq.transport_packet_max();
    let lengths = [1, 40, longest, 700, 600];
    for (fill, length) in (0..).zip(lengths) {
        give(&mut end, fill, length);
    }
    let queued = lengths.iter().sum::<usize>();
    assert_eq!(end.arq.transport_queued(), Bytes::from(queued));
    let sent = end.send_all();
    assert_eq!(end.arq.transport_queued(), Bytes::ZERO);
    let carried: Vec<_> = sent.iter().flat_map(super::script::Sent::content).collect();
    assert_eq!(carried, lengths.map(Carried::Transport));
    let mut other = Script::new(usual());
    other.receive_all(&sent);
    let arrived: Vec<_> = other
        .transport
        .iter()
        .map(|(_, packet)| (packet[0], packet.len()))
        .collect();
    assert_eq!(arrived, [(0, 1), (1, 40), (2, longest), (3, 700), (4, 600)]);
    let frames = sent.iter().flat_map(|frame| {
        let transport = |carried: &Carried| matches!(carried, Carried::Transport(_));
        let packets = frame.content().into_iter().filter(transport).count();
        vec![frame.number; packets]
    });
    let numbers = other.transport.iter().map(|(number, _)| *number);
    assert!(numbers.eq(frames), "each has the number of its frame");
    assert!(
        other.arq.wants_air(other.now + ROUND_TRIP),
        "they are to be acknowledged"
    );
}

#[test]
fn what_is_lost_is_left_to_the_transport() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    for fill in 0..3 {
        give(&mut end, fill, 1_300);
    }
    let sent = end.send_all();
    end.wait(ROUND_TRIP);
    end.ack(&[(sent[2].number, sent[2].number)]);
    assert_eq!(end.stats().sent.frames_lost, 2);
    let later = end.run(Duration::from_secs(2), Duration::from_millis(5));
    assert!(later.iter().all(|frame| frame.content().is_empty()));
}

/// A packet that fits no frame can never leave, and must not block those that can.
#[test]
fn what_is_too_long_is_dropped_and_counted() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    let longest = end.arq.transport_packet_max();
    for length in [0, longest + 1, 60_000, 1] {
        give(&mut end, 7, length);
    }
    assert_eq!(end.stats().sent.packets_dropped, 3);
    let sent = end.send_all();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].content(), [Carried::Transport(1)]);
}

/// They are one flow among others, each of which gets its share.
#[test]
fn other_flows_get_their_turns() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    end.bulk(1, 40);
    for fill in 0..40 {
        give(&mut end, fill, 1_300);
    }
    let mut bytes = [0usize; 2];
    for carried in end.send(40).iter().flat_map(super::script::Sent::content) {
        match carried {
            Carried::Stream { length, .. } => bytes[0] += length,
            Carried::Transport(length) => bytes[1] += length,
            Carried::Brief { .. }
            | Carried::Ack(_)
            | Carried::Probe { .. }
            | Carried::Padding(_) => {}
        }
    }
    assert!(bytes[0].abs_diff(bytes[1]) <= 2 * 3_028, "{bytes:?}");
}

#[test]
fn what_may_still_be_acknowledged_asks_for_more_memory() {
    let mut lease = Bytes::kibi(192);
    let config = Config {
        lease: Some(lease),
        ..usual()
    };
    let mut end = Script::knowing(config, ROUND_TRIP);
    let mut sent = Vec::new();
    // All of it waits in the hop for longer than any timeout.
    for fill in 0..200 {
        give(&mut end, fill, 100);
        sent.extend(end.send(1));
        end.wait(ROUND_TRIP);
        let wanted = end.arq.memory_wanted(0).get().next_power_of_two();
        if wanted > lease.get() {
            lease = Bytes::new(wanted);
            end.input(Input::Memory(lease));
        }
    }
    let delivered = end.stats().sent.bytes_delivered;
    end.ack(&[(sent[20].number, sent[20].number)]);
    assert_eq!(end.stats().sent.bytes_delivered, delivered + 100);
}
