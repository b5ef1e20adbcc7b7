//! The first contact of a new mobile host with its gateway: it turns an invitation into a key of its own that the
//! gateway knows (`docs/session.md`, Invitations).
//!
//! It has two sessions. In the first one it has the key of the invitation, and claims its own key. The gateway stores
//! that, and ends the first session with a goodbye. Then the second session, under the new key, shows that the gateway
//! knows it. Each message may be lost: claims are repeated, and the second session is tried after a while even without
//! a goodbye.
//!
//! A new gateway of a site joins in the same way. Of two gateways the one with the lower key begins handshakes, so if
//! that is the other one, there is no second session, and the end of the first one is the sign that the claim is
//! stored.

use std::collections::VecDeque;

use machine::Machine;
use session::{
    DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, Decline, Endpoint, Entropy, Invitation, Limits,
    PeerConfig, PeerId, PrivateKey, PublicKey, Received, Role,
};
use units::{Duration, Instant};
use wire::address::HopAddress;
use wire::hop::{ClaimMessage, ClaimRefusal};

/// Time between two claims.
const REPEAT: Duration = Duration::from_millis(500);
/// Time after which the new key is tried although no goodbye came.
const PATIENCE: Duration = Duration::from_secs(2);

/// An input of a [`Joining`].
#[derive(Debug, Clone)]
pub enum JoiningInput {
    /// It begins: the wall clock's time, in nanoseconds since 1970-01-01 UTC.
    Begin(u64),
    /// A datagram from this address.
    Datagram(HopAddress, Vec<u8>),
}

/// An output of a [`Joining`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JoiningOutput {
    /// Send this datagram to this address.
    Datagram(HopAddress, Vec<u8>),
    /// The gateway at this address has answered under the invitation's key.
    Answered(HopAddress),
    /// The gateway at this address knows the new key. This is the end.
    Joined(HopAddress),
    /// The gateway has refused the new key. This is the end.
    Refused(ClaimRefusal),
    /// The gateway declines the invitation's key, and does not know the new one. This is the end.
    Declined(Decline),
    /// The gateway speaks other versions only: older ones if this is true, else later ones. This is the end.
    OtherVersion(bool),
}

/// A mobile host that joins its gateway, or a gateway that joins a site.
pub struct Joining {
    invited: Session,
    own: Session,
    own_key: PublicKey,
    /// Addresses of the gateway: all of them until one has answered, then that one.
    places: Vec<HopAddress>,
    /// Time of the next claim, while the invitation's session stands.
    claim_at: Option<Instant>,
    /// Time from which the new key is tried.
    own_at: Option<Instant>,
    /// Time until which the new key is tried although the invitation's was declined, and the reason for that.
    declined: Option<(Instant, Decline)>,
    /// True if a claim was sent.
    has_claimed: bool,
    /// True if the gateway begins handshakes under the new key, so that this host cannot.
    is_responder: bool,
    /// True if an earlier run may have claimed the new key.
    has_tried: bool,
    is_over: bool,
    outputs: VecDeque<JoiningOutput>,
}

/// The session under one of the keys.
struct Session {
    endpoint: Endpoint,
    gateway: PeerId,
}

impl Session {
    fn new(key: PrivateKey, gateway: PublicKey, entropy: Box<dyn Entropy>) -> Option<Self> {
        let config = session::Config {
            private_key: key,
            wall_clock_at_origin: 0,
            limits: Limits::default(),
        };
        let mut endpoint = Endpoint::new(config, entropy);
        let peer = endpoint.add_peer(PeerConfig {
            public_key: gateway,
            preshared_key: None,
            role: Role::Initiator,
            features: 0,
        });
        let gateway = peer.ok()?;
        Some(Self { endpoint, gateway })
    }

    fn connect(&mut self, now: Instant) {
        // Only a responder or an unknown peer is refused.
        let _ = self.endpoint.connect(now, self.gateway);
    }
}

impl Joining {
    /// Returns one that joins with `invitation`, and has `own` as its key from then on. `places` are the addresses
    /// where the gateway may be. Returns `None` if the invitation names this host's own key as the gateway's.
    pub fn new(
        invitation: &Invitation,
        own: PrivateKey,
        places: Vec<HopAddress>,
        entropy: [Box<dyn Entropy>; 2],
    ) -> Option<Self> {
        let [first, second] = entropy;
        Some(Self {
            own_key: own.public_key(),
            invited: Session::new(invitation.key(), invitation.gateway, first)?,
            own: Session::new(own, invitation.gateway, second)?,
            places,
            claim_at: None,
            own_at: None,
            declined: None,
            has_claimed: false,
            is_responder: false,
            has_tried: false,
            is_over: false,
            outputs: VecDeque::new(),
        })
    }

    /// Returns one that joins a site as a gateway. `has_tried` says whether an earlier run may have claimed its key.
    #[must_use]
    pub fn as_gateway(self, gateway: PublicKey, has_tried: bool) -> Self {
        Self {
            is_responder: gateway.bytes() < self.own_key.bytes(),
            has_tried,
            ..self
        }
    }

    fn begin(&mut self, now: Instant, wall: u64) {
        let origin = wall.saturating_sub(now.as_nanos());
        for session in [&mut self.invited, &mut self.own] {
            session.endpoint.set_wall_clock_at_origin(origin);
        }
        self.invited.connect(now);
        self.own_at = Some(now + PATIENCE);
    }

