//! The pacer and the rate, on arrivals as a channel would make them.

use units::{BitRate, Bytes, Duration, Instant};

use crate::hop::{Hop, PacedAir};

const SECOND: Duration = Duration::from_secs(1);

/// Makes tests of these functions, on each kind of air.
macro_rules! on_each_air {
    ($($case:ident)*) => {
        /// An air of its own: a window bounds what is outstanding.
        mod own {
            $(#[test]
            fn $case() {
                super::$case(false);
            })*
        }

        /// An air in turns: its rate is estimated.
        mod in_turns {
            $(#[test]
            fn $case() {
                super::$case(true);
            })*
        }
    };
}

on_each_air! {
    pacing_is_exact_over_time
    a_rest_is_not_made_up_for
    the_estimate_finds_every_rate_at_every_distance
    the_estimate_finds_a_slow_rate_at_every_distance
    small_frames_wait_for_small_frames
    a_halved_rate_is_followed_within_ten_round_trips
    a_doubled_rate_is_followed_within_thirty_round_trips
    losses_do_not_lower_it
    clocks_that_drift_do_not_fool_it
    the_start_does_not_flood_a_slow_hop
    it_outlives_a_rest
    a_trickle_does_not_lower_it
    a_few_late_frames_do_not_end_the_start
    a_little_traffic_leaves_no_rate_that_is_too_low
    a_rest_of_hours_hides_no_slow_hop
}

fn megabits(count: u64) -> BitRate {
    BitRate::from_megabits(count)
}

/// Deviation in thousandths.
fn off(rate: BitRate, right: BitRate) -> u64 {
    let (rate, right) = (rate.bits_per_second(), right.bits_per_second());
    rate.abs_diff(right) * 1_000 / right
}

fn pacing_is_exact_over_time(in_turns: bool) {
    for rate in [BitRate::from_kilobits(64), megabits(7), megabits(1_000)] {
        let mut air = PacedAir::new(in_turns, Some(rate));
        let mut now = Instant::from_millis(5);
        let (start, mut sent) = (now, Bytes::ZERO);
        for round in 0..20_000_u64 {
            now = now.max(air.opens_at());
            let grant = air.grant(now).expect("the air is free at its own time");
            // Frames of all sizes; the last of a grant exceeds it, as the contract allows.
            let frame = Bytes::new(60 + round * 37 % 1_454);
            let mut spent = Bytes::ZERO;
            while spent < grant {
                spent += frame;
            }
            air.spent(now, spent);
            sent += spent;
            // A driver that is late by up to 3 ms makes up for it.
            now += Duration::from_micros(round % 3_000);
        }
        let span = air.opens_at().since(start);
        let achieved = BitRate::of(sent, span).expect("time has passed");
        assert!(off(achieved, rate) <= 1, "{achieved} in place of {rate}");
    }
}

fn a_rest_is_not_made_up_for(in_turns: bool) {
    let mut air = PacedAir::new(in_turns, Some(megabits(10)));
    let now = Instant::from_millis(10_000);
    let mut sent = Bytes::ZERO;
    while let Some(grant) = air.grant(now) {
        air.spent(now, grant);
        sent += grant;
    }
    assert!(
        sent <= Bytes::new(14_000),
        "{sent} at once after 10 s of rest"
    );
}

fn the_estimate_finds_every_rate_at_every_distance(in_turns: bool) {
    for rate in [2, 20, 100, 1_000].map(megabits) {
        finds(in_turns, rate);
    }
}

fn the_estimate_finds_a_slow_rate_at_every_distance(in_turns: bool) {
    finds(in_turns, BitRate::from_kilobits(64));
}

/// A slow way back that carries acknowledgements: each waits for a few of its like, not for full frames.
fn small_frames_wait_for_small_frames(in_turns: bool) {
    let rate = BitRate::from_bits_per_second(19_200);
    let mut hop = Hop::new(in_turns, rate, Duration::from_millis(20), 1);
    hop.frame = Bytes::new(120);
    hop.run(SECOND * 20, Hop::BUSY);
    hop.worst = Duration::ZERO;
    hop.run(SECOND * 20, Hop::BUSY);
    assert!(off(hop.air.rate(), rate) <= 60, "{}", hop.air.rate());
    let bound = rate.time_for(hop.frame) * 6;
    assert!(hop.worst < bound, "{} in the queue", hop.worst);
}

fn finds(in_turns: bool, rate: BitRate) {
    for micros in [100, 5_000, 50_000, 300_000] {
        let delay = Duration::from_micros(micros);
        let mut hop = Hop::new(in_turns, rate, delay, 1);
        hop.run(SECOND * 20, Hop::BUSY);
        let before = hop.sent;
        hop.worst = Duration::ZERO;
        // Tests that keep the smallest delay known come each eight seconds or so.
        hop.run(SECOND * 16, Hop::BUSY);
        let sent = Bytes::new(hop.sent.get() - before.get());
        let used = BitRate::of(sent, SECOND * 16).expect("time has passed");
        assert!(
            off(used, rate) <= 40 + 2_560_000 / rate.bits_per_second(),
            "sent at {used} over {rate}, {delay} each way"
        );
        assert!(
            off(hop.air.rate(), rate) <= 60,
            "{} at {rate}, {delay}",
            hop.air.rate()
        );
        let bound = Duration::from_millis(60).max(rate.time_for(Bytes::new(1_514)) * 8);
        assert!(
            hop.worst < bound,
            "{} in the queue at {rate}, {delay}",
            hop.worst
        );
    }
}

