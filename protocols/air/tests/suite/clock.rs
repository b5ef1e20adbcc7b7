//! The clock of the other end, which need not tell the time: the harm that it does is bounded.

use units::{BitRate, Bytes, Duration};

use crate::hop::{Clock, Hop};

const SECOND: Duration = Duration::from_secs(1);
/// The queue of the hop holds somewhat more.
const MOST: Duration = Duration::from_millis(230);

/// What of the rate is used in the last of so many seconds after the clock has become this one, the longest wait,
/// and the share that is lost.
fn used(clock: Clock, seconds: u64) -> (f64, Duration, f64) {
    let rate = BitRate::from_megabits(20);
    let mut hop = Hop::new(false, rate, Duration::from_millis(20), 1);
    hop.run(SECOND * 5, Hop::BUSY);
    hop.clock = clock;
    hop.run(SECOND * (seconds - 1), Hop::BUSY);
    let (before, lost) = (hop.sent, hop.lost);
    hop.worst = Duration::ZERO;
    hop.run(SECOND, Hop::BUSY);
    let sent = Bytes::new(hop.sent.get() - before.get());
    let lost = (hop.lost.get() - lost.get()) as f64 / sent.get() as f64;
    let bound = rate.bytes_in(SECOND).get() as f64;
    (sent.get() as f64 / bound, hop.worst, lost)
}

#[test]
fn a_clock_that_is_set_is_forgiven_within_two_seconds() {
    for millis in [1, 30, 1_000, 3_600_000] {
        for by in [millis * 1_000, -millis * 1_000] {
            let (used, worst, _) = used(Clock::Jumped(by), 3);
            let told = format!("set by {by} us: {used:.2} of the rate, {worst} in the queue");
            assert!(used > 0.75 && worst < MOST, "{told}");
        }
    }
}

/// It may be slow: delays that differ by more than the round trip look like an outage after each frame.
#[test]
fn a_clock_that_is_wrong_floods_nobody() {
    for clock in [
        Clock::Stands,
        Clock::Scatters(1_000),
        Clock::Scatters(100_000),
        Clock::Scatters(10_000_000),
        Clock::Scatters(1 << 32),
    ] {
        let (used, worst, lost) = used(clock, 10);
        let told = format!("{clock:?}: {used:.2} used, {worst} in the queue, {lost:.3} lost");
        assert!(used > 0.01 && worst < MOST && lost < 0.01, "{told}");
    }
}
