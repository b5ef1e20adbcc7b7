//! The serializable state of a binding, which another redirector goes on with.

use serde::{Deserialize, Serialize};
use units::Instant;

use crate::binding::Binding;
use crate::direction::Direction;
use crate::{BindingId, Content, Redirector};

/// State of a binding between two streams that exist on: the bytes between them. What can be read and written, and
/// which stream has finished, the streams report anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindingState<C> {
    to_mobile: DirectionState<C>,
    to_fixed: DirectionState<C>,
}

/// State of one direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DirectionState<C> {
    /// Bytes that were read and not written.
    pub(crate) buffer: C,
    /// True if the sink was finished.
    pub(crate) sink_finished: bool,
}

impl<C: Content> Redirector<C> {
    /// Takes a binding out, so that another redirector can go on with it.
    pub fn take_out(&mut self, id: BindingId) -> Option<BindingState<C>> {
        let binding = self.bindings.remove(&id)?;
        self.deadlines.clear(id);
        Some(BindingState {
            to_mobile: binding.to_mobile.into_state(),
            to_fixed: binding.to_fixed.into_state(),
        })
    }

    /// Goes on with a binding of another redirector; returns false if there are too many bindings, or there is one with
    /// this identifier.
    #[must_use]
    pub fn put_in(&mut self, now: Instant, id: BindingId, state: BindingState<C>) -> bool {
        let has_room = self.bindings.len() < self.config.bindings;
        if !has_room || self.bindings.contains_key(&id) {
            return false;
        }
        self.counters.bindings += 1;
        self.deadlines.set(id, now + self.config.idle);
        let binding = Binding {
            to_mobile: Direction::from_state(state.to_mobile),
            to_fixed: Direction::from_state(state.to_fixed),
            active: now,
        };
        self.bindings.insert(id, binding);
        true
    }
}
