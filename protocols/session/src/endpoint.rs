//! An endpoint: the keys and the peers of a host, and the dispatch of received datagrams.

use std::collections::{BTreeMap, VecDeque};

use machine::Deadlines;
use units::Instant;
use wire::address::HopAddress;

use crate::admission::{Admission, Budget};
use crate::entropy::Entropy;
use crate::former::{Decline, KnownKeys};
use crate::handshake::Reaction;
use crate::identity::Identity;
use crate::keys::{PresharedKey, PrivateKey, PublicKey};
use crate::limits::Limits;
use crate::message::{
    DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, GOODBYE, Mac1Key, Message, ParseError,
};
use crate::output::{
    Counters, DropCause, Event, Output, PeerError, PeerId, Received, Route, SealError,
};
use crate::peer::{InitiatorState, KeySlot, Peer, ResponderState, Role, Sessions, Side};

/// Configuration of an endpoint. It holds a secret and so has no `Debug`.
pub struct Config {
    /// Private key of this host.
    pub private_key: PrivateKey,
    /// Unix time in nanoseconds at [`Instant::ZERO`]. Only its growth from one start of this host to the
    /// next matters: gateways refuse initiations older than one they have seen.
    pub wall_clock_at_origin: u64,
    /// Lifetimes and limits.
    pub limits: Limits,
}

/// Configuration of a peer. It may hold a secret and so has no `Debug`.
pub struct PeerConfig {
    /// Public key of the peer, which is its identity.
    pub public_key: PublicKey,
    /// Secret that both hosts share in addition, if any.
    pub preshared_key: Option<PresharedKey>,
    /// Role of this host towards the peer.
    pub role: Role,
    /// Extensions beyond this version that this host supports, one bit each; sent to this peer.
    pub features: u64,
}

/// Sessions of one host with all its peers: a machine without clock, socket or randomness of its own.
///
/// After each call that takes `now`, take outputs until [`poll_output`](Self::poll_output) returns `None`.
/// The rules of `machine::Machine` hold; datagrams are borrowed rather than owned, so that data is sealed
/// and opened in place and nothing is allocated for it.
pub struct Endpoint {
    pub(crate) identity: Identity,
    pub(crate) limits: Limits,
    pub(crate) entropy: Box<dyn Entropy>,
    /// Boxed, as the nodes of a map are half empty.
    pub(crate) peers: BTreeMap<PeerId, Box<Peer>>,
    pub(crate) keys: KnownKeys,
    /// Receiver indices of sessions and of handshakes in flight.
    pub(crate) by_index: BTreeMap<u32, PeerId>,
    /// Time of the next check of each peer; never later than its [`Peer::deadline`].
    pub(crate) schedule: Deadlines<PeerId>,
    pub(crate) outputs: VecDeque<Output>,
    pub(crate) budget: Budget,
    /// Peers that this host initiates to.
    pub(crate) initiates_to: Vec<PeerId>,
    pub(crate) counters: Counters,
    next_peer: u32,
}

impl Endpoint {
    /// Returns a host without peers. Its keys will be drawn from `entropy`.
    pub fn new(config: Config, entropy: Box<dyn Entropy>) -> Self {
        let limits = config.limits;
        Self {
            identity: Identity::new(config),
            limits,
            entropy,
            peers: BTreeMap::new(),
            keys: KnownKeys::default(),
            by_index: BTreeMap::new(),
            schedule: Deadlines::default(),
            outputs: VecDeque::new(),
            budget: Budget::new(&limits),
            initiates_to: Vec::new(),
            counters: Counters::default(),
            next_peer: 0,
        }
    }

    /// Returns this host's public key.
    pub fn public_key(&self) -> PublicKey {
        self.identity.key.public
    }

    /// Returns the numbers of dropped datagrams by cause.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Sets the wall clock after a change: see [`Config::wall_clock_at_origin`].
    pub fn set_wall_clock_at_origin(&mut self, unix_nanos: u64) {
        self.identity.wall_clock_at_origin = unix_nanos;
    }

    /// Returns the wall clock: nanoseconds since 1970-01-01 UTC.
    pub fn wall_clock(&self, now: Instant) -> u64 {
        self.identity.wall_clock_at_origin + now.as_nanos()
    }

