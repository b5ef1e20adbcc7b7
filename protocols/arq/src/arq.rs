//! The machine.

mod settle;

use std::collections::VecDeque;

use machine::Machine;
use units::{Bytes, Duration, Instant, Probability};
use wire::flow::{Class, FlowKey};
use wire::hop::{Chunk, FRAME_HEADER, Frame, FrameWriter, expand};
use wire::ip::Ecn;
use wire::packet::{HEADROOM, Packet, PacketBuffer};

use crate::acknowledge::Acknowledger;
use crate::flow::{Admission, Lane};
use crate::inbox::Inbox;
use crate::ledger::Ledger;
use crate::limits::{QueueLimits, Shares};
use crate::outbox::Outbox;
use crate::pace::Pace;
use crate::receiver::Refused;
use crate::round_trip::RoundTrip;
use crate::stats::{EcnStats, Fade, LossMonitor, Stats};
use crate::watch::Pattern;
use crate::{Config, Input, Output};

/// Transmissions remembered that ask for nothing.
const LEDGER_QUIET_MAX: usize = 256;
/// How often idle flows are looked for.
const TIDY: Duration = Duration::from_secs(10);
/// A stream is young until it has carried so many bandwidth-delay products, or so many bytes while the rate is
/// not known: then its sender has left slow start.
const YOUNG_PRODUCTS: u64 = 4;
const YOUNG: u64 = 4 << 20;
/// For how long after a fade others are expected.
const FADING: Duration = Duration::from_secs(30);
/// What a frame holds beside a packet of the split transport: its header, the chunk's, and an acknowledgement.
const BESIDE_TRANSPORT: usize = 40;
/// Room behind a frame for its seal.
const TAILROOM: usize = 32;

/// One end of a hop.
#[derive(Debug)]
pub struct Arq {
    config: Config,
    shares: Shares,
    outputs: VecDeque<Output>,
    outbox: Outbox,
    ledger: Ledger,
    inbox: Inbox,
    acknowledger: Acknowledger,
    round_trip: RoundTrip,
    losses: LossMonitor,
    fade: Option<Fade>,
    pace: Pace,
    stats: Stats,
    /// Ranges of the acknowledgement at hand, kept for its storage.
    scratch: Vec<(u64, u64)>,
}

impl Arq {
    /// One end of a hop, idle.
    pub fn new(config: Config) -> Self {
        let shares = Shares::new(config.memory, config.queue);
        Self {
            outbox: Outbox::new(&config, shares),
            config,
            shares,
            outputs: VecDeque::new(),
            ledger: Ledger::default(),
            inbox: Inbox::new(shares.incoming),
            acknowledger: Acknowledger::default(),
            round_trip: RoundTrip::default(),
            losses: LossMonitor::default(),
            fade: None,
            pace: Pace::default(),
            stats: Stats::default(),
            scratch: Vec::new(),
        }
    }

    /// The counts so far.
    pub fn stats(&self) -> Stats {
        let mut stats = self.stats.clone();
        stats.sent.packets_abandoned = self.outbox.abandoned();
        stats.sent.packets_capped = self.outbox.capped();
        stats.sent.packets_in_common = self.outbox.in_common();
        stats.ecn = EcnStats {
            outwards: self.ledger.marks.ability(),
            frames_marked: self.ledger.marks.marked(),
            frames_came_marked: self.acknowledger.marks.marked(),
            packets_marked: self.outbox.marked(),
        };
        stats
    }

    /// What the hop's round trip is: smoothed, and the smallest of late.
    pub fn round_trip(&self) -> (Duration, Duration) {
        (self.round_trip.smoothed(), self.round_trip.smallest())
    }

    /// The smallest round trip of late, once one has been measured.
    pub fn measured_round_trip(&self) -> Option<Duration> {
        self.round_trip.measured()
    }

    /// The share of frames that the hop has lost of late, in the direction that loses more; nothing before some hundred
    /// have crossed.
    pub fn loss(&self) -> Option<Probability> {
        self.losses.share()
    }

    /// Since when nothing has come through.
    pub fn fade_since(&self) -> Option<Instant> {
        self.fade.map(|fade| fade.since)
    }

    /// Bytes of packets that wait for their first transmission.
    pub fn queued(&self) -> Bytes {
        Bytes::from(self.outbox.queued())
    }