/// How long after a change to `rate` the pace stays within a tenth of it, in milliseconds.
fn settles(in_turns: bool, from: BitRate, rate: BitRate, delay: Duration) -> u64 {
    let mut hop = Hop::new(in_turns, from, delay, 2);
    hop.run(SECOND * 10, Hop::BUSY);
    hop.rate = rate;
    let changed = hop.now;
    let mut last_off = changed;
    for _ in 0..1_000 {
        hop.run(Duration::from_millis(10), Hop::BUSY);
        if off(hop.air.rate(), rate) > 100 {
            last_off = hop.now;
        }
    }
    last_off.since(changed).as_millis()
}

fn a_halved_rate_is_followed_within_ten_round_trips(in_turns: bool) {
    for milliseconds in [5, 50, 150] {
        let delay = Duration::from_millis(milliseconds);
        let took = settles(in_turns, megabits(20), megabits(10), delay);
        let bound = 20 * milliseconds.max(10);
        assert!(took <= bound, "{took} ms with {delay} each way");
    }
}

fn a_doubled_rate_is_followed_within_thirty_round_trips(in_turns: bool) {
    for milliseconds in [5, 50, 150] {
        let delay = Duration::from_millis(milliseconds);
        let took = settles(in_turns, megabits(10), megabits(20), delay);
        let bound = 60 * milliseconds.max(20);
        assert!(took <= bound, "{took} ms with {delay} each way");
    }
}

fn losses_do_not_lower_it(in_turns: bool) {
    let mut hop = Hop::new(in_turns, megabits(20), Duration::from_millis(20), 3);
    hop.loss = "30 %".parse().expect("a probability");
    hop.run(SECOND * 20, Hop::BUSY);
    assert!(
        off(hop.air.rate(), megabits(20)) <= 60,
        "{}",
        hop.air.rate()
    );
}

fn clocks_that_drift_do_not_fool_it(in_turns: bool) {
    for drift in [-100, 100] {
        let mut hop = Hop::new(in_turns, megabits(5), Duration::from_millis(20), 4);
        hop.drift = drift;
        hop.run(SECOND * 10, Hop::BUSY);
        let before = hop.sent;
        hop.worst = Duration::ZERO;
        hop.run(SECOND * 600, Hop::BUSY);
        let sent = Bytes::new(hop.sent.get() - before.get());
        let used = BitRate::of(sent, SECOND * 600).expect("time has passed");
        assert!(
            off(used, megabits(5)) <= 30,
            "sent at {used} with {drift} ppm"
        );
        assert!(
            hop.worst < Duration::from_millis(80),
            "{} with {drift} ppm",
            hop.worst
        );
    }
}

fn the_start_does_not_flood_a_slow_hop(in_turns: bool) {
    let delay = Duration::from_millis(20);
    let mut hop = Hop::new(in_turns, BitRate::from_kilobits(64), delay, 7);
    hop.run(SECOND, Hop::BUSY);
    assert!(
        hop.sent < Bytes::kibi(64),
        "{} in the first second",
        hop.sent
    );
}

fn it_outlives_a_rest(in_turns: bool) {
    let mut hop = Hop::new(in_turns, megabits(20), Duration::from_millis(20), 5);
    hop.run(SECOND * 10, Hop::BUSY);
    let before = hop.air.rate();
    hop.now += SECOND * 300;
    assert_eq!(hop.air.rate(), before);
    hop.run(SECOND, Hop::BUSY);
    assert!(
        off(hop.air.rate(), megabits(20)) <= 60,
        "{}",
        hop.air.rate()
    );
}

fn a_trickle_does_not_lower_it(in_turns: bool) {
    let mut hop = Hop::new(in_turns, megabits(20), Duration::from_millis(20), 6);
    hop.run(SECOND * 10, Hop::BUSY);
    // A frame each 100 ms, then one each 5 ms: 0.1 and 2.4 Mbit/s.
    for spacing in [100, 5] {
        hop.run(SECOND * 60, Duration::from_millis(spacing));
        assert!(
            hop.air.rate() >= megabits(19),
            "{} after {spacing} ms",
            hop.air.rate()
        );
    }
}

/// A host was busy for a while, before anything is known of the rate.
fn a_few_late_frames_do_not_end_the_start(in_turns: bool) {
    for frame in [109, 1_199] {
        for stall in [25, 40, 100] {
            let mut hop = Hop::new(in_turns, megabits(200), Duration::from_millis(5), 8);
            hop.frame = Bytes::new(frame);
            let spacing = Duration::from_millis(10);
            hop.run(Duration::from_millis(205), spacing);
            hop.stall(Duration::from_millis(stall));
            hop.run(Duration::from_millis(200), spacing);
            let rate = hop.air.rate();
            assert!(rate >= megabits(10), "{rate} after {stall} ms");
        }
    }
}

