//! Two streams that are joined.

use units::Instant;

use crate::direction::Direction;
use crate::{Content, Side};

/// A binding: one direction each way.
#[derive(Debug)]
pub(crate) struct Binding<C> {
    to_mobile: Direction<C>,
    to_fixed: Direction<C>,
    /// When something last happened.
    pub(crate) active: Instant,
}

impl<C: Content> Binding<C> {
    /// A binding that was made `now`.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            to_mobile: Direction::default(),
            to_fixed: Direction::default(),
            active: now,
        }
    }

    /// The direction whose source is the stream of `side`.
    pub(crate) fn from(&mut self, side: Side) -> &mut Direction<C> {
        match side {
            Side::Fixed => &mut self.to_mobile,
            Side::Mobile => &mut self.to_fixed,
        }
    }

    /// The direction whose sink is the stream of `side`.
    pub(crate) fn to(&mut self, side: Side) -> &mut Direction<C> {
        self.from(side.other())
    }

    /// Bytes that wait to be written to the stream of `side`.
    pub(crate) fn buffered(&self, side: Side) -> u64 {
        match side {
            Side::Mobile => self.to_mobile.buffered(),
            Side::Fixed => self.to_fixed.buffered(),
        }
    }

    /// Whether both directions have ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.to_mobile.is_finished() && self.to_fixed.is_finished()
    }
}