    /// Bytes of those that are packets of the split transport.
    pub fn transport_queued(&self) -> Bytes {
        Bytes::from(self.outbox.transport_queued())
    }

    /// The longest packet of the split transport, in bytes: with acknowledgements of usual size it shares a frame.
    pub fn transport_packet_max(&self) -> usize {
        self.config.frame.saturating_sub(BESIDE_TRANSPORT)
    }

    /// Bytes that wait at this, the receiving, end for something missing before them.
    pub fn held(&self) -> Bytes {
        Bytes::new(self.inbox.held_bytes())
    }

    /// Bytes that this end holds for the other: packets and parts of them, and all that is noted of them. They never
    /// exceed [`Config::memory`].
    pub fn memory(&self) -> Bytes {
        let tables = self.ledger.memory() + self.scratch.capacity() * size_of::<(u64, u64)>();
        Bytes::from(size_of::<Self>() + self.outbox.memory() + self.inbox.memory() + tables)
    }

    /// Flows with packets from this end.
    pub fn flows(&self) -> usize {
        self.outbox.flows()
    }

    /// Lets a full queue take its share of a packet for the plain lane, before whoever repairs that lane keeps a
    /// copy: what is lost here is congestion, and its sender must hear of it. False if nothing is left.
    pub fn admit(&mut self, now: Instant, packet: &mut Packet, key: &FlowKey) -> bool {
        let admission = self.outbox.admit(now, packet, key);
        self.stats.sent.packets_dropped += u64::from(admission != Admission::Whole);
        admission != Admission::Dropped
    }

    /// Whether a grant would be used now.
    pub fn wants_air(&self, now: Instant) -> bool {
        let acknowledges = self.acknowledges_from().is_some_and(|due| due <= now);
        acknowledges || self.has_content(now)
    }

    /// When an acknowledgement is due.
    pub fn acknowledges_from(&self) -> Option<Instant> {
        self.acknowledger.due(self.ack_spacing())
    }

    /// Whether a grant would be used now for more than an acknowledgement.
    pub fn has_content(&self, now: Instant) -> bool {
        self.outbox.has_work() && self.may_send(now)
    }

    /// When [`wants_air`](Self::wants_air) becomes true, or since when it is; `None` if nothing that is
    /// known now leads to that.
    pub fn air_wanted_from(&self) -> Option<Instant> {
        let work = self.outbox.has_work() && self.has_room();
        let send = work.then_some(self.pace.next_probe);
        machine::earlier(self.acknowledges_from(), send)
    }

    /// Whether new transmissions may leave: the ledger has room, and a long fade only gets probes.
    fn may_send(&self, now: Instant) -> bool {
        let silent = self
            .fade
            .is_some_and(|fade| now.since(fade.since) > self.config.feed);
        self.has_room() && (!silent || now >= self.pace.next_probe)
    }

    /// Whether one transmission more can be remembered.
    fn has_room(&self) -> bool {
        self.ledger.len() < self.shares.transmissions
            && self.ledger.contents() < self.shares.contents
    }

    fn ack_spacing(&self) -> Duration {
        let fine = self.round_trip.smallest() / 16;
        fine.clamp(Duration::from_millis(1), Duration::from_millis(6))
    }

    fn grant(&mut self, now: Instant, bytes: Bytes) {
        self.repeat_due(now);
        let mut left = bytes.get() as i64;
        while left > 0 && self.wants_air(now) {
            match self.send_frame(now, !self.has_content(now)) {
                Some(wire_bytes) => left -= wire_bytes as i64,
                None => break,
            }
        }
    }

    /// Sends one frame with whatever is due, or with an acknowledgement `alone`; returns its bytes on the wire.
    fn send_frame(&mut self, now: Instant, alone: bool) -> Option<usize> {
        let number = self.ledger.next_number();
        let buffer = PacketBuffer::with_room(HEADROOM + self.config.frame + TAILROOM, HEADROOM);
        let mut frame = FrameWriter::new(buffer, number, self.config.frame);
        self.acknowledger.write(now, &mut frame, alone);
        let mut contents = 0;
        if !alone {
            let how = (self.pattern(now), &mut self.stats.sent);
            contents = self.outbox.fill(now, &mut frame, &mut self.ledger, how);
        }
        if frame.is_empty() {
            return None;
        }
        if self
            .fade
            .is_some_and(|fade| now.since(fade.since) > self.config.feed)
            && contents > 0
        {
            self.pace.next_probe = now + self.probe_interval(now);
        }
        let frame = frame.finish();
        let wire_bytes = frame.len() + self.config.overhead;
        let ecn = self.ledger.sent(now, wire_bytes, contents, contents > 0);
        self.ledger.forget_beyond(LEDGER_QUIET_MAX);
        self.stats.sent.frames += 1;
        self.stats.sent.wire_bytes += wire_bytes as u64;
        self.outputs.push_back(Output::Frame { frame, ecn });
        Some(wire_bytes)
    }

