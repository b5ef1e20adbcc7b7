//! Lifetimes of keys, and limits on handshake work.

use planted::Bug;
use units::{Duration, Instant};

use crate::transport::Transport;

/// Lifetimes of keys, and limits on handshake work. The defaults are `WireGuard`'s if it has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Age at which the initiator replaces keys.
    pub rekey_after: Duration,
    /// Age at which keys expire: they neither seal nor open any more.
    pub reject_after: Duration,
    /// Number of datagrams sent under a key after which the initiator replaces it.
    pub rekey_after_messages: u64,
    /// Largest number of handshake messages a second that get a Diffie-Hellman computation: 750 are about a tenth to
    /// a fifth of a core.
    pub handshakes_per_second: u32,
    /// Largest burst of handshake messages.
    pub handshake_burst: u32,
}

impl Default for Limits {
    fn default() -> Self {
        let reject_after = if planted::is(Bug::KeysAreKept) {
            1_800
        } else {
            180
        };
        Self {
            rekey_after: Duration::from_secs(120),
            reject_after: Duration::from_secs(reject_after),
            rekey_after_messages: 1 << 60,
            handshakes_per_second: 750,
            handshake_burst: 100,
        }
    }
}

impl Limits {
    /// Returns true while the keys may still be used.
    pub(crate) fn allow(&self, transport: &Transport, now: Instant) -> bool {
        now.since(transport.terms.created) < self.reject_after && !transport.is_worn_out()
    }
}
