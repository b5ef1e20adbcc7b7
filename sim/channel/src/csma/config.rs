//! The parameters of the medium access.

use machine::{ConfigError, check_rules};
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration};

/// How stations share the air. What is not given is that of the direct-sequence radio of IEEE 802.11-1997 at 2 Mbit/s
/// (its Tables 49 and 59, sections 7.2 and 15.3): the draft of that standard is what wireless LANs of the papers' time
/// followed. Without it the papers' own protocol follows: retries in the driver, no reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CsmaConfig {
    /// The rate of data.
    pub rate: BitRate,
    /// The rate of acknowledgements and reservations.
    pub basic_rate: BitRate,
    /// What precedes each transmission: preamble and physical header.
    pub preamble: Duration,
    /// Header and checksum of a data frame.
    pub framing: Bytes,
    /// For how long the air must be idle before a station begins (DIFS).
    pub sense: Duration,
    /// Between a frame and its answer (SIFS). It must be shorter than `sense`: that gives answers priority.
    pub gap: Duration,
    /// One step of back-off: within it, stations do not hear each other begin.
    pub slot: Duration,
    /// Back-off is drawn from 0 to so many slots, twice as many after each failure in the card.
    pub window_min: u32,
    /// But never more.
    pub window_max: u32,
    /// How often the card itself tries again before it tells the driver of a failure.
    pub retries: u32,
    /// Frames from this size on are preceded by a reservation (RTS and CTS); none are by default.
    pub reserve_from: Option<Bytes>,
}

/// The size of an acknowledgement, and of an answer to a reservation (IEEE 802.11-1997 §7.2.1).
pub(super) const ACKNOWLEDGEMENT: Bytes = Bytes::new(14);
/// The size of a reservation.
pub(super) const RESERVATION: Bytes = Bytes::new(20);

impl Default for CsmaConfig {
    fn default() -> Self {
        Self {
            rate: BitRate::from_megabits(2),
            basic_rate: BitRate::from_megabits(1),
            preamble: Duration::from_micros(192),
            framing: Bytes::new(34),
            sense: Duration::from_micros(50),
            gap: Duration::from_micros(10),
            slot: Duration::from_micros(20),
            window_min: 31,
            window_max: 1_023,
            retries: 0,
            reserve_from: None,
        }
    }
}

impl CsmaConfig {
    /// Says what is wrong with the configuration, if anything is.
    ///
    /// # Errors
    /// The first value that makes no sense.
    pub fn check(&self) -> Result<(), ConfigError> {
        let moves = |rate: BitRate| rate.bits_per_second() >= 100;
        let rules = [
            (
                moves(self.rate) && moves(self.basic_rate),
                "`rate` and `basic_rate` must be at least 100 bit/s",
            ),
            (
                self.gap < self.sense,
                "`gap` must be shorter than `sense`, or acknowledgements have no priority",
            ),
            (!self.slot.is_zero(), "`slot` must be more than 0 s"),
            (
                (1..=1 << 20).contains(&self.window_max) && self.window_min <= self.window_max,
                "`window_max` must lie between 1 and 1,048,576 slots, and be at least `window_min`",
            ),
            (self.retries <= 255, "`retries` must be at most 255"),
            (
                self.framing <= Bytes::kibi(64),
                "`framing` must be at most 64 KiB",
            ),
        ];
        check_rules("CSMA/CA", &rules)
    }

    /// How long a data frame that carries `size` takes.
    pub fn data(&self, size: Bytes) -> Duration {
        self.preamble + self.rate.time_for(size + self.framing)
    }

    /// How long an answer takes.
    pub fn answer(&self) -> Duration {
        self.preamble + self.basic_rate.time_for(ACKNOWLEDGEMENT)
    }

    /// How long a reservation takes.
    pub fn reservation(&self) -> Duration {
        self.preamble + self.basic_rate.time_for(RESERVATION)
    }

    /// For how long the air is taken by a frame that is acknowledged, without what precedes it.
    pub fn exchange(&self, size: Bytes) -> Duration {
        let reserved = if self.reserves(size) {
            self.reservation() + self.gap + self.answer() + self.gap
        } else {
            Duration::ZERO
        };
        reserved + self.data(size) + self.gap + self.answer()
    }

    /// How long, in the mean, a station that always has something to send and is alone waits before it does.
    pub fn mean_contention(&self) -> Duration {
        self.sense + self.slot * u64::from(self.window_min) / 2
    }

    pub(super) fn reserves(&self, size: Bytes) -> bool {
        self.reserve_from.is_some_and(|from| size >= from)
    }
}
