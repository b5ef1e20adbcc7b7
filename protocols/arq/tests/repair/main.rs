//! Scripts: what one end does, action by action.

mod acknowledgements;
mod brief;
mod conformance;
mod fades;
mod flows;
mod losses;
mod memory;
mod plain;
mod queues;
mod script;
mod superseded;
mod transport;
