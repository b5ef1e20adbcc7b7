//! What an endpoint knows of one peer.

use snow::HandshakeState;
use units::{Duration, Instant};

use crate::endpoint::Limits;
use crate::keys::{PresharedKey, PublicKey};
use crate::message::{INITIATION_BYTES, Mac1Key, RESPONSE_BYTES};
use crate::transport::Transport;

/// When an unanswered session is probed, and when it is given up on and a handshake begins, each counted
/// from the first datagram that nothing has answered. A restarted peer drops what we send in silence, so
/// only silence tells of it.
const SILENCE_STEPS: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// Which side of the handshake this host is, towards one peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Begins every handshake: the mobile host.
    Initiator,
    /// Answers: the gateway.
    Responder,
}

/// The keys that may be in use at once. A peer may still send under the previous ones while a datagram
/// under the next ones is awaited.
pub(crate) struct Sessions {
    pub(crate) previous: Option<Box<Transport>>,
    pub(crate) current: Option<Box<Transport>>,
    /// Responder only: not confirmed yet, so nothing is sent under it.
    pub(crate) next: Option<Box<Transport>>,
}

/// Which keys a datagram came under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
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

    pub(crate) fn by_index(&mut self, index: u32) -> Option<(Slot, &mut Transport)> {
        let slots = [
            (Slot::Current, &mut self.current),
            (Slot::Previous, &mut self.previous),
            (Slot::Next, &mut self.next),
        ];
        slots.into_iter().find_map(|(slot, held)| {
            let transport = held.as_deref_mut()?;
            (transport.terms.local_index == index).then_some((slot, transport))
        })
    }

    /// Every slot, for expiry and indices.
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

/// A handshake that this host began and that has not been answered.
pub(crate) struct Flight {
    pub(crate) index: u32,
    pub(crate) state: HandshakeState,
    pub(crate) initiation: [u8; INITIATION_BYTES],
    pub(crate) created: Instant,
    pub(crate) sent: Instant,
    pub(crate) resend_at: Instant,
}

/// Datagrams that nothing has answered.
#[derive(Clone, Copy)]
pub(crate) struct Silence {
    pub(crate) since: Instant,
    /// How many of [`SILENCE_STEPS`] have been taken.
    pub(crate) steps: usize,
}

impl Silence {
    pub(crate) fn deadline(self) -> Option<Instant> {
        SILENCE_STEPS.get(self.steps).map(|step| self.since + *step)
    }

    /// True after the last step: probes did not help.
    pub(crate) fn is_hopeless(self) -> bool {
        self.steps == SILENCE_STEPS.len()
    }
}

/// The state of the side that begins.
#[derive(Default)]
pub(crate) struct InitiatorState {
    /// True between `connect` and `disconnect`.
    pub(crate) wanted: bool,
    pub(crate) flight: Option<Box<Flight>>,
    pub(crate) silence: Option<Silence>,
    pub(crate) last_stamp: u64,
}

/// The state of the side that answers.
#[derive(Default)]
pub(crate) struct ResponderState {
    /// The stamp of the newest initiation.
    pub(crate) newest_stamp: Option<u64>,
    /// That initiation and its answer, as long as the keys that they settled wait for confirmation.
    pub(crate) answered: Option<Box<([u8; INITIATION_BYTES], [u8; RESPONSE_BYTES])>>,
}

pub(crate) enum Side {
    Initiator(InitiatorState),
    Responder(ResponderState),
}

pub(crate) struct Peer {
    pub(crate) public_key: PublicKey,
    pub(crate) preshared_key: PresharedKey,
    /// For messages to this peer.
    pub(crate) mac1_key: Mac1Key,
    pub(crate) sessions: Sessions,
    pub(crate) side: Side,
    /// What this host tells it.
    pub(crate) features: u64,
    /// The epoch of the newest session, over all its expiries.
    pub(crate) known_epoch: Option<u64>,
}

impl Peer {
    /// When something is next due.
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

    /// When the initiator replaces its keys: at once if it has none.
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
