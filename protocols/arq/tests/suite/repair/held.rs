//! Segments that their sender repeats while the hop still has to deliver the first copy.

use arq::Arq;
use units::{BitRate, Duration, SeqNumber};
use wire::TcpSegment;
use wire::ip::Transport;
use wire::packet::{Packet, PacketBuffer};
use wire::tcp::{SeqRange, TcpFlags, TcpSegmentOptions, Timestamps};

use super::script::{Script, usual};
use super::superseded::{acknowledgment, packet, wait};

const LENGTH: u16 = 1_000;

/// The segment with this number of those that follow each other.
fn data(number: u32) -> TcpSegment {
    let mut segment = acknowledgment(9);
    segment.sequence = SeqNumber(u32::MAX - 2_500) + number * u32::from(LENGTH);
    segment.payload = LENGTH;
    segment
}

/// The same, sent again: its clock has gone on.
fn again(number: u32) -> TcpSegment {
    let mut segment = data(number);
    segment.flags = TcpFlags::ACK | TcpFlags::PSH;
    let (value, echo) = (7, 8);
    segment.options.timestamps = Some(Timestamps { value, echo });
    segment
}

/// An end that has sent six segments of eight, and their numbers on the air.
fn sent() -> (Script, (u64, u64)) {
    let mut end = Script::knowing(usual(), Duration::from_millis(20));
    (0..6).for_each(|number| wait(&mut end, packet(&data(number))));
    let sent = end.send_all();
    let numbers = (sent[0].number, sent[sent.len() - 1].number);
    (6..8).for_each(|number| wait(&mut end, packet(&data(number))));
    (end, numbers)
}

/// Returns true if a segment counts as held already.
fn is_held(end: &mut Script, segment: &TcpSegment) -> bool {
    let before = end.stats().sent.packets_held_already;
    wait(end, packet(segment));
    end.stats().sent.packets_held_already > before
}

/// Returns true if a segment is not added to the queue.
fn is_left_out(end: &mut Script, segment: &TcpSegment) -> bool {
    let waiting = end.arq.queued();
    let left_out = is_held(end, segment);
    assert_eq!(left_out, end.arq.queued() == waiting);
    left_out
}

#[test]
fn what_is_still_to_be_delivered_does_not_cross_again() {
    let (mut end, numbers) = sent();
    for number in 0..8 {
        assert!(is_left_out(&mut end, &again(number)), "segment {number}");
    }
    end.wait(Duration::from_millis(20));
    end.ack(&[numbers]);
    for number in 0..6 {
        assert!(
            !is_left_out(&mut end, &again(number)),
            "segment {number} has arrived"
        );
    }
    assert!(is_left_out(&mut end, &again(7)));
    assert_eq!(end.stats().sent.packets_dropped, 0);
}

#[test]
fn what_says_more_crosses() {
    let changed = |change: fn(&mut TcpSegment)| {
        let mut segment = data(3);
        change(&mut segment);
        segment
    };
    for news in [
        changed(|segment| segment.acknowledgment = SeqNumber(10)),
        changed(|segment| segment.window += 1),
        changed(|segment| segment.flags = TcpFlags::ACK | TcpFlags::FIN),
        changed(|segment| segment.payload = 0),
        changed(|segment| segment.sequence = segment.sequence + 5_000),
        changed(|segment| segment.sequence = segment.sequence - 4_000),
        changed(|segment| {
            let (start, end) = (SeqNumber(40), SeqNumber(50));
            segment.options.sack.push(SeqRange { start, end });
        }),
    ] {
        let (mut end, _) = sent();
        assert!(is_left_out(&mut end, &data(3)));
        assert!(!is_left_out(&mut end, &news), "{news:?}");
    }
}

#[test]
fn what_this_end_dropped_comes_again() {
    let mut end = Script::knowing(usual(), Duration::from_millis(20));
    end.input(arq::Input::Rate(BitRate::from_megabits(2)));
    let all = 100;
    (0..all).for_each(|number| wait(&mut end, packet(&data(number))));
    let dropped = end.stats().sent.packets_dropped;
    assert!((3..50).contains(&dropped), "{dropped}");
    let missing = (0..all).filter(|number| !is_held(&mut end, &data(*number)));
    assert_eq!(missing.count() as u64, dropped);
}

