//! One-way delays, measured by two clocks that do not agree.

use units::{Duration, Instant};

/// Least memory of a smallest or largest value, as a time and in round trips; it is remembered at most twice as long.
/// Tests of the queue come sooner.
const BASE_WINDOW: Duration = Duration::from_secs(10);
const BASE_ROUNDS: u64 = 25;
const WAIT_WINDOW: Duration = Duration::from_millis(2_500);

/// A recent extreme value: that of the current window and of the previous one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extreme {
    window: Duration,
    /// 1 for the largest value, -1 for the smallest.
    sign: i64,
    current: Option<i64>,
    before: Option<i64>,
    since: Instant,
}

impl Extreme {
    /// Creates a memory of the smallest value, for `window` or up to twice as long.
    pub(crate) fn smallest(window: Duration) -> Self {
        Self {
            window,
            sign: -1,
            current: None,
            before: None,
            since: Instant::ZERO,
        }
    }

    /// Creates a memory of the largest value, for `window` or up to twice as long.
    pub(crate) fn largest(window: Duration) -> Self {
        Self {
            sign: 1,
            ..Self::smallest(window)
        }
    }

    /// Records a value; returns the extreme one.
    pub(crate) fn note(&mut self, now: Instant, value: i64) -> i64 {
        if now.since(self.since) > self.window {
            self.before = self.current.take();
            self.since = now;
        }
        let value = value * self.sign;
        self.current = Some(self.current.map_or(value, |most| most.max(value)));
        self.get().unwrap_or(value * self.sign)
    }

    /// Returns the extreme value, if there is any.
    pub(crate) fn get(&self) -> Option<i64> {
        self.current.max(self.before).map(|most| most * self.sign)
    }

    /// Sets the memory from now on.
    pub(crate) fn set_window(&mut self, window: Duration) {
        self.window = window;
    }

    /// Forgets all values.
    pub(crate) fn clear(&mut self) {
        (self.current, self.before) = (None, None);
    }
}

/// Delays measured by an arrival, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Arrival time of the transmission, by the peer's clock.
    pub(crate) at: i64,
    /// Wait in the hop: the delay beyond the smallest recent one.
    pub(crate) wait: i64,
    /// The largest recent wait.
    pub(crate) deepest: i64,
}

/// Recent delays.
#[derive(Debug)]
pub(crate) struct Delays {
    last_at: Option<i64>,
    base: Extreme,
    /// Growth of the smallest delay since it was measured, as far as it is known: a longer path, or a medium that
    /// delays every sender.
    offset: i64,
    deepest: Extreme,
    /// Smoothed round trip without the wait, in microseconds. The delay of the way back counts, because no frame leaves
    /// before the acknowledgement arrives.
    unloaded: Option<i64>,
    /// Start of the present round, and the least of its round trips without the wait.
    round: Option<(Instant, i64)>,
    /// The smallest round trip.
    shortest: Extreme,
    /// Smoothed time between acknowledgements, in microseconds.
    interval: i64,
    /// Smoothed difference of consecutive waits, in microseconds.
    jitter: i64,
    former_wait: i64,
}

/// Longest time between acknowledgements on a busy hop, in microseconds.
const INTERVAL_MAX: i64 = 25_000;
/// Largest difference of two waits that is not an outage, in microseconds.
const JITTER_MAX: i64 = 50_000;
/// Largest addition of the way back to twice the smallest round trip, in microseconds. If both directions share a
/// medium, data that wait on the way back wait for this direction, and would wait longer if the window made room for
/// it.
const WAY_BACK: i64 = 25_000;
/// Least duration of a round, in microseconds.
const ROUND_LEAST: i64 = 10_000;
/// Divisor of the moving average of round trips.
const ROUNDS: i64 = 4;
/// Divisor of the other moving averages of times.
const SMOOTHING: i64 = 16;

