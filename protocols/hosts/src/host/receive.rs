//! The reception of datagrams.

use machine::Machine;
use session::{DATA_HEADER_BYTES, PeerId, PublicKey, Received};
use units::Instant;
use wire::address::HopAddress;
use wire::hop::{
    BindingMessage, ClaimMessage, MeasureMessage, NoticeMessage, PathMessage, RelayHeader,
    ResolverMessage,
};
use wire::ip::Ecn;
use wire::packet::PacketBuffer;

use super::Host;
use super::relay::Inner;
use super::validation::Arrival;
use crate::Role;
use crate::site::{Parts, Watch};
use crate::tap::Handled;

/// A message in place of a frame, unless it is about a path.
#[derive(Debug, Clone)]
enum Message {
    Claim(ClaimMessage),
    Binding(BindingMessage),
    Resolver(ResolverMessage),
    Notice(NoticeMessage),
    Measure(MeasureMessage),
    /// A part of a message about who serves a mobile host.
    Part(Vec<u8>),
}

impl Message {
    fn parse(plaintext: &[u8]) -> Option<Self> {
        let claim = ClaimMessage::parse(plaintext).map(Self::Claim);
        claim
            .or_else(|| BindingMessage::parse(plaintext).map(Self::Binding))
            .or_else(|| ResolverMessage::parse(plaintext).map(Self::Resolver))
            .or_else(|| NoticeMessage::parse(plaintext).map(Self::Notice))
            .or_else(|| MeasureMessage::parse(plaintext).map(Self::Measure))
            .or_else(|| Parts::has(plaintext).then(|| Self::Part(plaintext.to_vec())))
    }
}

impl Host {
    /// Handles a datagram from the hop.
    pub(crate) fn datagram(
        &mut self,
        now: Instant,
        from: HopAddress,
        arrived: Instant,
        ecn: Ecn,
        mut buffer: PacketBuffer,
    ) {
        let mut arrival = Arrival::new(from, buffer.len());
        let mut is_data = false;
        let mut message = None;
        let received = self
            .endpoint
            .handle_datagram_from(now, Some(from), &mut buffer);
        let handled = Handled::of(&received);
        let heard = match received {
            Received::Data {
                peer,
                newest,
                proven,
                plaintext,
                ..
            } => {
                (arrival.newest, arrival.proven) = (newest, proven);
                is_data = true;
                arrival.message = PathMessage::parse(plaintext);
                message = Message::parse(plaintext);
                arrival.is_measurement = matches!(message, Some(Message::Measure(_)));
                Some((peer, plaintext.len()))
            }
            Received::Handshake(peer) => {
                // A response answers this host's own initiation, so it is new; an initiation may be a copy.
                arrival.newest = self.role == Role::Mobile;
                arrival.is_handshake = true;
                Some((peer, 0))
            }
            Received::Dropped(cause) => {
                self.dropped(now, from, cause);
                None
            }
            Received::Reply(reply) => {
                let length = reply.len();
                buffer.truncate(length);
                return self.dispatch(now, from, buffer, Ecn::NotCapable);
            }
            Received::Goodbye(_) | Received::CookieReply => None,
        };
        self.tap_arrival(from, ecn, handled, &buffer);
        let heard = heard.and_then(|(peer, length)| {
            let index = self.arrived(now, peer, is_data, arrival)?;
            Some((index, length))
        });
        self.follow_sessions(now, Some(from));
        let is_message = arrival.message.is_some() || message.is_some();
        if let Some((index, _)) = heard {
            self.take_message(now, index, arrival, message);
        }
        let is_frame = |(_, length): &(_, usize)| *length > 0 && !is_message;
        let Some((index, length)) = heard.filter(is_frame) else {
            return;
        };
        buffer.advance(DATA_HEADER_BYTES);
        buffer.truncate(length);
        self.frame(now, index, arrived, ecn, buffer);
    }

    /// Passes a frame of a peer to its association, or a datagram in its place on.
    fn frame(
        &mut self,
        now: Instant,
        index: usize,
        arrived: Instant,
        ecn: Ecn,
        mut frame: PacketBuffer,
    ) {
        if let Some(header) = RelayHeader::parse(&frame) {
            frame.advance(header.length());
            let inner = Inner {
                header,
                arrived,
                ecn,
                buffer: frame,
            };
            return self.relayed(now, index, inner);
        }
        if self.peers[index].site.is_void || self.waits_for_attachment(index) {
            return;
        }
        self.watched(index, |watch| watch.got_frame(now));
        if index == self.mobile.gateway && self.compares_gateways() {
            self.mobile.comparisons.saw_traffic(now);
        }
        self.lend(now, index, frame.len());
        self.limit_release(now, index);
        let input = association::Input::Frame {
            arrived,
            frame,
            ecn,
        };
        self.associated(now, index).handle_input(now, input);
        self.forward(now, index);
    }

    /// Handles the message in a datagram of a peer, if there is one.
    fn take_message(
        &mut self,
        now: Instant,
        index: usize,
        arrival: Arrival,
        message: Option<Message>,
    ) {
        match message {
            Some(Message::Claim(ClaimMessage::Claim(key))) => {
                self.claimed(now, index, PublicKey::from_bytes(key));
            }
            Some(Message::Claim(ClaimMessage::Successor(key))) => {
                self.succeeded(now, index, PublicKey::from_bytes(key));
            }
            Some(Message::Claim(ClaimMessage::Refused(reason))) => {
                self.own_claim_refused(index, reason);
            }
            Some(Message::Binding(message)) => {
                self.binding_message(now, index, arrival.from, message);
            }
            Some(Message::Resolver(message)) => self.resolver_message(now, index, message),
            Some(Message::Notice(notice)) => self.noticed(now, index, notice),
            Some(Message::Measure(message)) => self.measured(now, index, arrival.from, message),
            Some(Message::Part(part)) => self.take_part(now, index, &part),
            // A challenge follows a question from a new binding, and must not disturb its answer.
            None if arrival.message.is_some() => {}
            None => self.use_binding(now),
        }
    }

    /// Notes that a datagram of this peer has arrived; returns the peer's index.
    fn arrived(
        &mut self,
        now: Instant,
        peer: PeerId,
        is_data: bool,
        arrival: Arrival,
    ) -> Option<usize> {
        let index = self.peers.index_of(peer)?;
        // A handshake message proves no new address, and a refusal leads to no keys that could. Nor do former keys: the
        // peer may not have got anything under the present ones.
        let is_known = self.peers[index].endpoint == Some(arrival.from);
        if matches!(arrival.message, Some(PathMessage::Answer(_))) {
            self.watched(index, Watch::answered);
        }
        let is_found = is_known || (is_data && arrival.newest);
        self.heard(now, index, is_found.then_some(arrival.from));
        if is_data {
            self.home_was_heard(now, index);
        }
        self.gateway_is_back(now, index, arrival.from);
        self.way_answers(now, index, arrival.from);
        let before = self.peers[index].endpoint;
        self.locate(now, index, arrival);
        self.note_move(now, index, before);
        Some(index)
    }
}
