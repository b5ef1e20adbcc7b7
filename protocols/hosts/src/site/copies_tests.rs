use machine::RandomStream;
use wire::packet::PacketBuffer;
use wire::tcp::{OptionBytes, TcpSegmentOptions, Timestamps};

use super::*;

const FIN: u8 = 0x01;
const ACK: u8 = 0x10;
/// Bytes of a segment.
const SIZE: u32 = 100;

/// Returns a packet of the flow with this number that stands for so many segments from the sequence number `start` on.
fn packet(number: u16, start: u32, segments: u32, flags: u8) -> Packet {
    let data = SIZE * segments;
    let length = (40 + data) as u16;
    let mut bytes = vec![0x45, 0];
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 10, 9, 0, 2]);
    bytes.extend(number.to_be_bytes());
    bytes.extend([0x13, 0x88]);
    bytes.extend(start.to_be_bytes());
    bytes.extend([0, 0, 0, 7, 0x50, flags, 1, 0, 0, 0, 0, 0]);
    bytes.extend(vec![0; data as usize]);
    let mut packet = Packet::new(PacketBuffer::copy_of(&bytes));
    packet.segment_size = if segments > 1 { SIZE as u16 } else { 0 };
    packet
}

fn copy(number: u16, start: u32, segments: u32) -> Packet {
    let packet = packet(number, start, segments, ACK);
    packet.marked_copy().expect("it has data")
}

fn at(number: u16, next: u32) -> Progress {
    let flow = FlowKey::of(&packet(number, 0, 1, ACK).ip().expect("IP"));
    let clock = None;
    Progress { flow, next, clock }
}

fn reached(next: u32) -> Reached {
    let (next, clock) = (SeqNumber(next), None);
    Reached { next, clock }
}

fn copies() -> Copies {
    Copies::new(Instant::ZERO, 1, 31)
}

/// Returns the starts of all segments in these packets.
fn starts<'a>(packets: impl IntoIterator<Item = &'a Packet>) -> Vec<u32> {
    let ranges = packets.into_iter().filter_map(Packet::sequence);
    let starts = ranges.flat_map(|range| {
        (0..range.length().div_ceil(SIZE)).map(move |number| (range.start + number * SIZE).0)
    });
    starts.collect()
}

/// Returns packets as a sender sends them, some of them twice: their first segment, and their number of segments.
fn sent(random: &mut RandomStream) -> Vec<(u32, u32)> {
    let (mut next, mut sent) = (u32::MAX - 5 * SIZE, Vec::new());
    for _ in 0..30 {
        let segments = 1 + random.below(4) as u32;
        let back = SIZE * (1 + random.below(5) as u32);
        if random.below(6) == 0 && sent.len() > 2 {
            sent.push((next.wrapping_sub(back), 1));
        } else {
            sent.push((next, segments));
            next = next.wrapping_add(segments * SIZE);
        }
    }
    sent
}

