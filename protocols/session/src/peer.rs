//! The state of one peer of an endpoint.

use snow::HandshakeState;
use units::{Duration, Instant};
use wire::address::HopAddress;

use crate::cookie::Cookie;
use crate::keys::{PresharedKey, PublicKey};
use crate::limits::Limits;
use crate::message::{INITIATION_BYTES, Mac1Key, RESPONSE_BYTES};
use crate::transport::Transport;

/// Times at which an unanswered session is probed, probed again, and replaced by a handshake, each from the first
/// unanswered datagram. A restarted peer drops our datagrams silently, so silence is the only sign of a restart.
const SILENCE_STEPS: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

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
    pub(crate) initiation: [u8; INITIATION_BYTES],
    pub(crate) created: Instant,
    pub(crate) sent: Instant,
    pub(crate) resend_at: Instant,
    /// True if a cookie has hastened it since its last retry.
    pub(crate) has_hurried: bool,
}

/// State of unanswered datagrams.
#[derive(Clone, Copy)]
pub(crate) struct Silence {
    pub(crate) since: Instant,
    /// Number of [`SILENCE_STEPS`] that have been taken.
    pub(crate) steps: usize,
}

impl Silence {
    pub(crate) fn deadline(self) -> Option<Instant> {
        SILENCE_STEPS.get(self.steps).map(|step| self.since + *step)
    }

    /// Returns true after the last step: the probes were not answered.
    pub(crate) fn is_exhausted(self) -> bool {
        self.steps == SILENCE_STEPS.len()
    }
}

/// State of the initiator.
#[derive(Default)]
pub(crate) struct InitiatorState {
    /// Set between `connect` and `disconnect`.
    pub(crate) wanted: bool,
    pub(crate) flight: Option<Box<Flight>>,
    pub(crate) silence: Option<Silence>,
    pub(crate) last_stamp: u64,
    /// Cookie of the peer, which it wants under load.
    pub(crate) cookie: Option<Cookie>,
}

/// State of the responder.
#[derive(Default)]
pub(crate) struct ResponderState {
    /// Stamp of the newest initiation.
    pub(crate) newest_stamp: Option<u64>,
    /// That initiation and its answer, as long as its keys wait for confirmation.
    pub(crate) answered: Option<Box<([u8; INITIATION_BYTES], [u8; RESPONSE_BYTES])>>,
    /// Address to which that answer went; `None` if copies of it went to several.
    pub(crate) asked_from: Option<HopAddress>,
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
    /// Epoch of the peer in the newest session, kept after its expiry.
    pub(crate) known_epoch: Option<u64>,
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
            None => self.rekey_at(limits),
        };
        let silence = initiator.silence.and_then(Silence::deadline);
        [expiry, handshake, silence].into_iter().flatten().min()
    }

    /// Returns the time at which the initiator replaces its keys: at once if it has none.
    pub(crate) fn rekey_at(&self, limits: &Limits) -> Option<Instant> {
        match &self.side {
            Side::Initiator(initiator) if initiator.wanted => Some(match &self.sessions.current {
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
