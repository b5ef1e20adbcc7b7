//! Losses: the stream always arrives, with no more retransmissions than the policy needs.

use tcp::{Input, Policy};

use super::pipe::{CLIENT, Fate, Pipe, SERVER, config};

/// Number of segments of a transfer in these tests.
const SEGMENTS: usize = 40;
const BYTES: u64 = SEGMENTS as u64 * 1_000;

fn transfer(policy: Policy, numbers: &[usize], fate: Fate) -> Pipe {
    let mut pipe = Pipe::connected(&config(policy));
    pipe.wire.decide_on(fate, CLIENT, numbers);
    pipe.write(CLIENT, BYTES);
    pipe.input(CLIENT, Input::Close);
    pipe.drain_client();
    assert_eq!(
        pipe.received(SERVER),
        BYTES,
        "{policy:?} with {numbers:?} lost"
    );
    pipe
}

#[test]
fn every_single_loss_is_repaired_by_one_retransmission() {
    for policy in Policy::ALL {
        for number in 0..SEGMENTS {
            for fate in [Fate::Lost, Fate::Damaged] {
                let pipe = transfer(policy, &[number], fate);
                let counters = pipe.ends[CLIENT].counters();
                let again = counters.sent.retransmitted_segments;
                // An early timeout retransmits data that have already arrived.
                let most = if counters.recovered.timeouts > 0 {
                    8
                } else {
                    1
                };
                assert!(
                    (1..=most).contains(&again),
                    "{policy:?} {number} {fate:?}: {again} segments"
                );
            }
        }
    }
}

#[test]
fn pairs_and_bursts_are_repaired() {
    for policy in Policy::ALL {
        for first in [0, 1, 5, 12, 20, 30] {
            for pattern in [
                &[0, 1][..],
                &[0, 2],
                &[0, 1, 2, 3],
                &[0, 3, 6, 9],
                &[0, 1, 2, 3, 4, 5, 6, 7],
            ] {
                let numbers: Vec<_> = pattern.iter().map(|more| first + more).collect();
                for fate in [Fate::Lost, Fate::Damaged] {
                    transfer(policy, &numbers, fate);
                }
            }
        }
    }
}

/// The retransmission is lost too.
#[test]
fn lost_repairs_come_again() {
    for policy in Policy::ALL {
        for fate in [Fate::Lost, Fate::Damaged] {
            let mut pipe = Pipe::connected(&config(policy));
            let mut left = 3;
            let mut victim = None;
            pipe.wire.decide = Box::new(move |from, segment, number| {
                if from == CLIENT && number == 15 {
                    victim = Some(segment.sequence);
                }
                let meant = from == CLIENT && Some(segment.sequence) == victim && left > 0;
                left -= i32::from(meant);
                if meant { fate } else { Fate::Arrives }
            });
            pipe.write(CLIENT, BYTES);
            pipe.drain_client();
            assert_eq!(pipe.received(SERVER), BYTES);
        }
    }
}

#[test]
fn lost_acknowledgements_cost_nothing_where_others_follow() {
    for policy in Policy::ALL {
        let mut pipe = Pipe::connected(&config(policy));
        let mut count = 0;
        pipe.wire.decide = Box::new(move |from, _, _| {
            count += usize::from(from == SERVER);
            if from == SERVER && count % 3 == 0 {
                Fate::Lost
            } else {
                Fate::Arrives
            }
        });
        // One more than a multiple of three, so that the last acknowledgement arrives.
        pipe.write(CLIENT, 40_000);
        pipe.drain_client();
        let counters = pipe.ends[CLIENT].counters();
        assert_eq!(counters.sent.retransmitted_segments, 0, "{policy:?}");
    }
}

/// Reordering by less than three segments is no loss, except to SMART.
#[test]
fn a_late_segment_is_taken_for_lost_only_by_who_expects_order() {
    for policy in Policy::ALL {
        let mut pipe = Pipe::connected(&config(policy));
        let late = Fate::Late(units::Duration::from_micros(1_500));
        pipe.wire.decide_on(late, CLIENT, &[20]);
        pipe.write(CLIENT, BYTES);
        pipe.drain_client();
        let again = pipe.ends[CLIENT].counters().sent.retransmitted_segments;
        assert_eq!(again, u64::from(policy == Policy::Smart), "{policy:?}");
    }
}