    fn repeat_due(&mut self, now: Instant) {
        let pattern = self.pattern(now);
        self.outbox.repeat_due(now, pattern);
    }

    fn transport(&mut self, now: Instant, buffer: PacketBuffer) {
        if buffer.is_empty() || buffer.len() > self.transport_packet_max() {
            self.stats.sent.packets_dropped += 1;
            return;
        }
        self.stats.sent.bytes_brief += buffer.len() as u64;
        let (key, packet) = (Lane::Transport.common(), Packet::new(buffer));
        self.stats.sent.packets_dropped += self.outbox.enqueue(now, packet, key, Lane::Transport);
        self.pace.next_tidy.get_or_insert(now + TIDY);
    }

    /// How sparse packets are sent again without news of them, so that the end of a fade is used at once.
    fn pattern(&self, now: Instant) -> Pattern {
        let slow = self.round_trip.smallest() > Duration::from_millis(16);
        let spacing = self.ack_spacing();
        Pattern {
            twice: self.losses.is_noisy() && slow,
            fading: self.pace.fading_until.is_some_and(|until| now < until),
            rate: self.pace.rate,
            young: self.pace.rate.map_or(YOUNG, |rate| {
                rate.bytes_in(self.round_trip.smallest()).get() * YOUNG_PRODUCTS
            }),
            expected: self.round_trip.patience(spacing),
            interval: spacing.max(Duration::from_millis(4)),
        }
    }

    /// How often a long fade is probed: often at first, never less than once a second.
    fn probe_interval(&self, now: Instant) -> Duration {
        let faded = self
            .fade
            .map_or(Duration::ZERO, |fade| now.since(fade.since));
        (faded / 100).clamp(Duration::from_millis(20), Duration::from_secs(1))
    }

    fn receive(&mut self, now: Instant, (arrived, ecn): (Instant, Ecn), bytes: &[u8]) {
        let Ok(frame) = Frame::parse(bytes) else {
            self.stats.received.frames_malformed += 1;
            return;
        };
        let wire_bytes = bytes.len() + self.config.overhead;
        let number = expand(frame.number, self.acknowledger.largest());
        let (mut asks, mut fits) = (false, true);
        for chunk in frame.chunks() {
            match chunk {
                Ok(Chunk::Ack(ack)) => self.acknowledged(now, arrived, &ack),
                Ok(chunk) => {
                    asks = true;
                    fits &= self.take_in(&chunk);
                }
                Err(_) => self.stats.received.frames_malformed += 1,
            }
        }
        let received = &mut self.stats.received;
        received.frames += 1;
        received.wire_bytes += wire_bytes as u64;
        // What there is no room for must come again, so it is as if it had not come.
        if fits {
            let arrival = self.acknowledger.arrived(arrived, number, wire_bytes);
            received.frames_missed += arrival.skipped;
            self.losses.missed(arrival.skipped);
            self.acknowledger.marks.arrived(ecn);
            if asks {
                self.acknowledger.asked(arrived);
            }
        }
        if self.inbox.has_partial() {
            self.pace.next_release.get_or_insert(now);
        }
    }

    /// Releases what has come of long packets. It is done by timeout, at the same instant, so that a driver which
    /// hands in a batch of frames gets long packets for them.
    /// Returns whether there is more to release.
    fn release(&mut self) -> bool {
        let (inbox, outputs, received) =
            (&mut self.inbox, &mut self.outputs, &mut self.stats.received);
        inbox.flush(&mut |packet| deliver(packet, outputs, received))
    }

