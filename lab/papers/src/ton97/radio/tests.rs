use std::net::SocketAddrV4;

use machine::Machine;
use simulator::{Input, Output};
use tcp::Marks;
use units::{Duration, Instant, SeqNumber};
use wire::TcpSegment;
use wire::tcp::{AirLoss, TcpFlags, TcpSegmentOptions};

use super::super::interface::{AIR, FIXED, MOBILE, WIRED};
use super::super::judge::{Basis, Judge};
use super::super::packet::Packet;
use super::{QueueReports, Radio, Waiting};

const EVERY: Duration = Duration::from_millis(100);

fn radio(waiting: &Waiting) -> Radio {
    let telling = QueueReports {
        every: EVERY,
        waiting: Waiting::clone(waiting),
        next: Instant::ZERO + EVERY,
    };
    let judge = Judge::new(Basis::Exchanged(5), Marks::Next);
    Radio::new(judge, Some(telling))
}

fn segment(ends: (SocketAddrV4, SocketAddrV4), sequence: u32, payload: u16) -> TcpSegment {
    TcpSegment {
        source: ends.0,
        destination: ends.1,
        sequence: SeqNumber(sequence),
        acknowledgment: SeqNumber(100),
        flags: TcpFlags::ACK,
        window: 1_000,
        payload,
        options: TcpSegmentOptions::default(),
    }
}

fn sent(radio: &mut Radio) -> Vec<Packet> {
    let outputs = std::iter::from_fn(|| radio.poll_output());
    let sent = outputs.filter_map(|output| match output {
        Output::Send { packet, .. } => Some(packet),
        Output::Event(_) => None,
    });
    sent.collect()
}

/// Returns the marks of the acknowledgement of byte 100 after a gap there, when the neighbour has reported its queue.
fn marked(neighbour: &mut Radio, waiting: &Waiting, packets: u64) -> AirLoss {
    let now = Instant::ZERO + EVERY;
    let mut radio = radio(&Waiting::default());
    waiting.set(packets);
    neighbour.handle_timeout(now);
    let told = sent(neighbour);
    assert_eq!(told.len(), 1, "a note, and nothing for the wire");
    let data = [0, 200].map(|sequence| segment((FIXED, MOBILE), sequence, 100).into());
    for packet in told.into_iter().chain(data) {
        radio.handle_input(now, Input::Packet { port: AIR, packet });
    }
    assert_eq!(sent(&mut radio).len(), 2, "notes go no further");
    let packet = segment((MOBILE, FIXED), 0, 0).into();
    radio.handle_input(
        now,
        Input::Packet {
            port: WIRED,
            packet,
        },
    );
    match sent(&mut radio).as_slice() {
        [Packet::Segment { segment, .. }] => segment.options.air_loss,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_waits_at_one_end_is_judged_by_at_the_other() {
    for (packets, expected) in [(4, AirLoss::Next), (5, AirLoss::None)] {
        let waiting = Waiting::default();
        assert_eq!(marked(&mut radio(&waiting), &waiting, packets), expected);
    }
}

#[test]
fn a_radio_tells_once_an_interval() {
    let mut radio = radio(&Waiting::default());
    radio.handle_timeout(Instant::ZERO);
    assert_eq!(sent(&mut radio).len(), 0);
    for count in 1..4 {
        let now = Instant::ZERO + EVERY * count;
        assert_eq!(radio.poll_timeout(), Some(now));
        radio.handle_timeout(now);
        radio.handle_timeout(now);
        assert_eq!(sent(&mut radio).len(), 1);
    }
}
