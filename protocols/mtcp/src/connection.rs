//! One connection: both halves, the handshake around them, and when the other end is asked.

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
pub(crate) use ask::Asking;

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// This end asked for it.
    Opening,
    /// The other end asked for it; the driver has not answered yet.
    Waiting,
    /// This end agreed to it.
    Answered,
    /// It is made.
    Open,
    /// Both streams have ended; what the other end sends again is still answered.
    Lingering,
    /// This end broke it; the other end is asked whether it knows.
    Aborted(Reason),
    /// It is no more.
    Gone,
}

/// What is known of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Where it stands.
    pub phase: Phase,
    /// What the ends agreed on; while it opens, what this end offers.
    pub profile: Profile,
    /// Its ends.
    pub addresses: Addresses,
    /// What was sent and is not acknowledged, in bytes.
    pub flight: u64,
    /// The receive buffer as it is now, in bytes.
    pub receive_buffer: u64,
    /// The smoothed round trip.
    pub round_trip: Option<Duration>,
    /// The retransmission timeout, before it is rounded up to a tick.
    pub timeout: Duration,
    /// What went over it.
    pub traffic: Traffic,
}

/// A connection's names on the hop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names {
    /// In packets to this end.
    pub(crate) own: Cid,
    /// In packets to the other end.
    pub(crate) peer: Cid,
}

/// What the ends agreed on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Agreed {
    pub(crate) profile: Profile,
    /// The longest packet, in bytes.
    pub(crate) packet: u16,
    /// The other end keeps no timers.
    pub(crate) lean_peer: bool,
    /// While it opens: it is asked for in the paper's profile if that is all that the other end has.
    pub(crate) falls_back: bool,
}

/// What the other end and the driver are to be told.
#[derive(Debug)]
pub(crate) struct News<C> {
    pub(crate) control: Option<Kind>,
    pub(crate) arrived: bool,
    pub(crate) connected: bool,
    pub(crate) writable: bool,
    pub(crate) data: Option<C>,
    /// The end of the other end's stream was told.
    finished: bool,
    /// This end's stream ended before the other's.
    finished_first: bool,
    /// What became of the connection, once the driver knows or is about to.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) reset: Option<Reason>,
}

/// What became of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Both streams arrived whole.
    Whole,
    /// It was not made, or was broken.
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
    asking: Asking,
    pub(crate) news: News<C>,
    /// Control packets sent, and timeouts.
    traffic: Traffic,
    config: Arc<Config>,
}

/// Who a new connection is.
pub(crate) struct Identity {
    pub(crate) id: ConnectionId,
    pub(crate) own: Cid,
    pub(crate) addresses: Addresses,
    /// The number of its SYN.
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
            asking: Asking::new(&config.timing),
            news: News {
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

    /// What is known of it.
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

    /// What went over it.
    pub(crate) fn traffic(&self) -> Traffic {
        let mut traffic = self.traffic;
        traffic.sent += self.sender.sent;
        traffic.received += self.receiver.received;
        traffic
    }

    /// What it holds of both streams, and itself, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let content = self.sender.held() + self.receiver.held();
        content + size_of::<Self>() as u64
    }

    /// Whether it is not made yet.
    pub(crate) fn is_half_open(&self) -> bool {
        matches!(
            self.phase,
            Phase::Opening | Phase::Waiting | Phase::Answered
        )
    }

    /// Whether data could go out now if there were room for them on the hop.
    pub(crate) fn waits_for_room(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Lingering) && self.sender.can_send()
    }

    /// More is to be sent.
    pub(crate) fn write(&mut self, content: C) {
        self.sender.write(content);
    }

    /// The application takes up to `count` bytes.
    pub(crate) fn read(&mut self, count: u64) {
        let content = self.receiver.read(count);
        self.news.data.get_or_insert_default().append(content);
    }

    /// Nothing more will be written.
    pub(crate) fn close(&mut self) {
        self.sender.close();
    }

    /// Ends here and now; the other end is told, and asked whether it heard that.
    pub(crate) fn abort(&mut self, reason: Reason, now: Instant) {
        let open = self.phase == Phase::Open;
        self.end(reason);
        if open {
            self.phase = Phase::Aborted(reason);
            // Only its names and numbers are needed from here on.
            self.sender.discard();
            self.receiver.discard();
            self.stay(now);
        }
    }

    /// Ends here and now; the other end is told once.
    fn end(&mut self, reason: Reason) {
        if !matches!(self.phase, Phase::Gone | Phase::Aborted(_)) {
            self.news.control = Some(Kind::Reset(reason));
            self.news.outcome.get_or_insert(Outcome::Broken);
        }
        self.phase = Phase::Gone;
    }

    /// It is broken; the driver is told.
    pub(crate) fn fail(&mut self, reason: Reason) {
        if self.phase != Phase::Gone {
            self.news.reset = Some(reason).filter(|_| self.news.outcome.is_none());
            self.news.outcome.get_or_insert(Outcome::Broken);
            self.phase = Phase::Gone;
        }
    }

    /// What the other end is to be told, and the driver: data only where there is `room` for them on the hop.
    pub(crate) fn next_output(&mut self, room: bool, now: Instant) -> Option<Output<C>> {
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
        let packet = made.then(|| self.next_packet(room, now)).flatten();
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

    /// Whether both streams have ended, and all of them was acknowledged and read.
    fn end_if_whole(&mut self, now: Instant) -> bool {
        let whole =
            self.sender.is_finished() && self.news.finished && self.receiver.readable() == 0;
        if whole {
            self.news.outcome = Some(Outcome::Whole);
            self.linger(now);
        }
        whole
    }

    /// The next packet that is due.
    fn next_packet(&mut self, room: bool, now: Instant) -> Option<Data<C>> {
        let outgoing = room.then(|| self.sender.choose(now)).flatten();
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

    /// The question that is due to an end which may not know that the connection is broken.
    fn next_question(&mut self, now: Instant) -> Option<Output<C>> {
        if self.asking.take_question() {
            let data = self.empty(true, now);
            return Some(Output::Packet(Packet::Data(data)));
        }
        self.settle(now);
        None
    }

    /// A packet without data.
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

    /// A data packet that carries `outgoing`.
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

    /// A control packet of this connection.
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

    /// By how many bytes its receive buffer should grow, at most `room`; it does.
    pub(crate) fn grow(&mut self, room: u64) -> u64 {
        self.receiver.grow(room)
    }

    /// When something is to be done.
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

    /// The longest packet that both ends take.
    fn packet_length(&self, theirs: u16) -> u16 {
        self.config.packet.min(theirs).max(PACKET_MIN)
    }
}
