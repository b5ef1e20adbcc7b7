//! BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00) with additions of Linux: an allowance for aggregated
//! acknowledgements, detection of policers, and packet conservation in recoveries.

use std::cmp::Ordering;

use machine::RandomStream;
use units::{Duration, Instant, SeqNumber};

use super::filter::{Aggregation, WindowedMax, bytes_in, rate_of};
use super::policed::{PolicerDetector, Totals};
use super::{Phase, Sample};
use crate::config::Congestion;

/// A gain of one; gains are in 256ths.
const ONE: u64 = 256;
/// 2 / ln 2.
const HIGH: u64 = ONE * 2_885 / 1_000 + 1;
const DRAIN: u64 = ONE * 1_000 / 2_885;
const WINDOW_GAIN: u64 = 2 * ONE;
const CYCLE: [u64; 8] = [ONE * 5 / 4, ONE * 3 / 4, ONE, ONE, ONE, ONE, ONE, ONE];
/// Window of the bandwidth filter, in rounds.
const ROUNDS: u64 = 10;
/// Time for which the smallest round trip is valid, and length of a probe for it.
const BELIEVED: Duration = Duration::from_secs(10);
const PROBED: Duration = Duration::from_millis(200);
/// Smallest window, in segments.
const LEAST: u64 = 4;
/// Number of rounds without a quarter more bandwidth after which the pipe counts as full.
const FULL_ROUNDS: u32 = 3;
const WINDOW_MAX: u64 = 1 << 30;

/// State of the algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    /// Index into [`CYCLE`], and start of that phase.
    Bandwidth(usize, Instant),
    /// Probe of the round trip with a minimal window: its end, once the flight is small enough, and true if a round has
    /// passed in it.
    RoundTrip(Option<Instant>, bool),
}

/// Round trips, counted by delivered bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Rounds {
    count: u64,
    /// Delivered bytes at which the current round ends.
    end: u64,
    starts: bool,
}

/// Detection of a full pipe in start-up.
#[derive(Debug, Clone, Copy, Default)]
struct Pipe {
    rate: u64,
    rounds: u32,
    full: bool,
}

/// State of transmission.
#[derive(Debug, Clone, Copy)]
struct Sending {
    segment: u64,
    window: u64,
    /// Window before a recovery, or before the round trip was probed.
    saved: u64,
    /// Pacing rate, in bytes per second.
    pace: u64,
    /// True if a pause has just ended.
    restarts: bool,
}

/// State of BBR.
#[derive(Debug, Clone)]
pub(crate) struct Bbr {
    initial: u64,
    mode: Mode,
    rounds: Rounds,
    bandwidth: WindowedMax,
    pipe: Pipe,
    /// Smallest round-trip time, and time of its measurement.
    least: Option<(Duration, Instant)>,
    aggregation: Aggregation,
    policed: PolicerDetector,
    /// Bytes lost so far.
    lost: u64,
    sending: Sending,
    /// Phase of recovery before, and true during packet conservation.
    repair: (Phase, bool),
    chance: RandomStream,
}

impl Bbr {
    pub(super) fn new(settings: &Congestion, first: SeqNumber) -> Self {
        Self {
            initial: settings.initial_window.into(),
            mode: Mode::Startup,
            rounds: Rounds::default(),
            bandwidth: WindowedMax::default(),
            pipe: Pipe::default(),
            least: None,
            aggregation: Aggregation::new(),
            policed: PolicerDetector::new(),
            lost: 0,
            sending: Sending {
                segment: 1,
                window: settings.initial_window.into(),
                saved: 0,
                pace: u64::MAX,
                restarts: false,
            },
            repair: (Phase::Open, false),
            chance: RandomStream::named(first.0.into(), "bbr"),
        }
    }

    pub(super) fn agreed(&mut self, segment: u64) {
        self.sending.segment = segment;
        self.sending.window = segment * self.initial;
        // Before there is a sample: the first window in one millisecond.
        let rate = rate_of(self.sending.window, Duration::from_millis(1));
        self.sending.pace = rate * HIGH / ONE;
    }

    pub(super) fn window(&self) -> u64 {
        self.sending.window
    }