    /// Adds a peer.
    pub fn add_peer(&mut self, config: PeerConfig) -> Result<PeerId, PeerError> {
        if self.identity.has(&config.public_key) {
            return Err(PeerError::OwnKey);
        }
        if self.keys.peers.contains_key(&config.public_key) {
            return Err(PeerError::Duplicate);
        }
        let id = PeerId(self.next_peer);
        self.next_peer = id.0.checked_add(1).ok_or(PeerError::TooMany)?;
        self.keys.peers.insert(config.public_key, id);
        self.keys.former.forget(&config.public_key);
        let peer = Peer {
            public_key: config.public_key,
            preshared_key: config.preshared_key.unwrap_or_else(PresharedKey::none),
            mac1_key: Mac1Key::new(&config.public_key),
            sessions: Sessions::NONE,
            side: match config.role {
                Role::Initiator => Side::Initiator(InitiatorState::default()),
                Role::Responder => Side::Responder(ResponderState::default()),
            },
            features: config.features,
            in_use: None,
            refusal_announced: None,
        };
        if matches!(peer.side, Side::Initiator(_)) {
            self.initiates_to.push(id);
        }
        self.peers.insert(id, Box::new(peer));
        Ok(id)
    }

    /// Returns the peer with this public key, if there is one.
    pub fn peer_with(&self, key: &PublicKey) -> Option<PeerId> {
        self.keys.peers.get(key).copied()
    }

    /// Removes a peer and every key shared with it; from now on it gets no answer.
    pub fn remove_peer(&mut self, peer: PeerId) -> Result<(), PeerError> {
        self.forget_sessions(peer)?;
        let removed = self.peers.remove(&peer).ok_or(PeerError::Unknown)?;
        self.keys.peers.remove(&removed.public_key);
        self.initiates_to.retain(|id| *id != peer);
        self.schedule.clear(peer);
        Ok(())
    }

    /// Answers who has this key, which is no peer's any more, with the reason. Only the newest [`crate::FORMER_KEYS`]
    /// count. A peer that had a preshared key cannot read the answer.
    pub fn decline(&mut self, key: PublicKey, reason: Decline) {
        if !self.keys.peers.contains_key(&key) {
            self.keys.former.note(key, reason);
        }
    }

    /// Returns true if this is the key of a former peer ([`Endpoint::decline`]) that has not been added again.
    pub fn declines(&self, key: &PublicKey) -> bool {
        self.keys.former.reason(key).is_some()
    }

    /// Changes the features that this host announces to a peer from its next handshake on.
    pub fn change_features(
        &mut self,
        peer: PeerId,
        change: impl FnOnce(u64) -> u64,
    ) -> Result<(), PeerError> {
        let peer = self.peers.get_mut(&peer).ok_or(PeerError::Unknown)?;
        peer.features = change(peer.features);
        Ok(())
    }

    /// Begins a handshake and keeps a session alive from now on, however long a fade lasts.
    pub fn connect(&mut self, now: Instant, peer: PeerId) -> Result<(), PeerError> {
        self.initiator(peer)?.wanted = true;
        self.act_on_deadlines(now, peer);
        self.reschedule(peer);
        Ok(())
    }

    /// Drops the sessions with a peer and begins no handshake until [`Self::connect`].
    pub fn disconnect(&mut self, peer: PeerId) -> Result<(), PeerError> {
        self.initiator(peer)?.wanted = false;
        self.forget_sessions(peer)
    }

    /// Retries at once after the link has come up: sends the initiation in flight, else a probe of the session,
    /// without waiting for its timer.
    pub fn retry_now(&mut self, now: Instant, peer: PeerId) -> Result<(), PeerError> {
        if self.initiator(peer)?.wanted {
            self.hasten(now, peer);
            self.reschedule(peer);
        }
        Ok(())
    }

    /// Retries soon: the network reports that no process listens at the peer's port, so the path is there and the peer
    /// may start again. The report may be forged; then it costs an initiation a second.
    pub fn retry_soon(&mut self, now: Instant, peer: PeerId) -> Result<(), PeerError> {
        if self.initiator(peer)?.wanted {
            self.retry_earlier(now, peer);
            self.reschedule(peer);
        }
        Ok(())
    }

