//! One-way delays, by two clocks that do not agree.

use units::{Duration, Instant};

/// How long a smallest or largest value is remembered, at least, and for how many round trips; at most twice as long.
/// Tests of the queue come sooner.
const BASE_WINDOW: Duration = Duration::from_secs(10);
const BASE_ROUNDS: u64 = 25;
const WAIT_WINDOW: Duration = Duration::from_millis(2_500);

/// The extreme value of late: that of the current window and of the one before.
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
    /// Remembers the smallest value for `window`, or for up to twice as long.
    pub(crate) fn smallest(window: Duration) -> Self {
        Self {
            window,
            sign: -1,
            current: None,
            before: None,
            since: Instant::ZERO,
        }
    }

    /// Remembers the largest value for `window`, or for up to twice as long.
    pub(crate) fn largest(window: Duration) -> Self {
        Self {
            sign: 1,
            ..Self::smallest(window)
        }
    }

    /// Takes in a value; returns the extreme one.
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

    /// Sets how long values are remembered from now on.
    pub(crate) fn set_window(&mut self, window: Duration) {
        self.window = window;
    }

    /// Forgets all values.
    pub(crate) fn clear(&mut self) {
        (self.current, self.before) = (None, None);
    }
}

/// What an arrival tells of delays, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heard {
    /// When the transmission arrived, by the other end's clock.
    pub(crate) at: i64,
    /// How long it waited in the hop: its delay beyond the smallest of late.
    pub(crate) wait: i64,
    /// The largest wait of late.
    pub(crate) deepest: i64,
}

/// Delays of late.
#[derive(Debug)]
pub(crate) struct Delays {
    last_at: Option<i64>,
    base: Extreme,
    /// What the smallest delay has grown by since it was seen, as far as that is known: a longer path, or a medium
    /// that delays whoever uses it.
    offset: i64,
    deepest: Extreme,
    /// The round trip without the wait, smoothed, in microseconds: what the way back adds counts, since nothing leaves
    /// before it.
    unloaded: Option<i64>,
    /// When the present round began, and the least of its round trips without the wait.
    round: Option<(Instant, i64)>,
    /// The smallest round trip.
    shortest: Extreme,
    /// How far acknowledgements lie apart, smoothed, in microseconds.
    interval: i64,
    /// How much waits differ from one to the next, smoothed, in microseconds.
    jitter: i64,
    former_wait: i64,
}

/// Acknowledgements that lie further apart than this are not those of a busy hop.
const INTERVAL_MAX: i64 = 25_000;
/// A greater difference of two waits is an outage's, in microseconds.
const JITTER_MAX: i64 = 50_000;
/// What the way back may add to twice the smallest round trip, in microseconds: on a medium that both directions share,
/// what waits there waits for us, and would wait longer for a window that made room for it.
const WAY_BACK: i64 = 25_000;
/// A round takes so many microseconds, at least.
const ROUND_LEAST: i64 = 10_000;
/// The smoothed round trip moves one part in so many with each.
const ROUNDS: i64 = 4;
/// A smoothed time moves one part in so many with each of them.
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
    /// Takes in a transmission that left at `sent_at` and arrived at `arrival` (low 32 bits of the other end's
    /// microseconds) after a `round_trip` without the acknowledgement's own wait.
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

    /// Of the acknowledgements of one round trip, the one that the way back has delayed least counts: those that an
    /// outage there has kept say nothing of how much fits on the way.
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

    /// Takes so much of the wait for a delay that is not a queue's.
    pub(crate) fn adopt(&mut self, wait: i64) {
        self.offset += wait;
        self.deepest.clear();
    }

    /// Takes all delay beyond the smallest for a queue's again; returns how much was not.
    pub(crate) fn disown(&mut self) -> i64 {
        self.deepest.clear();
        std::mem::take(&mut self.offset)
    }

    /// Returns the round trip without waits in this direction, once it is known, with the time that an arrival waits
    /// for its acknowledgement in the mean.
    pub(crate) fn unloaded(&self) -> Option<Duration> {
        let shortest = self.shortest.get().unwrap_or_default();
        let most = shortest * 2 + WAY_BACK;
        let micros = self.unloaded?.min(most) + self.interval / 2;
        Some(Duration::from_micros(micros.max(0) as u64))
    }

    /// Returns by how much waits differ from one to the next, in microseconds.
    pub(crate) fn jitter(&self) -> i64 {
        self.jitter
    }

    /// Returns the smallest round trip of late, once it is known.
    pub(crate) fn shortest(&self) -> Option<Duration> {
        let micros = self.shortest.get()?;
        Some(Duration::from_micros(micros.max(0) as u64))
    }
}
