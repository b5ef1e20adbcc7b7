use std::net::Ipv4Addr;

use bytes::Bytes as Content;

use super::*;

fn packet(length: usize) -> Packet {
    Packet::Ip {
        hosts: [Ipv4Addr::LOCALHOST; 2],
        bytes: Content::from(vec![0; length]),
    }
}

fn slow(variation: u64, room: u64) -> Processor {
    let config = ProcessorConfig {
        packet: Duration::from_millis(2),
        kilobyte: Duration::from_millis(10),
        variation,
        receive_buffer: QueueBound::Packets(room),
    };
    Processor::new(config, RandomStream::named(1, "test"))
}

#[test]
fn each_packet_takes_its_time_and_what_arrives_goes_first() {
    let mut processor = slow(0, 4);
    processor.send(Instant::ZERO, packet(1_000));
    processor.send(Instant::ZERO, packet(500));
    processor.receive(Instant::from_millis(5), packet(1_500));
    let mut ends = Vec::new();
    while let Some(at) = processor.poll_timeout() {
        processor.handle_timeout(at);
        while let Some(done) = processor.poll() {
            ends.push((at.as_nanos() / 1_000_000, matches!(done, Done::Sent(_))));
        }
    }
    assert_eq!(ends, [(12, true), (29, false), (36, true)]);
}

#[test]
fn a_full_card_loses_what_arrives() {
    let mut processor = slow(0, 2);
    for _ in 0..5 {
        processor.receive(Instant::ZERO, packet(1_000));
    }
    assert_eq!(processor.overflows(), 3);
    processor.handle_timeout(Instant::from_millis(12));
    processor.receive(Instant::from_millis(12), packet(1_000));
    assert_eq!(processor.overflows(), 3);
}

#[test]
fn a_card_of_bytes_counts_bytes() {
    let mut processor = Processor::new(
        ProcessorConfig {
            receive_buffer: QueueBound::Bytes(units::Bytes::new(3_000)),
            ..slow(0, 1).config
        },
        RandomStream::named(1, "test"),
    );
    for length in [1_500, 1_400, 200, 100] {
        processor.receive(Instant::ZERO, packet(length));
    }
    assert_eq!(processor.overflows(), 1);
}

#[test]
fn costs_vary_about_their_mean() {
    let mut processor = slow(50, 1);
    let mut now = Instant::ZERO;
    let mut spans = Vec::new();
    for _ in 0..1_000 {
        processor.receive(now, packet(1_000));
        let end = processor.poll_timeout().unwrap_or(now);
        spans.push(end.since(now).as_micros());
        now = end;
        processor.handle_timeout(now);
    }
    let (least, most) = (spans.iter().min(), spans.iter().max());
    assert!(least.is_some_and(|least| (6_000..6_200).contains(least)));
    assert!(most.is_some_and(|most| (17_800..=18_000).contains(most)));
    let total: u64 = spans.iter().sum();
    assert!((11_700_000..12_300_000).contains(&total), "{total}");
}

#[test]
fn a_fast_host_is_done_at_once() {
    let mut processor = Processor::new(ProcessorConfig::fast(), RandomStream::named(1, "test"));
    processor.receive(Instant::ZERO, packet(1_500));
    assert!(matches!(processor.poll(), Some(Done::Received(_))));
    assert_eq!(processor.poll_timeout(), None);
}
