//! The turns of peers on an air that they share.

use air::SharedAir;
use units::{Duration, Instant};

/// An air that all peers of a host share.
#[derive(Debug)]
pub(crate) struct Sharing {
    pub(crate) air: SharedAir,
    /// Time when turns were given last.
    pub(crate) at: Instant,
    /// Peers whose wishes may have changed since then.
    pub(crate) changed: Vec<usize>,
    /// Airtime that frames which only acknowledge may take before the next turn, if one is wanted: as much as the last
    /// turn took. Otherwise they would take all of an air that seems slow, and nothing would show its rate.
    pub(crate) before_turn: Duration,
}

impl Sharing {
    /// Returns an air without peers.
    pub(crate) fn new(config: &scheduler::Config) -> Self {
        Self {
            air: SharedAir::new(config),
            at: Instant::ZERO,
            changed: Vec::new(),
            before_turn: Duration::ZERO,
        }
    }
}
