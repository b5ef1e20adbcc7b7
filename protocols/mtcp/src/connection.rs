//! One connection: both halves, the handshake around them, and polls of the peer.

mod arrive;
mod ask;
mod open;
mod state;

use std::sync::Arc;

use machine::earlier;
use redirector::Content;
use units::{Duration, Instant};

use crate::config::PACKET_MIN;
use crate::counters::Traffic;
use crate::packet::{Cid, Control, Data, Flags, Kind};
use crate::receiver::Receiver;
use crate::sender::{Outgoing, Sender};
use crate::tick::Ticks;
use crate::{Addresses, Config, ConnectionId, Output, Packet, Profile, Reason};
pub(crate) use ask::PollState;

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// This end sent a SYN.
    Opening,
    /// A SYN of the peer arrived; the driver has not answered yet.
    Waiting,
    /// This end agreed to the SYN of the peer.
    Answered,
    /// Established.
    Open,
    /// Both streams have ended; retransmissions of the peer are still answered.
    Lingering,
    /// This end reset the connection; it polls the peer until the peer knows that.
    Aborted(Reason),
    /// Closed; the entry can be removed.
    Gone,
}

/// Status of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// State of the connection.
    pub phase: Phase,
    /// Profile that the ends agreed on; while the connection opens, the profile that this end offers.
    pub profile: Profile,
    /// Addresses of both ends.
    pub addresses: Addresses,
    /// Bytes in flight: sent and not acknowledged.
    pub flight: u64,
    /// Current receive buffer, in bytes.
    pub receive_buffer: u64,
    /// Smoothed round-trip time.
    pub round_trip: Option<Duration>,
    /// Retransmission timeout, before it is rounded up to a tick.
    pub timeout: Duration,
    /// Counters of its packets and bytes.
    pub traffic: Traffic,
}

/// Connection IDs of a connection on the hop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names {
    /// ID in packets to this end.
    pub(crate) own: Cid,
    /// ID in packets to the peer.
    pub(crate) peer: Cid,
}

/// Parameters that the ends agreed on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Agreed {
    pub(crate) profile: Profile,
    /// Maximum packet length, in bytes.
    pub(crate) packet: u16,
    /// Set if the peer keeps no timers.
    pub(crate) lean_peer: bool,
    /// Set while the connection opens if the paper's profile is tried when the peer has no other.
    pub(crate) falls_back: bool,
}

/// Pending outputs of a connection, to the peer and to the driver.
#[derive(Debug)]
pub(crate) struct PendingOutputs<C> {
    pub(crate) control: Option<Kind>,
    pub(crate) arrived: bool,
    pub(crate) connected: bool,
    pub(crate) writable: bool,
    pub(crate) data: Option<C>,
    /// Set once the end of the peer's stream was reported to the driver.
    finished: bool,
    /// Set if this end's stream ended before the peer's.
    finished_first: bool,
    /// Outcome of the connection, once it was reported to the driver or is about to be.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) reset: Option<Reason>,
}

/// Outcome of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Both streams arrived completely.
    Whole,
    /// The connection was not established, or was reset.
    Broken,
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct Connection<C> {
    pub(crate) id: ConnectionId,
    pub(crate) names: Names,
    pub(crate) addresses: Addresses,
    pub(crate) phase: Phase,
    agreed: Agreed,
    sender: Sender<C>,
    receiver: Receiver<C>,
    asking: PollState,
    pub(crate) news: PendingOutputs<C>,
    /// Counters of control packets sent, and of timeouts.
    traffic: Traffic,
    config: Arc<Config>,
}

/// Identifiers of a new connection.
pub(crate) struct Identity {
    pub(crate) id: ConnectionId,
    pub(crate) own: Cid,
    pub(crate) addresses: Addresses,
    /// Sequence number of this end's SYN.
    pub(crate) first: u32,
}

impl<C: Content + Clone> Connection<C> {
    fn new(identity: &Identity, phase: Phase, profile: Profile, config: Arc<Config>) -> Self {
        Self {
            id: identity.id,
            names: Names {
                own: identity.own,
                peer: Cid::NONE,
            },
            addresses: identity.addresses,
            phase,
            agreed: Agreed {
                profile,
                packet: config.packet,
                lean_peer: false,
                falls_back: false,
            },
            sender: Sender::new(&config, identity.first, profile),
            receiver: Receiver::new(&config, profile),
            asking: PollState::new(&config.timing),
            news: PendingOutputs {
                control: None,
                arrived: false,
                connected: false,
                writable: false,
                data: None,
                finished: false,
                finished_first: false,
                outcome: None,
                reset: None,
            },
            traffic: Traffic::default(),
            config,
        }
    }