    fn datagram(&mut self, now: Instant, from: HopAddress, datagram: Vec<u8>) {
        let mut copy = datagram.clone();
        match self.invited.endpoint.handle_datagram(now, &mut copy) {
            Received::Data { plaintext, .. } => {
                if let Some(ClaimMessage::Refused(reason)) = ClaimMessage::parse(plaintext) {
                    self.end(now, JoiningOutput::Refused(reason));
                }
                return;
            }
            Received::Goodbye(_) => {
                self.claim_at = None;
                self.try_own(now);
                return;
            }
            Received::Handshake(_) => {
                self.places = vec![from];
                return;
            }
            Received::Dropped(_) | Received::Reply(_) | Received::CookieReply => {}
        }
        let mut datagram = datagram;
        if let Received::Handshake(_) = self.own.endpoint.handle_datagram(now, &mut datagram) {
            self.places = vec![from];
        }
    }

    /// Carries out what the sessions want.
    fn follow(&mut self, now: Instant) {
        while let Some(output) = self.invited.endpoint.poll_output() {
            match output {
                session::Output::Transmit { datagram, .. } => self.send(&datagram),
                session::Output::Event(session::Event::Established { .. }) => {
                    if self.claim_at.is_none()
                        && let [at] = self.places[..]
                    {
                        self.outputs.push_back(JoiningOutput::Answered(at));
                    }
                    self.claim_at = Some(now);
                }
                session::Output::Event(session::Event::Declined { reason, .. }) => {
                    self.was_declined(now, reason);
                }
                session::Output::Event(session::Event::OtherVersion { is_older, .. }) => {
                    if !self.is_over {
                        self.end(now, JoiningOutput::OtherVersion(is_older));
                    }
                }
                session::Output::Event(_) => {}
            }
        }
        while let Some(output) = self.own.endpoint.poll_output() {
            match output {
                session::Output::Transmit { datagram, .. } => self.send(&datagram),
                session::Output::Event(session::Event::Established { .. }) if !self.is_over => {
                    if let [at] = self.places[..] {
                        self.end(now, JoiningOutput::Joined(at));
                    }
                }
                session::Output::Event(_) => {}
            }
        }
    }

    /// Goes on with the new key: an earlier claim of this host may have taken the invitation's place.
    fn was_declined(&mut self, now: Instant, reason: Decline) {
        if self.is_over || self.declined.is_some() {
            return;
        }
        if reason != Decline::Replaced {
            self.end(now, JoiningOutput::Declined(reason));
            return;
        }
        self.claim_at = None;
        if !self.has_claimed {
            self.declined = Some((now + PATIENCE, reason));
        }
        self.try_own(now);
    }

    /// Goes on with the new key, which the gateway knows now.
    fn try_own(&mut self, now: Instant) {
        match self.places[..] {
            [at] if self.is_responder && (self.has_claimed || self.has_tried) => {
                self.end(now, JoiningOutput::Joined(at));
            }
            _ => self.own_at = Some(now),
        }
    }

    fn send(&mut self, datagram: &[u8]) {
        let outputs = self
            .places
            .iter()
            .map(|to| JoiningOutput::Datagram(*to, datagram.to_vec()));
        self.outputs.extend(outputs);
    }

    /// Ends both sessions: the daemon that follows begins anew.
    fn end(&mut self, now: Instant, result: JoiningOutput) {
        self.is_over = true;
        (self.claim_at, self.own_at, self.declined) = (None, None, None);
        for session in [&mut self.invited, &mut self.own] {
            // The peer is known, and only others are refused.
            let _ = session.endpoint.leave(now, session.gateway);
        }
        self.follow(now);
        self.outputs.push_back(result);
    }

    fn claim(&mut self, now: Instant) {
        self.claim_at = Some(now + REPEAT);
        let message = ClaimMessage::Claim(*self.own_key.bytes()).encode();
        let mut datagram = vec![0; DATA_OVERHEAD_BYTES + message.len()];
        datagram[DATA_HEADER_BYTES..][..message.len()].copy_from_slice(&message);
        let Session { endpoint, gateway } = &mut self.invited;
        if endpoint.seal(now, *gateway, &mut datagram).is_ok() {
            self.has_claimed = true;
            self.send(&datagram);
        } else {
            self.claim_at = None;
        }
    }
}

impl Machine for Joining {
    type Input = JoiningInput;
    type Output = JoiningOutput;

    fn handle_input(&mut self, now: Instant, input: JoiningInput) {
        if self.is_over {
            return;
        }
        match input {
            JoiningInput::Begin(wall) => self.begin(now, wall),
            JoiningInput::Datagram(from, datagram) => self.datagram(now, from, datagram),
        }
        self.follow(now);
        self.handle_timeout(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.is_over {
            return;
        }
        if self.claim_at.is_some_and(|at| at <= now) {
            self.claim(now);
        }
        if self.own_at.take_if(|at| *at <= now).is_some() {
            self.own.connect(now);
        }
        if let Some((_, reason)) = self.declined.take_if(|(until, _)| *until <= now) {
            self.end(now, JoiningOutput::Declined(reason));
            return;
        }
        self.invited.endpoint.handle_timeout(now);
        self.own.endpoint.handle_timeout(now);
        self.follow(now);
    }

    fn poll_output(&mut self) -> Option<JoiningOutput> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.is_over {
            return None;
        }
        let timers = machine::earlier(self.claim_at, self.own_at);
        let given_up = self.declined.map(|(until, _)| until);
        let timers = machine::earlier(timers, given_up);
        let timers = machine::earlier(timers, self.invited.endpoint.poll_timeout());
        machine::earlier(timers, self.own.endpoint.poll_timeout())
    }
}
