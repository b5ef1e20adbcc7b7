//! Destinations that join and leave a shared air.

use air::SharedAir;
use scheduler::Config;
use units::{BitRate, Bytes, Duration, Instant};

const RATE: BitRate = BitRate::from_megabits(8);

/// Returns the destinations of the next turns, each of which is used.
fn turns(air: &mut SharedAir, now: &mut Instant, count: usize) -> Vec<usize> {
    let mut turns = Vec::new();
    while turns.len() < count {
        *now += Duration::from_millis(10);
        let Some(turn) = air.turn(*now, RATE) else {
            break;
        };
        air.spent(*now, turn.destination, Bytes::new(1_000), RATE);
        air.waits(*now, turn.destination, Bytes::new(5_000), true);
        turns.push(turn.destination);
    }
    turns
}

#[test]
fn a_destination_that_left_gets_no_turn_and_one_in_its_place_has_its_own_number() {
    let mut air = SharedAir::new(&Config::default());
    let mut now = Instant::from_millis(1);
    for destination in [4, 9] {
        assert!(air.join(now, destination, 1));
        air.waits(now, destination, Bytes::new(5_000), true);
    }
    let mut both = turns(&mut air, &mut now, 4);
    both.sort_unstable();
    assert_eq!(both, [4, 4, 9, 9]);
    air.leave(now, 4);
    air.leave(now, 4);
    assert_eq!(turns(&mut air, &mut now, 3), [9, 9, 9]);
    assert!(air.status(now, 4).is_none());
    assert!(air.join(now, 11, 1));
    let status = air.status(now, 11).expect("it joined");
    assert_eq!(status.airtime_share.to_string(), "0 %");
    // Nothing reaches the one that left, nor the new one by its number.
    air.waits(now, 4, Bytes::new(5_000), true);
    assert_eq!(turns(&mut air, &mut now, 2), [9, 9]);
    air.waits(now, 11, Bytes::new(5_000), true);
    let mut both = turns(&mut air, &mut now, 4);
    both.sort_unstable();
    assert_eq!(both, [9, 9, 11, 11]);
}

/// The scheduler may have chosen it already when it leaves; others use the air then.
#[test]
fn the_turn_of_a_destination_that_leaves_goes_to_the_next() {
    let mut air = SharedAir::new(&Config::default());
    let mut now = Instant::from_millis(10);
    assert!(air.join(now, 0, 1) && air.join(now, 1, 1));
    assert!(air.turn(now, RATE).is_none(), "nobody wants one");
    // An acknowledgement uses the air meanwhile.
    air.spent(now, 1, Bytes::new(50_000), RATE);
    air.waits(now, 0, Bytes::new(5_000), true);
    assert!(air.turn(now, RATE).is_none(), "the air is not free");
    air.leave(now, 0);
    air.waits(now, 1, Bytes::new(5_000), true);
    now += Duration::from_millis(100);
    assert_eq!(turns(&mut air, &mut now, 2), [1, 1]);
}