    /// Returns the status of the connection.
    pub(crate) fn status(&self) -> Status {
        Status {
            phase: self.phase,
            profile: self.agreed.profile,
            addresses: self.addresses,
            flight: self.sender.flight_bytes(),
            receive_buffer: self.receiver.buffer(),
            round_trip: self.sender.clock.round_trip.smoothed(),
            timeout: self.sender.clock.timeout(),
            traffic: self.traffic(),
        }
    }

    /// Returns the counters of the connection.
    pub(crate) fn traffic(&self) -> Traffic {
        let mut traffic = self.traffic;
        traffic.sent += self.sender.sent;
        traffic.received += self.receiver.received;
        traffic
    }

    /// Returns the memory of the connection in bytes: buffered data of both streams, and itself.
    pub(crate) fn memory(&self) -> u64 {
        let content = self.sender.held() + self.receiver.held();
        content + size_of::<Self>() as u64
    }

    /// Returns true while the connection is being established.
    pub(crate) fn is_half_open(&self) -> bool {
        matches!(
            self.phase,
            Phase::Opening | Phase::Waiting | Phase::Answered
        )
    }

    /// Returns true if data could go out now if the hop had room for them.
    pub(crate) fn waits_for_room(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Lingering) && self.sender.can_send()
    }

    /// Adds data to be sent.
    pub(crate) fn write(&mut self, content: C) {
        self.sender.write(content);
    }

    /// Hands up to `count` bytes to the application.
    pub(crate) fn read(&mut self, count: u64) {
        let content = self.receiver.read(count);
        self.news.data.get_or_insert_default().append(content);
    }

    /// Ends this end's stream: nothing more will be written.
    pub(crate) fn close(&mut self) {
        self.sender.close();
    }

    /// Resets the connection at once; the peer is notified, and polled until it knows that.
    pub(crate) fn abort(&mut self, reason: Reason, now: Instant) {
        let open = self.phase == Phase::Open;
        self.end(reason);
        if open {
            self.phase = Phase::Aborted(reason);
            // Only its IDs and numbers are needed from here on.
            self.sender.discard();
            self.receiver.discard();
            self.stay(now);
        }
    }

    /// Resets the connection at once; the peer is notified once.
    fn end(&mut self, reason: Reason) {
        if !matches!(self.phase, Phase::Gone | Phase::Aborted(_)) {
            self.news.control = Some(Kind::Reset(reason));
            self.news.outcome.get_or_insert(Outcome::Broken);
        }
        self.phase = Phase::Gone;
    }

    /// Ends the connection with an error, which is reported to the driver.
    pub(crate) fn fail(&mut self, reason: Reason) {
        if self.phase != Phase::Gone {
            self.news.reset = Some(reason).filter(|_| self.news.outcome.is_none());
            self.news.outcome.get_or_insert(Outcome::Broken);
            self.phase = Phase::Gone;
        }
    }

    /// Returns the next output for the peer or the driver: data only if the hop has `room` for them.
    pub(crate) fn next_output(&mut self, longest: Option<u16>, now: Instant) -> Option<Output<C>> {
        if let Some(kind) = self.news.control.take() {
            self.traffic.sent.control_packets += 1;
            return Some(Output::Packet(Packet::Control(self.control(kind))));
        }
        if self.phase == Phase::Gone {
            let reset = self.news.reset.take()?;
            return Some(Output::Reset(self.id, reset));
        }
        if matches!(self.phase, Phase::Aborted(_)) {
            return self.next_question(now);
        }
        if let Some(news) = self.next_news(now) {
            return Some(news);
        }
        let made = matches!(self.phase, Phase::Open | Phase::Lingering);
        let packet = made.then(|| self.next_packet(longest, now)).flatten();
        packet.map(|data| Output::Packet(Packet::Data(data)))
    }

    fn next_news(&mut self, now: Instant) -> Option<Output<C>> {
        if std::mem::take(&mut self.news.arrived) {
            return Some(Output::Arrived(self.id, self.addresses));
        }
        if std::mem::take(&mut self.news.connected) {
            return Some(Output::Connected(self.id));
        }
        if let Some(content) = self.news.data.take() {
            return Some(Output::Data(self.id, content));
        }
        if self.news.outcome.is_some() {
            return None;
        }
        if let Some(bytes) = self.receiver.tell() {
            return Some(Output::Readable(self.id, bytes));
        }
        if std::mem::take(&mut self.news.writable) && self.sender.room() > 0 {
            return Some(Output::Writable(self.id, self.sender.room()));
        }
        if self.receiver.is_finished() && !self.news.finished {
            self.news.finished = true;
            return Some(Output::Finished(self.id));
        }
        self.end_if_whole(now).then_some(Output::Closed(self.id))
    }

    /// Ends the connection if both streams have ended, and all data were acknowledged and read. Returns true if so.
    fn end_if_whole(&mut self, now: Instant) -> bool {
        let whole =
            self.sender.is_finished() && self.news.finished && self.receiver.readable() == 0;
        if whole {
            self.news.outcome = Some(Outcome::Whole);
            self.linger(now);
        }
        whole
    }

    /// Returns the next packet that is due, if any.
    fn next_packet(&mut self, longest: Option<u16>, now: Instant) -> Option<Data<C>> {
        let header = self.agreed.profile.header_length();
        let outgoing = longest.and_then(|longest| {
            let most = usize::from(longest).saturating_sub(header) as u64;
            self.sender.choose(now, most)
        });
        if let Some(outgoing) = outgoing {
            let ends_burst = self.agreed.lean_peer && self.sender.ends_burst();
            let poll = self.asking.take_question() || ends_burst || self.sender.is_alone();
            self.news.finished_first |= outgoing.fin && !self.receiver.is_finished();
            return Some(self.data(outgoing, poll, now));
        }
        let follows = self.sender.wants_follower() && !self.sender.can_send();
        let poll = self.asking.take_question() || follows;
        if !poll && !self.receiver.acknowledges_now() {
            self.settle(now);
            return None;
        }
        Some(self.empty(poll, now))
    }

    /// Returns the poll that is due to a peer which may not know that the connection was reset.
    fn next_question(&mut self, now: Instant) -> Option<Output<C>> {
        if self.asking.take_question() {
            let data = self.empty(true, now);
            return Some(Output::Packet(Packet::Data(data)));
        }
        self.settle(now);
        None
    }

    /// Returns a packet without data.
    fn empty(&mut self, poll: bool, now: Instant) -> Data<C> {
        self.sender.sent.acknowledgments += 1;
        let outgoing = Outgoing {
            start: self.sender.position(),
            content: C::default(),
            fin: false,
            cycle: self.sender.stamp(),
        };
        self.data(outgoing, poll, now)
    }

    /// Returns a data packet that carries `outgoing`.
    fn data(&mut self, outgoing: Outgoing<C>, poll: bool, now: Instant) -> Data<C> {
        let Agreed {
            profile, packet, ..
        } = self.agreed;
        let used = profile.header_length() as u64 + outgoing.content.length();
        let room = u64::from(packet).saturating_sub(used) / 8;
        let room = match profile {
            Profile::Paper => 0,
            Profile::Wide => room as usize,
        };
        let report = self.receiver.report(room, now);
        self.receiver.sent(outgoing.cycle, now);
        let sent = &mut self.sender.sent;
        sent.requests += u64::from(report.request);
        sent.polls += u64::from(poll);
        Data {
            profile,
            flags: Flags {
                request: report.request,
                fin: outgoing.fin,
                poll,
                cause: report.cause,
            },
            connection: self.names.peer,
            sequence: self.sender.numbers.number(outgoing.start),
            acknowledgment: report.acknowledgment,
            window: report.window,
            negative: report.negative,
            further: report.further,
            cycle: outgoing.cycle as u16 & profile.cycle_mask(),
            reply: report.reply,
            content: outgoing.content,
        }
    }

    /// Returns a control packet of this connection.
    fn control(&self, kind: Kind) -> Control {
        let profile = self.agreed.profile;
        let known = self.phase != Phase::Opening && self.names.peer != Cid::NONE;
        let (sequence, acknowledgment) = match kind {
            Kind::Syn => (0, 0),
            Kind::SynAck => (0, 1),
            _ => (self.sender.position(), self.receiver.next()),
        };
        Control {
            profile,
            kind,
            lean: self.config.lean,
            connection: self.names.peer,
            reverse: self.names.own,
            sequence: self.sender.numbers.number(sequence),
            acknowledgment: if known {
                self.receiver.numbers.number(acknowledgment)
            } else {
                0
            },
            buffer: self.config.buffer(profile),
            packet: self.config.packet,
            shift: self.config.announced_shift(profile),
            addresses: self.addresses,
        }
    }

    /// Grows the receive buffer as far as it should, by at most `room` bytes. Returns the growth in bytes.
    pub(crate) fn grow(&mut self, room: u64) -> u64 {
        self.receiver.grow(room)
    }

    /// Returns the earliest deadline of the connection, if it has one.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        if matches!(self.phase, Phase::Aborted(_)) {
            return self.asking.deadline();
        }
        let sender = self.sender.clock.deadline;
        let halves = earlier(sender, self.receiver.deadline());
        earlier(halves, self.asking.deadline())
    }

    fn ticks(&self) -> Ticks {
        Ticks::new(&self.config.timing)
    }

    /// Returns the maximum packet length for both ends, in bytes.
    fn packet_length(&self, theirs: u16) -> u16 {
        self.config.packet.min(theirs).max(PACKET_MIN)
    }
}
