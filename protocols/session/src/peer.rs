//! The state of one peer of an endpoint.

use machine::earlier;
use planted::Bug;
use snow::HandshakeState;
use units::{Duration, Instant};
use wire::address::HopAddress;

use crate::cookie::Cookie;
use crate::identity::Addressed;
use crate::keys::{PresharedKey, PublicKey};
use crate::limits::Limits;
use crate::lineage::{Lineage, Offer};
use crate::message::{INITIATION_BYTES, Mac1Key, RESPONSE_BYTES};
use crate::transport::Transport;

/// Time from the first unanswered datagram to a probe and a handshake. A restarted peer drops our datagrams in silence,
/// so silence is the only sign of a restart.
const PATIENCE: Duration = Duration::from_secs(1);

/// Role of this host in handshakes with one peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Begins every handshake: the mobile host.
    Initiator,
    /// Answers: the gateway.
    Responder,
}

/// Keys that may be in use at the same time. A peer may still send under the previous ones while a datagram under the
/// next ones is awaited.
pub(crate) struct Sessions {
    pub(crate) previous: Option<Box<Transport>>,
    pub(crate) current: Option<Box<Transport>>,
    /// Responder only: not confirmed yet, so nothing is sent under it.
    pub(crate) next: Option<Box<Transport>>,
}

/// Keys under which a datagram arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeySlot {
    Previous,
    Current,
    Next,
}

impl Sessions {
    pub(crate) const NONE: Self = Self {
        previous: None,
        current: None,
        next: None,
    };

    pub(crate) fn by_index(&mut self, index: u32) -> Option<(KeySlot, &mut Transport)> {
        let slots = [
            (KeySlot::Current, &mut self.current),
            (KeySlot::Previous, &mut self.previous),
            (KeySlot::Next, &mut self.next),
        ];
        slots.into_iter().find_map(|(slot, held)| {
            let transport = held.as_deref_mut()?;
            (transport.terms.local_index == index).then_some((slot, transport))
        })
    }

    /// Returns every slot, for expiry and indices.
    pub(crate) fn slots(&mut self) -> [&mut Option<Box<Transport>>; 3] {
        [&mut self.previous, &mut self.current, &mut self.next]
    }

    fn oldest(&self) -> Option<Instant> {
        [&self.previous, &self.current, &self.next]
            .into_iter()
            .flatten()
            .map(|transport| transport.terms.created)
            .min()
    }
}

/// A handshake of this host that has not been answered.
pub(crate) struct Flight {
    pub(crate) index: u32,
    pub(crate) state: HandshakeState,
    /// The key of this host in it, and in the one that follows if there is no answer.
    pub(crate) own: Addressed,
    pub(crate) next_own: Addressed,
    pub(crate) initiation: [u8; INITIATION_BYTES],
    pub(crate) created: Instant,
    /// Time of the first of all initiations that have brought no keys.
    pub(crate) trying_since: Instant,
    pub(crate) sent: Instant,
    pub(crate) resend_at: Instant,
    /// True if a cookie has hastened it since its last retry.
    pub(crate) has_hurried: bool,
    /// True if the responder has refused its stamp.
    pub(crate) is_refused: bool,
}

/// State of the initiator.
#[derive(Default)]
pub(crate) struct InitiatorState {
    /// Set between `connect` and `disconnect`.
    pub(crate) wanted: bool,
    pub(crate) flight: Option<Box<Flight>>,
    /// Time of the first datagram since the last one from the responder.
    pub(crate) silent_since: Option<Instant>,
    pub(crate) last_stamp: u64,
    /// Time that the newest answer to an initiation took which was sent only once.
    pub(crate) round_trip: Option<Duration>,
    /// Cookie of the peer, which it wants under load.
    pub(crate) cookie: Option<Cookie>,
    /// True if the responder or this host has another key, with which there has been no handshake yet.
    pub(crate) key_is_new: bool,
}

impl InitiatorState {
    /// Returns the time when the responder's silence has lasted too long.
    pub(crate) fn impatient_at(&self) -> Option<Instant> {
        let is_slow = planted::is(Bug::SilenceIsEndured);
        let patience = if is_slow { PATIENCE * 10 } else { PATIENCE };
        self.silent_since.map(|since| since + patience)
    }
}

/// State of the responder.
#[derive(Default)]
pub(crate) struct ResponderState {
    /// The newest initiation.
    pub(crate) newest: Option<Box<Accepted>>,
    /// The session that it offers, until that is confirmed; kept after its expiry.
    pub(crate) offer: Option<Offer>,
}

impl ResponderState {
    /// Forgets the answer to the newest initiation: its keys wait for confirmation no longer.
    pub(crate) fn forget_answer(&mut self) {
        if let Some(newest) = &mut self.newest {
            newest.response = None;
        }
    }
}

/// An initiation that was accepted.
pub(crate) struct Accepted {
    pub(crate) stamp: u64,
    pub(crate) initiation: [u8; INITIATION_BYTES],
    /// Address to which its answer went; `None` if copies of it came from several.
    pub(crate) asked_from: Option<HopAddress>,
    /// Its answer, as long as its keys wait for confirmation.
    pub(crate) response: Option<[u8; RESPONSE_BYTES]>,
}

pub(crate) enum Side {
    Initiator(InitiatorState),
    Responder(ResponderState),
}

pub(crate) struct Peer {
    pub(crate) public_key: PublicKey,
    pub(crate) preshared_key: PresharedKey,
    /// Key of the mac1 of messages to this peer.
    pub(crate) mac1_key: Mac1Key,
    pub(crate) sessions: Sessions,
    pub(crate) side: Side,
    /// Extensions that this host announces to it, one bit each.
    pub(crate) features: u64,
    /// Newest session that was put in use, kept after its expiry.
    pub(crate) in_use: Option<Lineage>,
    /// Time of the last event about a refused stamp.
    pub(crate) refusal_announced: Option<Instant>,
}

impl Peer {
    /// Returns the time at which a timer is next due.
    pub(crate) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        let expiry = self
            .sessions
            .oldest()
            .map(|created| created + limits.reject_after);
        let Side::Initiator(initiator) = &self.side else {
            return expiry;
        };
        let handshake = match &initiator.flight {
            Some(flight) => Some(flight.resend_at),
            None => earlier(self.rekey_at(limits), initiator.impatient_at()),
        };
        earlier(expiry, handshake)
    }

    /// Returns the time at which the initiator replaces its keys: at once if it has none.
    pub(crate) fn rekey_at(&self, limits: &Limits) -> Option<Instant> {
        match &self.side {
            Side::Initiator(initiator) if initiator.wanted => Some(match &self.sessions.current {
                Some(current) if initiator.key_is_new => current.terms.created,
                Some(current) if current.sent() < limits.rekey_after_messages => {
                    current.terms.created + limits.rekey_after
                }
                Some(current) => current.terms.created,
                None => Instant::ZERO,
            }),
            _ => None,
        }
    }
}