#[test]
fn a_new_connection_with_the_same_ports_is_another() {
    let (mut end, _) = sent();
    let mut first = data(2);
    first.flags = TcpFlags::SYN;
    first.payload = 0;
    assert!(!is_left_out(&mut end, &first));
    for number in [3, 1, 4] {
        assert!(!is_left_out(&mut end, &data(number)), "segment {number}");
        assert!(is_left_out(&mut end, &again(number)), "segment {number}");
    }
}

/// A UDP datagram with a number, in an IP packet with an identification.
fn call(number: u8, identification: u8) -> Packet {
    let mut bytes = vec![0x45, 0, 0, 40, 0, identification, 0, 0, 64, 17, 0, 0];
    bytes.extend([10, 9, 0, 2, 192, 0, 2, 1]);
    bytes.extend([3, 32, 8, 1, 0, 20, 0, 0]);
    bytes.extend([number; 12]);
    Packet::new(PacketBuffer::copy_of(&bytes))
}

#[test]
fn a_datagram_that_waits_does_not_cross_again() {
    let mut end = Script::new(usual());
    let mut other = Script::new(usual());
    for round in 0..100 {
        (0..3).for_each(|number| wait(&mut end, call(number, round)));
    }
    let sent = end.send_all();
    wait(&mut end, call(2, 100));
    assert_eq!(end.stats().sent.packets_held_already, 298);
    other.receive_all(&sent);
    let crossed = other.packets.iter().map(|packet| packet.to_vec());
    let first = [0, 1, 2].map(|number| call(number, 0).to_vec());
    assert_eq!(crossed.collect::<Vec<_>>(), first);
    // Its sender asks for another answer.
    end.ack(&[(0, sent.len() as u64 - 1)]);
    wait(&mut end, call(2, 101));
    assert_eq!(end.send_all().len(), 1);
}

/// Returns the place of a segment in its connection, and its sender's clock.
fn clock_of(packet: &Packet) -> (u32, Option<u32>) {
    let ip = packet.ip().expect("IP");
    let Transport::Tcp(tcp) = ip.transport() else {
        panic!("another protocol");
    };
    let (options, _) = TcpSegmentOptions::read(&tcp).expect("options");
    let clock = options.timestamps.map(|timestamps| timestamps.value);
    (tcp.sequence_number().0, clock)
}

/// Its receiver may have what has overtaken it, and would drop it.
#[test]
fn what_was_overtaken_is_withdrawn_with_no_earlier_clock() {
    let stamped = |number, value| {
        let mut segment = data(number);
        segment.options.timestamps = Some(Timestamps { value, echo: 8 });
        segment
    };
    let mut end = Script::knowing(usual(), Duration::from_millis(20));
    (0..6).for_each(|number| wait(&mut end, packet(&stamped(number, 10))));
    let sent = end.send_all();
    (6..8).for_each(|number| wait(&mut end, packet(&stamped(number, 11))));
    end.wait(Duration::from_millis(20));
    end.ack(&[(sent[0].number, sent[sent.len() - 1].number)]);
    // The first frame holds what is sent again, and what it has overtaken remains.
    (8..400).for_each(|number| wait(&mut end, packet(&stamped(number, 12))));
    wait(&mut end, packet(&stamped(2, 50)));
    let arq = std::mem::replace(&mut end.arq, Arq::new(usual()));
    let withdrawn = arq.withdraw(None).packets;
    let first = data(8).sequence;
    let waited = withdrawn.iter().map(clock_of);
    let waited: Vec<_> = waited
        .filter(|(start, _)| SeqNumber(*start) > first)
        .collect();
    assert!(waited.len() > 100, "{}", waited.len());
    assert!(
        waited.iter().all(|(_, clock)| *clock == Some(50)),
        "{waited:?}"
    );
}
