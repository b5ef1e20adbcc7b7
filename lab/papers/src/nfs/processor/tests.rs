use std::net::Ipv4Addr;

use bytes::Bytes as Content;

use super::*;

fn packet(length: usize) -> Packet {
    Packet::Ip {
        hosts: [Ipv4Addr::LOCALHOST; 2],
        bytes: Content::from(vec![0; length]),
    }
}

fn slow(pause: Probability, room: u64) -> Processor {
    let config = ProcessorConfig {
        packet: Duration::from_millis(2),
        kilobyte: Duration::from_millis(10),
        pause,
        longest_pause: Duration::from_millis(40),
        receive_buffer: QueueBound::Packets(room),
    };
    Processor::new(config, RandomStream::named(1, "test"))
}

#[test]
fn each_packet_takes_its_time_and_what_arrives_goes_first() {
    let mut processor = slow(Probability::NEVER, 4);
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
    let mut processor = slow(Probability::NEVER, 2);
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
            ..slow(Probability::NEVER, 1).config
        },
        RandomStream::named(1, "test"),
    );
    for length in [1_500, 1_400, 200, 100] {
        processor.receive(Instant::ZERO, packet(length));
    }
    assert_eq!(processor.overflows(), 1);
}

#[test]
fn some_packets_find_the_host_busy_elsewhere() {
    let mut processor = slow(Probability::ratio(1, 4), 1);
    let (mut paused, mut total) = (0, 0);
    let mut now = Instant::ZERO;
    for _ in 0..1_000 {
        processor.receive(now, packet(1_000));
        let end = processor.poll_timeout().unwrap_or(now);
        let took = end.since(now).as_micros();
        assert!((12_000..=52_000).contains(&took), "{took}");
        paused += u64::from(took > 12_000);
        total += took - 12_000;
        now = end;
        processor.handle_timeout(now);
    }
    assert!((200..300).contains(&paused), "{paused}");
    assert!(
        (18_000..22_000).contains(&(total / paused)),
        "{}",
        total / paused
    );
}

#[test]
fn a_fast_host_is_done_at_once() {
    let mut processor = Processor::new(ProcessorConfig::fast(), RandomStream::named(1, "test"));
    processor.receive(Instant::ZERO, packet(1_500));
    assert!(matches!(processor.poll(), Some(Done::Received(_))));
    assert_eq!(processor.poll_timeout(), None);
}
