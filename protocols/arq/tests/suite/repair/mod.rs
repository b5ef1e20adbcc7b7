//! Scripts: what one end does, action by action.

mod acknowledgements;
mod brief;
mod conformance;
mod fades;
mod flows;
mod held;
mod losses;
mod marks;
mod memory;
mod plain;
mod queues;
pub(crate) mod script;
mod standing;
mod superseded;
mod transport;
