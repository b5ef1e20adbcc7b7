//! Scripts: what one end does, action by action.

mod acknowledgements;
mod brief;
mod conformance;
mod counted;
mod fades;
mod flows;
mod guests;
mod held;
mod losses;
mod marks;
mod memory;
mod outstanding;
mod overdue;
mod plain;
mod queues;
mod sampled;
pub(crate) mod script;
mod standing;
mod superseded;
mod transport;
mod unreadable;
mod withdraw;
