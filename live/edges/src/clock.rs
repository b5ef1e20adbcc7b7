//! The clocks. Only `live/runtime` (and tests) may read them; everything else takes time as an argument.

use rustix::time::{ClockId, Timespec, clock_gettime};
use units::{Duration, Instant};

/// Returns the time in nanoseconds since the machine started, the time in suspend included: keys grow old in suspend too.
///
/// It is `CLOCK_BOOTTIME`. A [`Waiter::wait`](crate::wait::Waiter::wait) does not count suspend: after it, a wait goes
/// on for its rest, unless something arrives.
pub fn monotonic() -> Instant {
    Instant::from_nanos(nanos(clock_gettime(ClockId::Boottime)))
}

/// Returns the wall clock: the time since 1970-01-01 UTC. It may jump, so use it only for reports and for the ages of
/// kernel time stamps.
pub fn wall() -> Duration {
    Duration::from_nanos(nanos(clock_gettime(ClockId::Realtime)))
}

/// Returns the difference of the wall clock to the monotonic one, if both could be read without a pause between them: a
/// preempted thread would take the pause for a difference.
pub fn wall_ahead() -> Option<Duration> {
    const PAUSE_MAX: Duration = Duration::from_micros(10);
    (0..3).find_map(|_| {
        let before = monotonic();
        let wall = wall();
        (monotonic().since(before) <= PAUSE_MAX).then(|| wall.saturating_sub(before.since_origin()))
    })
}

fn nanos(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}