/// A silence begins with the first frame that gets no acknowledgement, and not with a rest before it. Its end is soon
/// noticed, however long it lasts.
#[test]
fn a_silence_after_a_rest_is_probed_to_its_end() {
    for rate in [64, 1_000, 20_000].map(BitRate::from_kilobits) {
        let mut hop = Hop::new(false, rate, Duration::from_millis(20), 5);
        hop.run(SECOND * 10, Hop::BUSY);
        hop.air.set_outstanding(Bytes::ZERO);
        let begun = hop.now + SECOND * 300;
        let (mut now, mut outstanding) = (begun, Bytes::ZERO);
        while now < begun + SECOND * 600 {
            let gap = hop.air.opens_at().since(now);
            let usual = now.since(begun) * 2 + SECOND / 2;
            assert!(gap <= usual.min(SECOND * 5), "{rate}: {gap} at {now:?}");
            now += gap;
            hop.air.set_outstanding(outstanding);
            assert!(hop.air.grant(now).is_some(), "{rate} at {now:?}");
            outstanding += hop.frame;
            hop.air.set_outstanding(outstanding);
            let frame = hop.frame;
            hop.air.spent(now, frame);
        }
    }
}

/// Longer frames take longer on a slow hop, which is no queue; and what comes now and then shows no rate.
fn a_little_traffic_leaves_no_rate_that_is_too_low(in_turns: bool) {
    let rate = BitRate::from_kilobits(64);
    let mut hop = Hop::new(in_turns, rate, Duration::from_millis(300), 6);
    for length in 1..=12 {
        hop.frame = Bytes::new(length * 75);
        hop.run(SECOND, SECOND / 2);
    }
    let pace = hop.air.pace();
    assert!(pace >= rate.scaled(3, 4), "{pace} of {rate}");
}

/// The clock of the other end wraps: after more than 36 minutes, its times seem to lie before the last ones.
fn a_rest_of_hours_hides_no_slow_hop(in_turns: bool) {
    for minutes in [40, 70] {
        let rate = BitRate::from_kilobits(64);
        let mut hop = Hop::new(in_turns, rate, Duration::from_millis(5), 7);
        hop.frame = Bytes::new(100);
        hop.run(SECOND * 3, SECOND / 4);
        hop.run(SECOND * 60 * minutes, SECOND * 60 * minutes);
        hop.frame = Bytes::new(1_514);
        hop.run(SECOND * 20, Hop::BUSY);
        let off = off(hop.air.rate(), rate);
        assert!(off <= 60, "{} after {minutes} min", hop.air.rate());
    }
}

/// It fills its queue, which takes longer to drain than the smallest delay is remembered.
#[test]
fn a_shared_air_that_becomes_very_slow_is_found_out() {
    let mut hop = Hop::new(true, megabits(1), Duration::from_millis(5), 8);
    hop.run(SECOND * 12, Hop::BUSY);
    hop.stall(SECOND * 12);
    hop.rate = BitRate::from_kilobits(20);
    hop.run(SECOND * 120, Hop::BUSY);
    hop.worst = Duration::ZERO;
    hop.run(SECOND * 20, Hop::BUSY);
    let bound = hop.rate.time_for(hop.frame) * 8;
    assert!(hop.worst < bound, "{} in the queue", hop.worst);
}

/// What arrives by a former path says nothing of the present one, nor does what filled the queue there.
#[test]
fn a_former_path_with_a_queue_does_not_fill_the_next_one() {
    for (rate, others) in [(5, 40), (20, 40), (20, 60), (100, 30)] {
        let mut hop = Hop::new(false, megabits(rate), Duration::from_millis(20), 9);
        hop.run(SECOND * 5, Hop::BUSY);
        for _ in 0..others {
            hop.delay[0] += Duration::from_millis(1);
            hop.run(Duration::from_millis(50), Hop::BUSY);
        }
        let waits = (0..100).take_while(|_| {
            hop.run(Duration::from_millis(100), Hop::BUSY);
            !hop.air.is_contended()
        });
        assert!(waits.count() < 100, "{rate}, {others}");
        hop.change_path();
        hop.delay = [Duration::from_millis(20); 2];
        for second in 0..4 {
            hop.worst = Duration::ZERO;
            let before = hop.sent;
            hop.run(SECOND, Hop::BUSY);
            let bound = Duration::from_millis(30);
            assert!(
                hop.worst < bound,
                "{rate}, {others}, {second}: {}",
                hop.worst
            );
            let sent = Bytes::new(hop.sent.get() - before.get());
            let used = BitRate::of(sent, SECOND).expect("time has passed");
            assert!(
                off(used, hop.rate) < 150,
                "{rate}, {others}, {second}: {used}"
            );
            assert!(!hop.air.is_contended());
        }
    }
}