    /// Handles a datagram from any sender, whose address is not known; data is opened in place.
    pub fn handle_datagram<'a>(&mut self, now: Instant, datagram: &'a mut [u8]) -> Received<'a> {
        self.handle_datagram_from(now, None, datagram)
    }

    /// Handles a datagram from this address; data is opened in place.
    pub fn handle_datagram_from<'a>(
        &mut self,
        now: Instant,
        from: Option<HopAddress>,
        datagram: &'a mut [u8],
    ) -> Received<'a> {
        let handled = match Message::parse(datagram) {
            Ok(Message::Data { receiver, low }) => {
                return match self.handle_data(now, datagram, receiver, low) {
                    // As the last datagram it is the newest; older keys cannot end a session.
                    Ok(data) if data.newest && *plaintext_of(datagram) == GOODBYE => {
                        self.handle_goodbye(data.peer);
                        Received::Goodbye(data.peer)
                    }
                    Ok(data) => Received::Data {
                        peer: data.peer,
                        number: data.number,
                        newest: data.newest,
                        proven: from.is_some() && data.confirmed_at == from,
                        plaintext: plaintext_of(datagram),
                    },
                    Err(cause) => self.drop_for(cause),
                };
            }
            Ok(Message::Initiation(initiation)) => match self.admit(now, from, initiation) {
                Admission::Granted(to) => match self.handle_initiation(now, from, to, initiation) {
                    Ok(Reaction::Handled(peer)) => Ok(peer),
                    Ok(Reaction::Declined(response)) => {
                        self.counters.count(DropCause::Declined);
                        let reply = &mut datagram[..response.len()];
                        reply.copy_from_slice(&response);
                        return Received::Reply(reply);
                    }
                    Err(cause) => Err(cause),
                },
                Admission::Refused(cause) => Err(cause),
                Admission::Unproven(to, secret) => {
                    self.counters.count(DropCause::Unproven);
                    return Received::Reply(self.reply_with_cookie(to, &secret, datagram));
                }
            },
            Ok(Message::Response(response)) => self.handle_response(now, response),
            Ok(Message::CookieReply(reply)) => match self.handle_cookie_reply(now, reply) {
                Ok(()) => return Received::CookieReply,
                Err(cause) => Err(cause),
            },
            Ok(Message::VersionReply(reply)) => match self.handle_version_reply(reply) {
                Ok(()) => return Received::CookieReply,
                Err(cause) => Err(cause),
            },
            Err(ParseError::Malformed) => Err(DropCause::Malformed),
            Err(ParseError::OtherVersion) => {
                self.counters.count(DropCause::OtherVersion);
                let reply = self.reply_with_version(datagram);
                return reply.map_or(Received::Dropped(DropCause::OtherVersion), Received::Reply);
            }
        };
        match handled {
            Ok(peer) => {
                self.reschedule(peer);
                Received::Handshake(peer)
            }
            Err(cause) => self.drop_for(cause),
        }
    }

    /// Seals a packet for `peer` in place and returns its number in the session.
    ///
    /// `buffer` is laid out as [`DATA_HEADER_BYTES`] bytes to be written, the plaintext, and 16 bytes to be
    /// written; afterwards all of it is the datagram. Seal when a packet leaves and not before: each
    /// transmission has its own number, and keys outlive no queue.
    pub fn seal(
        &mut self,
        now: Instant,
        peer: PeerId,
        buffer: &mut [u8],
    ) -> Result<u64, SealError> {
        self.seal_for(now, peer, buffer, true)
    }

    /// Seals as [`seal`](Self::seal), for a way by which `peer` may be out of reach: silence says nothing then.
    pub fn seal_beside(
        &mut self,
        now: Instant,
        peer: PeerId,
        buffer: &mut [u8],
    ) -> Result<u64, SealError> {
        self.seal_for(now, peer, buffer, false)
    }

    fn seal_for(
        &mut self,
        now: Instant,
        peer: PeerId,
        buffer: &mut [u8],
        has_answer: bool,
    ) -> Result<u64, SealError> {
        let length = buffer.len();
        if length < DATA_OVERHEAD_BYTES {
            return Err(SealError::BufferTooShort { length });
        }
        let limits = &self.limits;
        let held = self.peers.get_mut(&peer).ok_or(SealError::UnknownPeer)?;
        let current = held.sessions.current.as_deref_mut();
        let current = current
            .filter(|current| limits.allow(current, now))
            .ok_or(SealError::NoSession)?;
        let number = current.sent();
        current.seal(buffer);
        if let Side::Initiator(initiator) = &mut held.side {
            let worn = number + 1 == limits.rekey_after_messages;
            if worn || (has_answer && initiator.silent_since.is_none()) {
                initiator.silent_since.get_or_insert(now);
                self.reschedule(peer);
            }
        }
        Ok(number)
    }

    /// Returns the time at which the keys shared with a peer expire, unless they are renewed; none if there are none.
    pub fn expires_at(&self, peer: PeerId) -> Option<Instant> {
        let current = self.peers.get(&peer)?.sessions.current.as_deref()?;
        Some(current.terms.created + self.limits.reject_after)
    }

    /// Returns the next effect to carry out, or none if there are no more.
    #[must_use = "an output that is dropped is an effect that never happens"]
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Returns true if an output waits that announces a new epoch with `peer`: the owner's state of the former epoch is
    /// void, although the keys of the new one are in use.
    pub fn begins_anew(&self, peer: PeerId) -> bool {
        let announces = |output: &Output| {
            matches!(output, Output::Event(Event::Established { peer: with, begins_anew: true, .. })
                if *with == peer)
        };
        self.outputs.iter().any(announces)
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) is next due; it may turn out to have
    /// nothing to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.schedule.first()
    }

    /// Handles every timer that has expired.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(peer) = self.schedule.pop_due(now) {
            self.act_on_deadlines(now, peer);
            self.reschedule(peer);
        }
    }

    /// Opens a data datagram in place.
    fn handle_data(
        &mut self,
        now: Instant,
        datagram: &mut [u8],
        index: u32,
        low: u32,
    ) -> Result<Data, DropCause> {
        let id = *self.by_index.get(&index).ok_or(DropCause::UnknownIndex)?;
        let peer = self.peers.get_mut(&id).ok_or(DropCause::UnknownIndex)?;
        let found = peer.sessions.by_index(index);
        let (slot, transport) = found.ok_or(DropCause::UnknownIndex)?;
        if !self.limits.allow(transport, now) {
            return Err(DropCause::Expired);
        }
        let opened = transport.open(datagram, low)?;
        let mut confirmed_at = None;
        match &mut peer.side {
            Side::Initiator(initiator) => {
                if slot == KeySlot::Current {
                    initiator.silent_since = None;
                    self.end_impatience(now, id);
                }
            }
            Side::Responder(responder) => {
                if slot == KeySlot::Next {
                    let newest = responder.newest.as_deref();
                    confirmed_at = newest.and_then(|newest| newest.asked_from);
                    self.confirm(now, id);
                }
                if opened.length == 0 {
                    self.send_empty(now, id);
                }
            }
        }
        Ok(Data {
            peer: id,
            number: opened.number,
            newest: opened.newest && slot != KeySlot::Previous,
            confirmed_at,
        })
    }

    /// Sends a datagram without content: a confirmation, a probe, or the answer to either.
    pub(crate) fn send_empty(&mut self, now: Instant, peer: PeerId) {
        let mut datagram = vec![0; DATA_OVERHEAD_BYTES];
        if self.seal(now, peer, &mut datagram).is_ok() {
            self.transmit(peer, Route::Peer, datagram);
        }
    }

    pub(crate) fn transmit(&mut self, peer: PeerId, route: Route, datagram: Vec<u8>) {
        self.outputs.push_back(Output::Transmit {
            peer,
            route,
            datagram,
        });
    }

    /// Schedules the next check of the peer at its deadline. A deadline that has moved to later is left as it is, so
    /// that the common packet costs nothing here.
    pub(crate) fn reschedule(&mut self, id: PeerId) {
        let peer = self.peers.get(&id);
        if let Some(deadline) = peer.and_then(|peer| peer.deadline(&self.limits)) {
            self.schedule.set_earlier(id, deadline);
        }
    }

    pub(crate) fn initiator(&mut self, peer: PeerId) -> Result<&mut InitiatorState, PeerError> {
        match self.peers.get_mut(&peer).map(|peer| &mut peer.side) {
            Some(Side::Initiator(initiator)) => Ok(initiator),
            Some(Side::Responder(_)) => Err(PeerError::NotInitiator),
            None => Err(PeerError::Unknown),
        }
    }

    pub(crate) fn forget_sessions(&mut self, peer: PeerId) -> Result<(), PeerError> {
        let peer = self.peers.get_mut(&peer).ok_or(PeerError::Unknown)?;
        for transport in peer.sessions.slots().into_iter().filter_map(Option::take) {
            self.by_index.remove(&transport.terms.local_index);
        }
        match &mut peer.side {
            Side::Initiator(initiator) => {
                initiator.silent_since = None;
                if let Some(flight) = initiator.flight.take() {
                    self.by_index.remove(&flight.index);
                }
            }
            Side::Responder(responder) => responder.forget_answer(),
        }
        Ok(())
    }

    fn drop_for(&mut self, cause: DropCause) -> Received<'static> {
        self.counters.count(cause);
        Received::Dropped(cause)
    }

    pub(crate) fn announce(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }
}

/// An authentic data datagram.
struct Data {
    peer: PeerId,
    number: u64,
    newest: bool,
    /// The only address to which the response went that this datagram confirms.
    confirmed_at: Option<HopAddress>,
}

fn plaintext_of(datagram: &mut [u8]) -> &mut [u8] {
    let end = datagram.len() + DATA_HEADER_BYTES - DATA_OVERHEAD_BYTES;
    &mut datagram[DATA_HEADER_BYTES..end]
}
