//! News of the hop for applications: a socket on which a daemon tells it, and whoever listens there.
//!
//! An [`Announcer`] makes [`Signal`](signals::Signal)s of what happens at a host, a [`Publisher`] sends them to all
//! who are connected; a [`Subscription`] receives them, and a [`Reader`] makes of them what an RPC client wants to
//! know. `docs/signals.md` says what crosses the socket.

mod announcer;
mod follower;
mod publisher;
mod reader;
mod subscription;

pub use announcer::Announcer;
pub use follower::Follower;
pub use publisher::{Audience, Publisher};
pub use reader::Reader;
pub use subscription::{Subscription, SubscriptionError};

/// How the file name of a socket ends; it stands beside the control socket.
pub const ENDING: &str = "signals";