impl Default for Delays {
    fn default() -> Self {
        Self {
            last_at: None,
            base: Extreme::smallest(BASE_WINDOW),
            offset: 0,
            deepest: Extreme::largest(WAIT_WINDOW),
            unloaded: None,
            round: None,
            shortest: Extreme::smallest(BASE_WINDOW),
            interval: 0,
            jitter: 0,
            former_wait: 0,
        }
    }
}

impl Delays {
    /// Records a transmission: time of sending, arrival (low 32 bits of the peer's microseconds), and round trip
    /// without the delay of the acknowledgement at the receiver.
    pub(crate) fn note(&mut self, now: Instant, sample: &arq::Sample) -> Heard {
        let at = match self.last_at {
            None => i64::from(sample.arrival),
            Some(last) => last + i64::from(sample.arrival.wrapping_sub(last as u32).cast_signed()),
        };
        let apart = at - self.last_at.replace(at).unwrap_or(at);
        if (0..=INTERVAL_MAX).contains(&apart) {
            self.interval += (apart - self.interval) / SMOOTHING;
        }
        let delay = at - sample.sent_at.since_origin().as_micros() as i64;
        let shortest = self.shortest().unwrap_or_default();
        self.base
            .set_window(BASE_WINDOW.max(shortest * BASE_ROUNDS));
        let base = self.base.note(now, delay);
        self.offset = self.offset.min(delay - base);
        let wait = delay - base - self.offset;
        let round_trip = sample.round_trip.as_micros() as i64;
        let differs = wait.abs_diff(std::mem::replace(&mut self.former_wait, wait)) as i64;
        self.jitter += (differs.min(JITTER_MAX) - self.jitter) / SMOOTHING;
        self.shortest.note(now, round_trip);
        self.note_unloaded(now, (round_trip - wait).max(0));
        Heard {
            at,
            wait,
            deepest: self.deepest.note(now, wait),
        }
    }

    /// Records a round trip without the wait. Of each round only the acknowledgement with the least delay on the way
    /// back counts: those that were held there by an outage do not show how much fits on the path.
    fn note_unloaded(&mut self, now: Instant, unloaded: i64) {
        let shortest = self.shortest.get().unwrap_or(unloaded);
        let round = Duration::from_micros(shortest.max(ROUND_LEAST) as u64);
        let (since, least) = self.round.get_or_insert((now, unloaded));
        *least = (*least).min(unloaded);
        let smoothed = self.unloaded.get_or_insert(unloaded);
        if now.since(*since) >= round {
            let most = *smoothed * 2 + ROUND_LEAST;
            *smoothed += ((*least).min(most) - *smoothed) / ROUNDS;
            self.round = None;
        }
    }

    /// Attributes `wait` microseconds of the wait to something other than a queue.
    pub(crate) fn adopt(&mut self, wait: i64) {
        self.offset += wait;
        self.deepest.clear();
    }

    /// Attributes all delay beyond the smallest to a queue again; returns the part that was not.
    pub(crate) fn disown(&mut self) -> i64 {
        self.deepest.clear();
        std::mem::take(&mut self.offset)
    }

    /// Returns the round trip without waits in this direction, once it is known. It includes the mean time from an
    /// arrival to its acknowledgement.
    pub(crate) fn unloaded(&self) -> Option<Duration> {
        let shortest = self.shortest.get().unwrap_or_default();
        let most = shortest * 2 + WAY_BACK;
        let micros = self.unloaded?.min(most) + self.interval / 2;
        Some(Duration::from_micros(micros.max(0) as u64))
    }

    /// Returns the smoothed difference of consecutive waits, in microseconds.
    pub(crate) fn jitter(&self) -> i64 {
        self.jitter
    }

    /// Returns the smallest recent round trip, once it is known.
    pub(crate) fn shortest(&self) -> Option<Duration> {
        let micros = self.shortest.get()?;
        Some(Duration::from_micros(micros.max(0) as u64))
    }
}
