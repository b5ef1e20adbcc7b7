//! Signals of the hop for applications: the socket on which a daemon publishes them, and its subscribers.
//!
//! An [`Announcer`] makes [`Signal`](signals::Signal)s from the events of a host, a [`Publisher`] sends them to all
//! subscribers; a [`Subscription`] receives them, and a [`Reader`] converts them to link events for an RPC client.
//! `docs/signals.md` specifies the format.

mod announcer;
mod follower;
mod publisher;
mod reader;
mod site;
mod subscription;

pub use announcer::Announcer;
pub use follower::Follower;
pub use publisher::{Audience, Publisher};
pub use reader::Reader;
pub use subscription::{Subscription, SubscriptionError};

/// File name extension of the socket; it is in the folder of the control socket.
pub const ENDING: &str = "signals";
