//! The contract between a protocol core and its driver, the tools that check it, and the parts that many cores share.
//!
//! A [`Machine`] performs no input or output and owns no clock, so the simulator, the live daemons,
//! tests and fuzzers drive the very same code. [`conformance`] checks the contract for any machine.

pub mod conformance;
mod deadlines;
mod random;
mod recent_total;
mod reordering;
mod round_trip;
mod rules;
mod tape;
mod token_bucket;

pub use deadlines::Deadlines;
pub use random::{FNV_BASIS, RandomStream, fnv1a};
pub use recent_total::RecentTotal;
pub use reordering::ReorderingWindow;
pub use round_trip::RoundTripEstimate;
pub use rules::{ConfigError, check_rules};
pub use tape::{Step, Tape};
pub use token_bucket::{TokenBucket, TokenDebt};
use units::Instant;

/// A protocol core: a state machine that performs no I/O and owns no clock.
///
/// # Contract
///
/// 1. Time never runs backwards from one call to the next.
/// 2. After each `handle_*` call the driver takes outputs until [`poll_output`](Self::poll_output)
///    returns `None`, and only then waits.
/// 3. [`handle_timeout`](Self::handle_timeout) before the deadline, or again at it, changes nothing.
/// 4. Equal seeds and equal inputs at equal times give equal outputs, in the same order.
/// 5. After a drain, [`poll_timeout`](Self::poll_timeout) does not lie before the last `now`: one `handle_timeout`
///    acts on a deadline that has come, not many at the same instant.
pub trait Machine {
    /// Event that the driver reports to the core.
    type Input;
    /// Effect that the core requests of its driver.
    type Output;

    /// Handles one event.
    fn handle_input(&mut self, now: Instant, input: Self::Input);

    /// Acts on every deadline that has come.
    fn handle_timeout(&mut self, now: Instant);

    /// Returns the next effect to carry out.
    #[must_use = "an output that is dropped is an effect that never happens"]
    fn poll_output(&mut self) -> Option<Self::Output>;

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) is next due; `None` while idle.
    fn poll_timeout(&self) -> Option<Instant>;
}

/// Returns the earlier of two deadlines, where `None` means never.
#[inline]
pub fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (deadline, None) | (None, deadline) => deadline,
    }
}