    pub(super) fn spacing(&self, size: u64) -> Duration {
        let nanos = u128::from(size) * 1_000_000_000 / u128::from(self.sending.pace.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    pub(super) fn probes_round_trip(&self) -> bool {
        matches!(self.mode, Mode::RoundTrip(..))
    }

    pub(super) fn on_sent(&mut self, now: Instant, in_flight: u64, app_limited: bool) {
        if in_flight > 0 || !app_limited {
            return;
        }
        self.sending.restarts = true;
        self.aggregation.begin(now);
        match self.mode {
            Mode::Bandwidth(..) => self.set_pace(ONE),
            Mode::RoundTrip(..) => self.end_probe(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// Saves the window, to restore it after a recovery or a probe of the round trip.
    pub(super) fn save_window(&mut self) {
        let repairs = self.repair.0 != Phase::Open;
        self.sending.saved = if repairs || self.probes_round_trip() {
            self.sending.saved.max(self.sending.window)
        } else {
            self.sending.window
        };
    }

    pub(super) fn on_timeout(&mut self, first: bool) {
        if first {
            self.save_window();
        }
        self.repair = (Phase::Timeout(0), false);
        self.pipe.rate = 0;
        self.rounds.starts = true;
        self.sending.window = self.sending.segment;
    }

    pub(super) fn on_false_alarm(&mut self) {
        self.pipe.rate = 0;
        self.pipe.rounds = 0;
        self.policed.reset();
    }

    pub(super) fn on_acknowledgment(&mut self, sample: &Sample) {
        self.lost += sample.lost;
        self.update_bandwidth(sample);
        self.update_cycle(sample);
        self.update_pipe(sample);
        self.update_drain(sample);
        self.update_round_trip(sample);
        self.first_pace(sample);
        self.set_pace(self.pace_gain());
        self.set_window(sample);
    }

    /// Returns the rate in use, in bytes per second.
    fn rate(&self) -> u64 {
        self.policed.rate().unwrap_or(self.bandwidth.get())
    }

    /// Returns bandwidth times smallest round trip times a gain, in bytes.
    fn product(&self, rate: u64, gain: u64) -> u64 {
        match self.least {
            None => self.initial * self.sending.segment,
            Some((least, _)) => bytes_in(rate, least).saturating_mul(gain).div_ceil(ONE),
        }
    }

    /// Returns `bytes` plus an allowance for hosts that send and receive in batches.
    fn with_batches(&self, bytes: u64) -> u64 {
        let segment = self.sending.segment;
        let pair = if self.sending.pace < 150_000 { 1 } else { 2 };
        let goal = ((self.sending.pace >> 10).min(65_000) / segment).max(pair);
        let probes = matches!(self.mode, Mode::Bandwidth(0, _));
        bytes + (3 * goal + if probes { 2 } else { 0 }) * segment
    }

    /// Returns the target of bytes in flight at a gain.
    fn inflight(&self, gain: u64) -> u64 {
        self.with_batches(self.product(self.bandwidth.get(), gain))
    }

    fn update_bandwidth(&mut self, sample: &Sample) {
        self.rounds.starts = false;
        let Some(delivery) = sample.delivery else {
            return;
        };
        let Some((bytes, span)) = delivery.since else {
            return;
        };
        if delivery.before >= self.rounds.end {
            self.rounds.end = sample.total;
            self.rounds.count += 1;
            self.rounds.starts = true;
            self.repair.1 = false;
        }
        let totals = Totals {
            now: sample.now,
            arrived: sample.total,
            lost: self.lost,
        };
        let counts = self.policed.rate().is_none() || matches!(self.mode, Mode::Bandwidth(..));
        let starts = self.rounds.starts && counts;
        if self
            .policed
            .update(totals, starts, sample.lost > 0, delivery.app_limited)
        {
            self.begin_cycle(sample.now);
        }
        let rate = rate_of(bytes, span);
        if !delivery.app_limited || rate >= self.bandwidth.get() {
            self.bandwidth.update(ROUNDS, self.rounds.count, rate);
        }
        let (rate, window) = (self.rate(), self.sending.window);
        self.aggregation
            .update(sample.now, sample.arrived, rate, window, self.rounds.starts);
    }

    fn begin_cycle(&mut self, now: Instant) {
        // Any phase except the draining one, so that several senders do not probe together.
        let place = 7 - self.chance.below(7) as usize;
        self.mode = Mode::Bandwidth((place + 1) % CYCLE.len(), now);
    }

    fn update_cycle(&mut self, sample: &Sample) {
        let Mode::Bandwidth(place, since) = self.mode else {
            return;
        };
        let least = self.least.map_or(Duration::ZERO, |(least, _)| least);
        let full = sample.now.since(since) > least;
        let gain = self.pace_gain();
        let over = match gain.cmp(&ONE) {
            Ordering::Greater => {
                let reached = sample.in_flight_before >= self.inflight(gain);
                full && (sample.lost > 0 || reached)
            }
            Ordering::Less => full || sample.in_flight_before <= self.inflight(ONE),
            Ordering::Equal => full,
        };
        if over {
            self.mode = Mode::Bandwidth((place + 1) % CYCLE.len(), sample.now);
        }
    }

    fn update_pipe(&mut self, sample: &Sample) {
        let app_limited = sample.delivery.is_some_and(|d| d.app_limited);
        if self.pipe.full || !self.rounds.starts || app_limited {
            return;
        }
        let rate = self.bandwidth.get();
        if rate >= self.pipe.rate + self.pipe.rate / 4 {
            self.pipe.rate = rate;
            self.pipe.rounds = 0;
            return;
        }
        self.pipe.rounds += 1;
        self.pipe.full = self.pipe.rounds >= FULL_ROUNDS;
    }

    fn update_drain(&mut self, sample: &Sample) {
        if self.mode == Mode::Startup && self.pipe.full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && sample.in_flight <= self.inflight(ONE) {
            self.begin_cycle(sample.now);
        }
    }

    fn update_round_trip(&mut self, sample: &Sample) {
        let now = sample.now;
        let expired = |(_, at): (Duration, Instant)| now > at + BELIEVED;
        let stale = self.least.is_some_and(expired);
        if let Some(round_trip) = sample.round_trip {
            let news = self.least.is_none_or(|(least, _)| round_trip < least);
            if news || stale {
                self.least = Some((round_trip, now));
            }
        }
        if stale && !self.sending.restarts && !self.probes_round_trip() {
            self.save_window();
            self.mode = Mode::RoundTrip(None, false);
        }
        match self.mode {
            Mode::RoundTrip(None, _) if sample.in_flight <= LEAST * self.sending.segment => {
                self.mode = Mode::RoundTrip(Some(now + PROBED), false);
                self.rounds.end = sample.total;
            }
            Mode::RoundTrip(Some(until), passed) => {
                self.mode = Mode::RoundTrip(Some(until), passed || self.rounds.starts);
                if passed || self.rounds.starts {
                    self.end_probe(now);
                }
            }
            Mode::RoundTrip(None, _) | Mode::Startup | Mode::Drain | Mode::Bandwidth(..) => {}
        }
        if sample.arrived > 0 {
            self.sending.restarts = false;
        }
    }

    /// Ends the probe of the round trip if it has lasted long enough.
    fn end_probe(&mut self, now: Instant) {
        let Mode::RoundTrip(Some(until), _) = self.mode else {
            return;
        };
        if now <= until {
            return;
        }
        if let Some((_, at)) = &mut self.least {
            *at = now;
        }
        self.sending.window = self.sending.window.max(self.sending.saved);
        if self.pipe.full {
            self.begin_cycle(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn pace_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup => HIGH,
            Mode::Drain => DRAIN,
            Mode::Bandwidth(..) if self.policed.rate().is_some() => ONE,
            Mode::Bandwidth(place, _) => CYCLE[place],
            Mode::RoundTrip(..) => ONE,
        }
    }

    fn window_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH,
            Mode::Bandwidth(..) => WINDOW_GAIN,
            Mode::RoundTrip(..) => ONE,
        }
    }

    /// Sets the pace at the first round-trip sample: the first window in one round trip.
    fn first_pace(&mut self, sample: &Sample) {
        if let (0, Some(round_trip)) = (self.bandwidth.get(), sample.round_trip) {
            let first = self.initial * self.sending.segment;
            self.sending.pace = rate_of(first, round_trip) * HIGH / ONE;
        }
    }

    /// Sets the pace to one percent below the rate, so that no queue builds up.
    fn set_pace(&mut self, gain: u64) {
        let rate = u128::from(self.rate()) * u128::from(gain) * 99 / (100 * u128::from(ONE));
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        if rate > 0 && (self.pipe.full || rate > self.sending.pace) {
            self.sending.pace = rate;
        }
    }

    fn set_window(&mut self, sample: &Sample) {
        let segment = self.sending.segment;
        if sample.arrived > 0 && !self.set_window_of_repairs(sample) {
            let mut target = self.product(self.rate(), self.window_gain());
            if self.pipe.full {
                target += self.aggregation.allowance(self.rate());
            }
            let target = self.with_batches(target);
            let window = self.sending.window;
            let window = if self.pipe.full {
                (window + sample.arrived).min(target)
            } else if window < target || sample.total < self.initial * segment {
                window + sample.arrived
            } else {
                window
            };
            self.sending.window = window.max(LEAST * segment);
        }
        self.sending.window = self.sending.window.min(WINDOW_MAX);
        if self.probes_round_trip() {
            self.sending.window = self.sending.window.min(LEAST * segment);
        }
    }

    /// Sets the window in a recovery: in the first round it follows packet conservation; after the recovery it is
    /// restored. Returns true if the window is final.
    fn set_window_of_repairs(&mut self, sample: &Sample) -> bool {
        let sending = &mut self.sending;
        let conserved = sample.in_flight + sample.arrived;
        if sample.lost > 0 {
            sending.window = sending.window.saturating_sub(sample.lost);
            sending.window = sending.window.max(sending.segment);
        }
        let before = std::mem::replace(&mut self.repair.0, sample.phase);
        let recovers = |phase| matches!(phase, Phase::Recovery(_));
        if recovers(sample.phase) && !recovers(before) {
            self.repair.1 = true;
            self.rounds.end = sample.total;
            sending.window = conserved;
        } else if before != Phase::Open && sample.phase == Phase::Open {
            self.repair.1 = false;
            sending.window = sending.window.max(sending.saved);
        }
        if self.repair.1 {
            sending.window = sending.window.max(conserved);
        }
        self.repair.1
    }
}
