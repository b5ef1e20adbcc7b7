use tcp::Marks;
use units::SeqNumber;
use wire::tcp::{AirLoss, SackRanges, SeqRange, TcpSegmentOptions};

use super::{Basis, Judge};

/// Returns the `index`th segment of 100 bytes, in a stream whose numbers wrap.
fn segment(index: u32) -> SeqRange {
    SeqRange::of(SeqNumber(u32::MAX - 150) + 100 * index, 100)
}

/// Returns a judge that has received all of `came`.
fn judge(basis: Basis, marks: Marks, came: impl IntoIterator<Item = u32>) -> Judge {
    let mut judge = Judge::new(basis, marks);
    came.into_iter()
        .for_each(|index| judge.came(segment(index)));
    judge
}

/// Returns the marks of an acknowledgement of a segment whose marks were `before`.
fn marked(judge: &mut Judge, asked: u32, before: AirLoss) -> AirLoss {
    let mut options = TcpSegmentOptions {
        air_loss: before,
        ..TcpSegmentOptions::default()
    };
    judge.mark(segment(asked).start, &mut options);
    options.air_loss
}

fn ranges(segments: &[u32]) -> AirLoss {
    let ranges: SackRanges = segments.iter().map(|index| segment(*index)).collect();
    AirLoss::Ranges(ranges)
}

#[test]
fn the_queue_that_was_told_last_judges_when_a_gap_shows() {
    for (told, expected) in [
        (None, AirLoss::None),
        (Some(4), AirLoss::Next),
        (Some(5), AirLoss::None),
    ] {
        let mut judge = judge(Basis::Exchanged(5), Marks::Next, [0]);
        if let Some(packets) = told {
            judge.told(packets);
        }
        judge.came(segment(2));
        assert_eq!(marked(&mut judge, 1, AirLoss::None), expected, "{told:?}");
        // A later report changes nothing for earlier losses.
        judge.told(if expected == AirLoss::Next { 50 } else { 0 });
        assert_eq!(marked(&mut judge, 1, AirLoss::None), expected, "{told:?}");
    }
}

#[test]
fn without_knowledge_every_gap_is_marked_and_only_while_it_is_one() {
    let mut judge = judge(Basis::All, Marks::Next, [0, 2, 4]);
    assert_eq!(marked(&mut judge, 1, AirLoss::None), AirLoss::Next);
    assert_eq!(marked(&mut judge, 2, AirLoss::None), AirLoss::None);
    assert_eq!(marked(&mut judge, 3, AirLoss::None), AirLoss::Next);
    judge.came(segment(3));
    assert_eq!(marked(&mut judge, 3, AirLoss::None), AirLoss::None);
}

#[test]
fn a_lost_start_of_the_stream_is_a_gap_behind_the_syn() {
    let mut judge = Judge::new(Basis::All, Marks::Next);
    judge.came(SeqRange::of(segment(0).start, 0));
    judge.came(segment(1));
    assert_eq!(marked(&mut judge, 0, AirLoss::None), AirLoss::Next);
}

#[test]
fn who_hears_tells_corruption_from_congestion() {
    let mut judge = judge(Basis::Heard, Marks::Next, [0]);
    judge.heard(segment(2));
    judge.came(segment(3));
    assert_eq!(marked(&mut judge, 1, AirLoss::None), AirLoss::None);
    // A segment that had arrived before is not missing.
    judge.heard(segment(0));
    assert_eq!(marked(&mut judge, 0, AirLoss::None), AirLoss::None);
    // The retransmission of a segment that a queue had refused is lost on the air.
    judge.heard(segment(1));
    assert_eq!(marked(&mut judge, 1, AirLoss::None), AirLoss::Next);
    assert_eq!(marked(&mut judge, 2, AirLoss::None), AirLoss::Next);
}

#[test]
fn a_judge_replaces_what_those_behind_it_say_of_its_own_gaps_only() {
    let mut congested = judge(Basis::Exchanged(5), Marks::Next, [0, 2, 3, 4]);
    assert_eq!(marked(&mut congested, 1, AirLoss::Next), AirLoss::None);
    assert_eq!(marked(&mut congested, 3, AirLoss::Next), AirLoss::Next);
    let mut congested = judge(Basis::Exchanged(5), Marks::Ranges, [0, 2, 3, 4]);
    assert_eq!(marked(&mut congested, 1, ranges(&[1])), AirLoss::None);
    // The routers behind counted two losses in a row as one.
    let mut both = SackRanges::default();
    both.push(SeqRange {
        start: segment(1).start,
        end: segment(2).end,
    });
    let rest = marked(&mut congested, 1, AirLoss::Ranges(both));
    assert_eq!(rest, ranges(&[2]));
}

#[test]
fn ranges_name_the_nearest_and_the_farthest_loss_and_leave_room_for_them() {
    let mut judge = judge(Basis::All, Marks::Ranges, [0, 2, 4, 6]);
    assert_eq!(marked(&mut judge, 1, AirLoss::None), ranges(&[1, 5]));
    assert_eq!(marked(&mut judge, 5, AirLoss::None), ranges(&[5]));
    judge.came(segment(8));
    let mut options = TcpSegmentOptions {
        sack: [2, 4, 6].into_iter().map(segment).collect(),
        ..TcpSegmentOptions::default()
    };
    judge.mark(segment(5).start, &mut options);
    assert_eq!(options.sack.len(), 2);
    assert!(options.length() <= 40);
}

#[test]
fn gaps_without_end_are_not_remembered_without_end() {
    let mut judge = judge(Basis::All, Marks::Next, (0..1_000).map(|index| 2 * index));
    assert_eq!(judge.gaps.len(), super::GAPS_MAX);
    assert_eq!(marked(&mut judge, 1_001, AirLoss::None), AirLoss::None);
    assert!(judge.gaps.is_empty());
}