/// What the mobile host has got is a part of what was sent, from its beginning on. The next gateway has copies from
/// anywhere in that part on, and sends what is new, once and in order, in packets of any length.
#[test]
fn the_next_gateway_sends_what_the_mobile_host_lacks() {
    for seed in 0..2_000 {
        let mut random = RandomStream::named(seed, "copies");
        let sent = sent(&mut random);
        // The mobile host has so many packets, the last of which may have come in part.
        let has = 3 + random.below(20) as usize;
        let packets = sent.iter();
        let packets = packets.map(|(start, segments)| packet(7, *start, *segments, ACK));
        let all: Vec<_> = packets.collect();
        let mut got = starts(&all[..has]);
        let (_, segments) = sent[has - 1];
        got.truncate(got.len() - random.below(u64::from(segments)) as usize);
        let reached = got.iter().map(|start| SeqNumber(*start) + SIZE);
        let latest = |one, other| if other > one { other } else { one };
        let reached = reached.reduce(latest).expect("something");
        // Copies begin before that.
        let first = random.below(has as u64) as usize;
        let early = random.below((sent.len() - first) as u64) as usize;
        let (early, late) = sent[first..].split_at(early);
        let mut copies = copies();
        for (start, segments) in early {
            assert!(copies.take(copy(7, *start, *segments)).is_none());
        }
        let is_before = early.iter().any(|(start, _)| SeqNumber(*start) <= reached);
        let covers = copies.note(vec![at(7, reached.0)]);
        assert_eq!(covers, is_before, "seed {seed}");
        let (mut segments, mut packets) = copies.begin();
        for (start, count) in late {
            if let Some((count, packet)) = copies.take(copy(7, *start, *count)) {
                segments += count;
                packets.extend(packet);
            }
        }
        if !covers {
            assert!(packets.is_empty() && segments == 0);
            continue;
        }
        assert_eq!(segments, starts(&all[first..]).len() as u64, "seed {seed}");
        let last = all
            .iter()
            .filter_map(Packet::sequence)
            .map(|range| range.end);
        let last = last.reduce(latest).expect("something");
        let count = last.distance_from(reached) / SIZE as i32;
        let rest: Vec<_> = (0..count as u32)
            .map(|number| (reached + number * SIZE).0)
            .collect();
        assert_eq!(starts(&packets), rest, "seed {seed}");
        assert!(packets.iter().all(|packet| !packet.is_marked_copy()));
    }
}

/// Returns a segment with this clock of its sender.
fn stamped(start: u32, clock: u32) -> Packet {
    let mut packet = packet(1, start, 1, ACK);
    let timestamps = Timestamps {
        value: clock,
        echo: 7,
    };
    packet.set_tcp_options(&OptionBytes::of(&TcpSegmentOptions {
        timestamps: Some(timestamps),
        ..TcpSegmentOptions::default()
    }));
    packet
}

/// What was sent again has overtaken what waited at the former gateway.
#[test]
fn the_mobile_host_drops_nothing_for_its_clock() {
    let mut copies = copies();
    let mut take = |start, clock| {
        let copy = stamped(start, clock).marked_copy().expect("it has data");
        copies.take(copy).and_then(|(_, packet)| packet)
    };
    assert!(take(0, 10).is_none() && take(100, 11).is_none());
    let clock = Some(50);
    copies.note(vec![Progress {
        clock,
        ..at(1, 100)
    }]);
    let (_, packets) = copies.begin();
    let of = |packet: &Packet| packet.clone();
    assert_eq!(
        packets.iter().map(of).collect::<Vec<_>>(),
        [stamped(100, 50)]
    );
    let mut next = |start, clock| {
        let copy = stamped(start, clock).marked_copy().expect("it has data");
        copies.take(copy).and_then(|(_, packet)| packet)
    };
    assert_eq!(next(200, 12), Some(stamped(200, 50)));
    assert_eq!(next(300, 51), Some(stamped(300, 51)));
    assert_eq!(next(400, 52), Some(stamped(400, 52)));
}

/// What did not come by way of the home may be missing, and come again.
#[test]
fn behind_a_gap_everything_is_passed_on() {
    let mut copies = copies();
    copies.take(copy(1, 0, 2));
    assert!(copies.note(vec![at(1, 100)]));
    assert_eq!(starts(&copies.begin().1), [100]);
    let mut passes = |start| copies.take(copy(1, start, 1)).expect("begun").1.is_some();
    assert!(passes(200) && !passes(100));
    assert!(passes(400) && passes(300) && passes(100) && !passes(0));
}

