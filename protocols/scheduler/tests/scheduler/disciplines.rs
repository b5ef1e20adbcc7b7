//! Tests of the disciplines.

use scheduler::config::{Discipline, Monitor};
use scheduler::{Destination, Input};
use units::{Bytes, Duration, Instant};

use crate::air::{Air, FRAME, Mobile};

const END: Instant = Instant::from_millis(100_000);

fn perfect(discipline: Discipline, mobiles: Vec<Mobile>) -> Air {
    let mut air = Air::new(discipline, Monitor::Perfect, mobiles);
    air.run(END, true);
    air
}

#[test]
fn fifo_blocks_everybody_behind_a_head_whose_channel_is_bad() {
    let mut mobiles = vec![Mobile::with(1).fading(0, 35), Mobile::with(1)];
    mobiles[1].waiting[0] = Instant::from_millis(1);
    let air = perfect(Discipline::Fifo, mobiles);
    assert_eq!(air.served(), [0, 0, 0, 0, 0, 1]);
}

#[test]
fn fifo_gives_up_a_head_that_fails_too_often() {
    let air = perfect(
        Discipline::Fifo,
        vec![Mobile::with(2).fading(0, 85), Mobile::with(1)],
    );
    assert_eq!(air.mobile(0).given_up, 1);
    assert_eq!(air.mobile(1).delivered.len(), 1);
}

#[test]
fn plain_round_robin_stays_with_a_frame_until_it_has_left() {
    let mobiles = vec![Mobile::with(2).fading(0, 15), Mobile::with(2)];
    let air = perfect(Discipline::RoundRobin, mobiles);
    assert_eq!(air.served(), [0, 0, 0, 1, 0, 1]);
}

#[test]
fn deferring_round_robin_leaves_what_failed_for_the_next_round() {
    let mobiles = vec![Mobile::with(2).fading(0, 15), Mobile::with(2)];
    let air = perfect(Discipline::RoundRobinDeferring, mobiles);
    assert_eq!(air.served(), [0, 1, 0, 1, 0]);
}

#[test]
fn csdp_round_robin_serves_good_channels_first() {
    let mobiles = vec![
        Mobile::with(2).fading(0, 35),
        Mobile::with(5),
        Mobile::with(5),
    ];
    let air = perfect(Discipline::CsdpRoundRobin, mobiles);
    assert_eq!(air.served()[..5], [1, 2, 1, 2, 0]);
    assert!(
        air.mobiles
            .values()
            .all(|mobile| mobile.attempts as usize == mobile.delivered.len())
    );
}

#[test]
fn bad_channels_are_tried_where_nothing_else_waits() {
    let air = perfect(
        Discipline::CsdpRoundRobin,
        vec![Mobile::with(1).fading(0, 15)],
    );
    assert_eq!(air.served(), [0, 0, 0]);
}

#[test]
fn only_the_longest_connected_queue_lets_the_air_rest_instead() {
    let air = perfect(
        Discipline::LongestConnectedQueue,
        vec![Mobile::with(1).fading(0, 15)],
    );
    assert_eq!(air.served(), [0]);
    assert_eq!(air.mobile(0).delivered, [Instant::from_millis(25)]);
}

#[test]
fn weights_multiply_turns() {
    let mobiles = vec![Mobile::with(6), Mobile::with(6)];
    let mut air = Air::new(Discipline::CsdpRoundRobin, Monitor::Perfect, mobiles);
    air.tell(Input::Join {
        destination: Destination(1),
        weight: 3,
    });
    air.run(END, true);
    let first = &air.served()[..9];
    assert_eq!(first.iter().filter(|served| **served == 1).count(), 6);
}

#[test]
fn the_earliest_timestamp_goes_first_among_good_channels() {
    let mut mobiles = vec![
        Mobile::with(1).fading(0, 35),
        Mobile::with(2),
        Mobile::with(2),
    ];
    mobiles[1].waiting = [1, 4].map(Instant::from_millis).into();
    mobiles[2].waiting = [2, 3].map(Instant::from_millis).into();
    let air = perfect(Discipline::CsdpEarliestTimestamp, mobiles);
    assert_eq!(air.served(), [1, 2, 2, 1, 0]);
}

#[test]
fn the_longest_queue_captures_the_air() {
    let air = perfect(
        Discipline::CsdpLongestQueue,
        vec![Mobile::with(2), Mobile::with(5)],
    );
    assert_eq!(air.served()[..3], [1, 1, 1]);
}

/// A host with longer frames gets fewer of them through, and the same airtime.
#[test]
fn airtime_is_shared_and_not_frames() {
    let mut air = Air::new(Discipline::Airtime, Monitor::Perfect, Vec::new());
    let costs = [10, 30].map(Duration::from_millis);
    for number in 0..2 {
        let destination = Destination(number);
        air.tell(Input::Join {
            destination,
            weight: 1,
        });
        air.tell(Input::Queue {
            destination,
            waiting: Some(scheduler::Waiting {
                bytes: Bytes::new(1_000),
                oldest: Instant::ZERO,
            }),
        });
    }
    let mut used = [Duration::ZERO; 2];
    for _ in 0..400 {
        air.tell(Input::AirFree);
        let Some(scheduler::Output::Serve(destination)) =
            machine::Machine::poll_output(&mut air.scheduler)
        else {
            panic!("the air rests while something waits");
        };
        let airtime = costs[usize::from(destination.0)];
        used[usize::from(destination.0)] += airtime;
        air.tell(Input::Sent {
            destination,
            airtime,
        });
    }
    assert!(used[0].abs_diff(used[1]) <= costs[1] * 2, "{used:?}");
}

/// Between hosts that fade at different times, airtime is shared by the time in which channels are good.
#[test]
fn airtime_is_shared_among_good_channels_through_fades() {
    let fading = (0..10).fold(Mobile::with(2_000), |mobile, n| {
        mobile.fading(n * 2_000, n * 2_000 + 1_000)
    });
    let mobiles = vec![fading, Mobile::with(2_000), Mobile::with(2_000)];
    let mut air = Air::new(Discipline::Airtime, Monitor::Perfect, mobiles);
    air.run(Instant::from_millis(20_000), true);
    let share = |number| FRAME * air.mobile(number).delivered.len() as u64;
    let apart = share(1).abs_diff(share(2));
    assert!(apart <= FRAME * 2, "{} {}", share(1), share(2));
    // Half of the time all three share the air, half of the time two.
    let expected = Duration::from_millis(20_000) / 6;
    let off = share(0).abs_diff(expected);
    assert!(off <= FRAME * 10, "{}", share(0));
}
