//! The parameters of the medium access.

use machine::{ConfigError, check_rules};
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration};

/// Parameters of the shared medium. The defaults are those of the direct-sequence radio of IEEE 802.11-1997 at 2 Mbit/s
/// (its Tables 49 and 59, sections 7.2 and 15.3): wireless LANs at the time of the papers followed the draft of that
/// standard. Only `retries` and `reserve_from` are by default those of the papers' own protocol, which has retries in
/// the driver, and no reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CsmaConfig {
    /// Rate of data frames.
    pub rate: BitRate,
    /// Rate of acknowledgements and reservations.
    pub basic_rate: BitRate,
    /// Time before each transmission: preamble and physical header.
    pub preamble: Duration,
    /// Size of header and checksum of a data frame.
    pub framing: Bytes,
    /// Time for which the medium must be idle before a station begins (DIFS).
    pub sense: Duration,
    /// Time between a frame and its acknowledgement (SIFS). It must be shorter than `sense`: that gives
    /// acknowledgements priority.
    pub gap: Duration,
    /// Length of a back-off slot: within it, stations cannot sense that another one begins.
    pub slot: Duration,
    /// Initial contention window, in slots: back-off is drawn from 0 to this number, which doubles after each failure
    /// in the card.
    pub window_min: u32,
    /// Largest contention window, in slots.
    pub window_max: u32,
    /// Number of retries in the card before it reports a failure to the driver.
    pub retries: u32,
    /// Size from which a reservation (RTS and CTS) precedes a frame; by default no frame has one.
    pub reserve_from: Option<Bytes>,
}

/// Size of an acknowledgement, and of a CTS (IEEE 802.11-1997 §7.2.1).
pub(super) const ACKNOWLEDGEMENT: Bytes = Bytes::new(14);
/// Size of a reservation (RTS).
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
    /// Checks the configuration.
    ///
    /// # Errors
    /// If a value makes no sense; the error names the first one.
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

    /// Returns the duration of a data frame that carries `size`.
    pub fn data(&self, size: Bytes) -> Duration {
        self.preamble + self.rate.time_for(size + self.framing)
    }

    /// Returns the duration of an acknowledgement or CTS.
    pub fn answer(&self) -> Duration {
        self.preamble + self.basic_rate.time_for(ACKNOWLEDGEMENT)
    }

    /// Returns the duration of a reservation.
    pub fn reservation(&self) -> Duration {
        self.preamble + self.basic_rate.time_for(RESERVATION)
    }

    /// Returns the time for which a frame that is acknowledged occupies the medium, without the contention before it.
    pub fn exchange(&self, size: Bytes) -> Duration {
        let reserved = if self.reserves(size) {
            self.reservation() + self.gap + self.answer() + self.gap
        } else {
            Duration::ZERO
        };
        reserved + self.data(size) + self.gap + self.answer()
    }

    /// Returns the mean contention time of a station that always has frames to send and is alone.
    pub fn mean_contention(&self) -> Duration {
        self.sense + self.slot * u64::from(self.window_min) / 2
    }

    pub(super) fn reserves(&self, size: Bytes) -> bool {
        self.reserve_from.is_some_and(|from| size >= from)
    }
}