    /// Takes in what a chunk carries; false if there is no room for it.
    fn take_in(&mut self, chunk: &Chunk<'_>) -> bool {
        let (inbox, outputs, received) =
            (&mut self.inbox, &mut self.outputs, &mut self.stats.received);
        let mut deliver = |packet| deliver(packet, outputs, received);
        let result = match *chunk {
            Chunk::Stream {
                flow,
                offset,
                end,
                bytes,
            } => inbox.stream(flow, offset, (bytes, end), &mut deliver),
            Chunk::Brief {
                packet,
                offset,
                end,
                bytes,
                ..
            } => inbox.brief(packet, offset, (bytes, end), &mut deliver),
            Chunk::Transport(bytes) => {
                received.packets += 1;
                received.bytes += bytes.len() as u64;
                outputs.push_back(Output::Transport(PacketBuffer::copy_of(bytes)));
                Ok(())
            }
            Chunk::Ack(_) | Chunk::Probe => Ok(()),
        };
        match result {
            Ok(()) => {}
            Err(Refused::Repeated) => received.chunks_repeated += 1,
            Err(Refused::Limit | Refused::Broken) => received.chunks_refused += 1,
        }
        result != Err(Refused::Limit)
    }

    fn set_limits(&mut self) {
        if let Some(rate) = self.pace.rate {
            self.outbox
                .set_limits(QueueLimits::new(rate, self.round_trip.smallest()));
        }
    }
}

fn deliver(packet: Packet, outputs: &mut VecDeque<Output>, received: &mut crate::ReceivedStats) {
    received.packets += 1;
    received.bytes += packet.buffer.len() as u64;
    outputs.push_back(Output::Packet(packet));
}

impl Machine for Arq {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        match input {
            Input::Packet { packet, key, class } => {
                let class = if self.config.limit_all {
                    Class::Brief
                } else {
                    class
                };
                let bytes = packet.buffer.len() as u64;
                match class {
                    Class::Held => self.stats.sent.bytes_held += bytes,
                    Class::Brief => self.stats.sent.bytes_brief += bytes,
                }
                self.stats.sent.packets_dropped +=
                    self.outbox.enqueue(now, packet, key, class.into());
                self.pace.next_tidy.get_or_insert(now + TIDY);
            }
            Input::Plain { packet, key, ahead } => {
                self.stats.sent.bytes_brief += packet.buffer.len() as u64;
                self.stats.sent.packets_dropped +=
                    self.outbox.enqueue(now, packet, key, Lane::Plain { ahead });
                self.pace.next_tidy.get_or_insert(now + TIDY);
            }
            Input::Transport(buffer) => self.transport(now, buffer),
            Input::Frame {
                arrived,
                frame,
                ecn,
            } => self.receive(now, (arrived.min(now), ecn), &frame),
            Input::AirFree(bytes) => self.grant(now, bytes),
            Input::AcknowledgementFree => {
                if self.acknowledges_from().is_some_and(|due| due <= now) {
                    self.send_frame(now, true);
                }
            }
            Input::Elsewhere(bytes) => self.ledger.elsewhere(bytes.get()),
            Input::Link(linked) => {
                self.pace.unlinked = !linked;
                if linked {
                    self.pace.next_probe = Instant::ZERO;
                }
            }
            Input::Rate(rate) => {
                self.pace.rate = Some(rate);
                self.set_limits();
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.patience_ends().is_some_and(|due| due <= now) {
            self.presume_lost(now);
        }
        if !self.pace.unlinked {
            self.repeat_due(now);
        }
        if self.pace.next_release.take_if(|due| *due <= now).is_some() {
            self.pace.next_release = self.release().then_some(now);
        }
        if self.pace.next_tidy.is_some_and(|due| due <= now) {
            self.outbox.end_idle(now);
            self.pace.next_tidy = (self.outbox.flows() > 0).then(|| now + TIDY);
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When something is due. A frame that is due waits for [`Input::AirFree`]; whoever grants asks
    /// [`Arq::wants_air`] at these times too.
    fn poll_timeout(&self) -> Option<Instant> {
        let repeat = self.outbox.next_repeat(self.pattern(self.pace.last_heard));
        let own = [
            self.patience_ends(),
            repeat.filter(|_| !self.pace.unlinked),
            self.pace.next_release,
            self.pace.next_tidy,
        ];
        own.into_iter().flatten().min()
    }
}

const _: () = assert!(
    FRAME_HEADER < 12,
    "the header budget of a frame is 12 bytes"
);
