//! The DNS servers that this host asks: which they are, and how others take their place for a time.

mod ask;
mod conf;
mod file;
mod program;
mod record;
mod switch;

pub use ask::{beside, of_system};
pub use switch::{ResolverError, Switch, Way, lift, lift_abandoned};
