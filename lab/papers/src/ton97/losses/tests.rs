//! Hand-made cases whose answers are known.

use simulator::Loss;
use units::SeqNumber;
use wire::tcp::{AirLoss, SackRanges, SeqRange};

use super::{LossTracker, Standing, Tally};

/// Returns the `index`th segment of 100 bytes, in a stream whose numbers wrap.
fn segment(index: u32) -> SeqRange {
    SeqRange::of(SeqNumber(u32::MAX - 150) + 100 * index, 100)
}

fn sent(count: u32) -> LossTracker {
    let mut fates = LossTracker::default();
    (0..count).for_each(|index| fates.sent(segment(index)));
    fates
}

fn done(mut fates: LossTracker, count: u32) -> Tally {
    fates.acknowledged(segment(count).start);
    fates.tally
}

#[test]
fn a_reduction_answers_the_refused_and_punishes_no_air_loss_beside_them() {
    let mut fates = sent(4);
    fates.lost(segment(1), Loss::QueueFull);
    fates.lost(segment(2), Loss::Air);
    fates.acknowledged(segment(1).start);
    fates.reduced();
    fates.sent(segment(1));
    let expected = Tally {
        refused: 1,
        corrupted: 1,
        unmarked: 1,
        ..Tally::default()
    };
    assert_eq!(done(fates, 4), expected);
}

#[test]
fn a_repair_that_is_refused_belongs_to_the_recovery_that_was_answered() {
    let mut fates = sent(2);
    fates.lost(segment(0), Loss::QueueFull);
    fates.reduced();
    fates.sent(segment(0));
    fates.lost(segment(0), Loss::QueueFull);
    // Sent after the reduction, so its loss demands another one.
    fates.sent(segment(2));
    fates.lost(segment(2), Loss::QueueFull);
    let expected = Tally {
        refused: 3,
        hidden: 1,
        ..Tally::default()
    };
    assert_eq!(done(fates, 3), expected);
}

#[test]
fn an_air_loss_that_alone_is_answered_by_a_reduction_is_punished() {
    let mut fates = sent(3);
    fates.lost(segment(0), Loss::Air);
    fates.lost(segment(2), Loss::Air);
    fates.reduced();
    fates.sent(segment(3));
    fates.lost(segment(3), Loss::Air);
    let expected = Tally {
        corrupted: 3,
        punished: 2,
        unmarked: 3,
        ..Tally::default()
    };
    assert_eq!(done(fates, 4), expected);
}

#[test]
fn marks_hide_what_a_queue_refused() {
    let mut fates = sent(4);
    fates.lost(segment(0), Loss::QueueFull);
    fates.lost(segment(1), Loss::Air);
    fates.lost(segment(2), Loss::QueueFull);
    fates.lost(segment(2), Loss::Air);
    fates.told(segment(0).start, &AirLoss::Next);
    let mut ranges = SackRanges::default();
    ranges.push(SeqRange {
        start: segment(2).start,
        end: segment(3).end,
    });
    fates.told(segment(0).start, &AirLoss::Ranges(ranges));
    let expected = Tally {
        refused: 2,
        hidden: 2,
        hidden_by_mark: 2,
        mistaken: 1,
        corrupted: 2,
        punished: 0,
        unmarked: 1,
    };
    assert_eq!(done(fates, 4), expected);
}

#[test]
fn what_is_not_acknowledged_is_not_judged_and_what_repeats_counts_once() {
    let mut fates = sent(2);
    // A repair may begin within one segment and end within the next.
    let across = SeqRange::of(segment(0).start + 50, 100);
    fates.sent(across);
    fates.lost(across, Loss::QueueFull);
    fates.lost(segment(1), Loss::QueueFull);
    let expected = Tally {
        refused: 1,
        hidden: 1,
        ..Tally::default()
    };
    assert_eq!(done(fates, 1), expected);
}

#[test]
fn a_reduction_shows_in_counters_threshold_or_window() {
    let before = Standing {
        timeouts: 1,
        recoveries: 2,
        threshold: Some(8),
        window: 17,
    };
    let reduced = [
        Standing {
            timeouts: 2,
            ..before
        },
        Standing {
            recoveries: 3,
            ..before
        },
        Standing {
            threshold: Some(7),
            ..before
        },
        Standing {
            window: 8,
            ..before
        },
    ];
    let others = [
        before,
        Standing {
            window: 18,
            ..before
        },
        Standing {
            window: 9,
            ..before
        },
    ];
    assert!(reduced.iter().all(|now| now.reduced_since(&before)));
    assert!(!others.iter().any(|now| now.reduced_since(&before)));
}
