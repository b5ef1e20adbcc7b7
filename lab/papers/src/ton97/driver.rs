//! The number of packets that wait for the air, as the driver of a radio or of a base station knows it.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;

use channel::{Amount, Direction};
use simulator::{LinkId, Observer};
use units::Instant;

/// Number of packets that wait for the air at a radio; its driver writes it, and the radio reads it.
pub(crate) type Waiting = Rc<Cell<u64>>;

/// The driver of radios, or of a base station: an observer that writes the number of packets that wait at each
/// direction of a link.
#[derive(Debug, Default)]
pub(crate) struct Driver {
    queues: Vec<((LinkId, Direction), Waiting)>,
}

impl Driver {
    /// Writes `waiting` whenever the queue there changes.
    pub(crate) fn watch(&mut self, at: (LinkId, Direction), waiting: Waiting) {
        self.queues.push((at, waiting));
    }
}

impl<N: simulator::Node> Observer<N> for Driver {
    fn waiting(
        &mut self,
        _now: Instant,
        at: (LinkId, Direction),
        queue: Amount,
    ) -> ControlFlow<()> {
        let mut queues = self.queues.iter();
        if let Some((_, waiting)) = queues.find(|(known, _)| *known == at) {
            waiting.set(queue.packets);
        }
        ControlFlow::Continue(())
    }
}
