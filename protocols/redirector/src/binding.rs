//! A binding: two streams that are joined.

use units::Instant;

use crate::direction::Direction;
use crate::{Content, Side};

/// A binding, with one direction each way.
#[derive(Debug)]
pub(crate) struct Binding<C> {
    pub(crate) to_mobile: Direction<C>,
    pub(crate) to_fixed: Direction<C>,
    /// Time of the last event.
    pub(crate) active: Instant,
}

impl<C: Content> Binding<C> {
    /// Returns a binding made at `now`.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            to_mobile: Direction::default(),
            to_fixed: Direction::default(),
            active: now,
        }
    }

    /// Returns the direction whose source is the stream of `side`.
    pub(crate) fn from(&mut self, side: Side) -> &mut Direction<C> {
        match side {
            Side::Fixed => &mut self.to_mobile,
            Side::Mobile => &mut self.to_fixed,
        }
    }

    /// Returns the direction whose sink is the stream of `side`.
    pub(crate) fn to(&mut self, side: Side) -> &mut Direction<C> {
        self.from(side.other())
    }

    /// Returns the number of bytes that wait to be written to the stream of `side`.
    pub(crate) fn buffered(&self, side: Side) -> u64 {
        match side {
            Side::Mobile => self.to_mobile.buffered(),
            Side::Fixed => self.to_fixed.buffered(),
        }
    }

    /// Returns true if both directions have ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.to_mobile.is_finished() && self.to_fixed.is_finished()
    }
}
