//! The memory that an end says it holds is what it has taken from the allocator.

use units::{Duration, SeqNumber};
use wire::hop::RecordWriter;

use super::script::{Script, packet, usual};
use super::superseded::{acknowledgment, packet as segment_packet, wait};

/// Bytes that an allocator takes for each allocation, beside those requested.
const EACH: u64 = 16;
/// Bytes that a test itself may hold.
const SLACK: u64 = 8 << 10;

/// Returns an end as `fill` leaves it, and the bytes that it took from the allocator.
fn allocated(fill: impl FnOnce(&mut Script)) -> (Script, u64) {
    let mut end = None;
    let taken = allocation_counter::measure(|| {
        let mut script = Script::new(usual());
        fill(&mut script);
        script.packets = Vec::new();
        end = Some(script);
    });
    let bytes = taken.bytes_current.cast_unsigned() + taken.count_current.cast_unsigned() * EACH;
    (end.expect("an end"), bytes)
}

/// Checks that the end counts no less than it took, and at most twice that. A thread's pool keeps buffers, so this is
/// for one end in each test.
fn check(fill: impl FnOnce(&mut Script)) {
    let (end, taken) = allocated(fill);
    let counted = end.arq.memory().get();
    assert!(counted + SLACK >= taken, "counts {counted} of {taken}");
    assert!(counted <= taken * 2 + SLACK, "counts {counted} for {taken}");
}

#[test]
fn held_packets_that_wait_count() {
    check(|end| (0..3_000).for_each(|flow| end.held(flow % 7, 300)));
}

#[test]
fn brief_packets_that_wait_count() {
    check(|end| (0..3_000).for_each(|flow| end.brief(flow % 7, 300)));
}

#[test]
fn brief_packets_in_flight_count() {
    let fill = |end: &mut Script| {
        for flow in 0..3_000 {
            end.brief(flow % 7, 300);
            drop(end.send(1));
        }
    };
    check(fill);
}

#[test]
fn held_packets_in_flight_count() {
    let fill = |end: &mut Script| {
        for flow in 0..3_000 {
            end.held(flow % 7, 1_300);
            drop(end.send(1));
        }
    };
    check(fill);
}

#[test]
fn received_parts_count() {
    let fill = |end: &mut Script| {
        for part in 0..1_000 {
            end.hear(|frame| frame.stream(1, 10 + part * 2, 1, false, |out| out.fill(7)));
        }
    };
    check(fill);
}

#[test]
fn fragments_of_brief_packets_count() {
    let head = RecordWriter::default().write(&packet(1, 0, 9_000));
    let fill = |end: &mut Script| {
        for number in 0..60 {
            end.hear(|frame| {
                frame.brief((number, 0), (1_000, false, true), |out| {
                    out.fill(7);
                    let head = head.as_bytes();
                    out[..head.len()].copy_from_slice(head);
                });
            });
        }
    };
    check(fill);
}

/// An end in which segments wait, each `apart` bytes after the one before.
fn segments(end: &mut Script, apart: u32) {
    for number in 0..4_000 {
        let mut segment = acknowledgment(9);
        segment.sequence = SeqNumber(1) + number * apart;
        segment.payload = 10;
        wait(end, segment_packet(&segment));
        end.wait(Duration::from_micros(10));
    }
}

#[test]
fn notes_of_separate_segments_count() {
    let (joined, taken) = allocated(|end| segments(end, 10));
    let (separate, taken_more) = allocated(|end| segments(end, 11));
    let counted = separate.arq.memory().get() - joined.arq.memory().get();
    assert!(
        counted >= taken_more - taken,
        "{counted} of {}",
        taken_more - taken
    );
    assert!(counted > 4_000 * 16);
}