#[test]
fn what_follows_a_gap_is_of_use_once_the_mobile_host_is_there() {
    let mut copies = copies();
    for start in [0, 100, 300] {
        copies.take(copy(1, start, 1));
    }
    copies.take(copy(2, 0, 1));
    assert!(!copies.note(vec![at(1, 200), at(2, 100)]));
    assert!(!copies.note(vec![]));
    assert!(!copies.note(vec![at(1, 300), at(3, 0)]));
    assert!(copies.note(vec![at(1, 300), at(2, 100)]));
    let (segments, packets) = copies.begin();
    assert_eq!((segments, starts(&packets)), (4, vec![300]));
    assert!(copies.has_begun(&at(2, 0).flow) && !copies.has_begun(&at(3, 0).flow));
    // What it begins with is decided once.
    assert!(!copies.note(vec![at(3, 0)]));
    assert_eq!(copies.begin().1.len(), 0);
    assert!(copies.take(copy(3, 0, 1)).is_none());
    assert!(copies.take(copy(1, 400, 1)).is_some());
}

#[test]
fn copies_take_little_memory_whatever_comes() {
    let mut copies = copies();
    for number in 0..3_000_u16 {
        for start in 0..8 {
            copies.take(copy(number, start * SIZE, 1));
        }
    }
    for start in 0..20_000 {
        copies.take(copy(7, 1_000 + start * SIZE, 1));
    }
    let kept = copies.kept.values().flat_map(|copied| &copied.packets);
    let capacities = kept.map(Packet::capacity);
    assert_eq!(copies.bytes, capacities.sum::<usize>());
    assert!(copies.bytes <= SHARED / 32 && copies.kept.len() <= FLOWS_MOST);
    // What was left out is no gap that nobody sees.
    assert!(!copies.note(vec![at(7, 1_000)]));
    assert!(copies.note(vec![at(7, 1_000 + 20_000 * SIZE)]));
    let mut copying = Copying::new(Instant::ZERO, None, 1);
    let sent = (0..3_000).filter_map(|number| copying.copy(&packet(number, 0, 1, ACK)));
    assert_eq!(sent.count(), FLOWS_MOST);
}

#[test]
fn a_gathering_ends_with_what_it_waits_for() {
    let (flow, start) = (at(1, 0).flow, Instant::from_millis(1_000));
    let begun_before = |ends| Gathering::new(start, ends, BTreeMap::from([(flow, reached(5))]));
    let begun = || begun_before(None);
    let gives_up = |after: u64, silent: u64, progress: &[Progress]| {
        let now = start + Duration::from_millis(after);
        begun().gives_up(now, Some(now - Duration::from_millis(silent)), progress)
    };
    let some = [at(1, 6)];
    assert!(!gives_up(25, 10, &[]) && !gives_up(400, 10, &some));
    assert!(gives_up(25, 60, &some), "the former gateway is silent");
    assert!(gives_up(125, 10, &[]), "nothing comes of the connections");
    assert!(gives_up(525, 10, &some), "the next gateway has not got all");
    let mut hasty = begun_before(Some(start + Duration::from_millis(60)));
    let [soon, last] = [25, 30].map(|after| start + Duration::from_millis(after));
    assert!(hasty.reports(start) && hasty.reports(soon));
    assert!(!hasty.gives_up(soon, Some(soon), &some));
    assert_eq!(hasty.due(), Some(last));
    assert!(hasty.reports(last) && hasty.gives_up(last, Some(last), &some));
    let mut gathering = begun();
    assert!(gathering.reports(start) && !gathering.reports(start));
    assert_eq!(gathering.due(), Some(start + REPORT));
    let come = [(flow, reached(5)), (at(2, 0).flow, reached(9))];
    assert_eq!(gathering.progress(come.into_iter()), [at(2, 9)]);
    assert!(gathering.completes() && !gathering.completes());
    assert!(gathering.is_complete() && gathering.due().is_none());
}

#[test]
fn only_plain_acknowledgements_go_ahead() {
    let flow = at(1, 0).flow;
    let goes = |segments, flags| {
        let packet = packet(1, 0, segments, flags);
        acknowledges(&packet, |of| *of == flow.reversed())
    };
    assert!(goes(0, ACK));
    assert!(!goes(1, ACK) && !goes(0, ACK | FIN) && !goes(0, ACK | 0x04));
    let other = packet(2, 0, 0, ACK);
    assert!(!acknowledges(&other, |of| *of == flow.reversed()));
}
