//! The state machine of one end.

mod admission;
mod probe;
mod receive;
mod settle;
mod withdraw;

use std::collections::VecDeque;

use machine::Machine;
use units::{Bytes, Duration, Instant, Probability};
use wire::flow::Class;
use wire::hop::{FRAME_HEADER, FrameWriter};
use wire::packet::{HEADROOM, PacketBuffer};

pub use withdraw::Withdrawn;

use crate::acknowledge::Acknowledger;
use crate::cause::LossClassifier;
use crate::flow::Lane;
use crate::inbox::Inbox;
use crate::ledger::Ledger;
use crate::limits::{MEMORY_LEAST, QueueLimits, Shares, Use};
use crate::outbox::Outbox;
use crate::pace::{Pace, SilenceEffect};
use crate::path::Path;
use crate::reorder::Reordering;
use crate::round_trip::RoundTrip;
use crate::stats::{EcnStats, LossMonitor, Stats};
use crate::watch::Pattern;
use crate::{Config, Input, Output};

/// Most transmissions remembered that request no acknowledgement or are presumed lost.
const LEDGER_QUIET_MAX: usize = 4_096;
/// Time between two searches for idle flows.
const TIDY: Duration = Duration::from_secs(10);
/// Bandwidth-delay products that a stream carries, or bytes while the rate is not known, before it stops being young:
/// then its sender has left slow start.
const YOUNG_PRODUCTS: u64 = 4;
const YOUNG: u64 = 4 << 20;
/// Time after a fade in which others are expected.
const FADING: Duration = Duration::from_secs(30);
/// Bytes of a frame beside a packet of the split transport: its header, the chunk's, and an acknowledgement.
const BESIDE_TRANSPORT: usize = 40;
/// Bytes behind a frame for its seal.
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
    diagnosis: Diagnosis,
    pace: Pace,
    path: Path,
    stats: Stats,
}

/// Losses and reordering, as acknowledgements show them.
#[derive(Debug, Default)]
struct Diagnosis {
    losses: LossMonitor,
    order: Reordering,
    causes: LossClassifier,
    /// Ranges of the current acknowledgement, kept to reuse its storage.
    ranges: Vec<(u64, u64)>,
}

impl Arq {
    /// Returns one end of a hop, idle.
    pub fn new(config: Config) -> Self {
        let memory = config.memory.max(MEMORY_LEAST);
        let shares = Shares::new(config.lease.unwrap_or(memory), config.queue);
        Self {
            outbox: Outbox::new(&config, shares),
            path: Path::new(&config),
            inbox: Inbox::new(shares.incoming, config.packets),
            config,
            shares,
            outputs: VecDeque::new(),
            ledger: Ledger::default(),
            acknowledger: Acknowledger::default(),
            round_trip: RoundTrip::default(),
            diagnosis: Diagnosis::default(),
            pace: Pace::default(),
            stats: Stats::default(),
        }
    }

    /// Returns the counters.
    pub fn stats(&self) -> Stats {
        let mut stats = self.stats.clone();
        stats.sent.packets_abandoned = self.outbox.abandoned();
        stats.sent.packets_capped = self.outbox.capped();
        stats.sent.packets_held_already = self.outbox.held_already();
        stats.sent.packets_in_common = self.outbox.in_common();
        stats.ecn = EcnStats {
            outwards: self.ledger.marks.ability(),
            frames_marked: self.ledger.marks.marked(),
            frames_came_marked: self.acknowledger.marks.marked(),
            packets_marked: self.outbox.marked(),
        };
        stats
    }

    /// Returns the counters without those of abandoned packets, of the queues and of congestion marks, which
    /// [`stats`](Self::stats) adds.
    pub fn counts(&self) -> &Stats {
        &self.stats
    }

    /// Returns the round-trip time of the hop: smoothed, and the smallest recent one.
    pub fn round_trip(&self) -> (Duration, Duration) {
        (self.round_trip.smoothed(), self.round_trip.smallest())
    }

    /// Returns the smallest recent round-trip time, once one has been measured.
    pub fn measured_round_trip(&self) -> Option<Duration> {
        self.round_trip.measured()
    }

    /// Notes the time that the handshake with the other end has taken, which is all that is known of the round trip
    /// before the first acknowledgement.
    pub fn handshake_lasted(&mut self, lasted: Duration) {
        self.round_trip.handshake = Some(lasted);
    }

    /// Returns the share of frames that the hop lost recently, in the direction that loses more; `None` before some
    /// hundred have crossed.
    pub fn loss(&self) -> Option<Probability> {
        self.diagnosis.losses.share()
    }

    /// Returns the time since which nothing has come through, in a fade.
    pub fn fade_since(&self) -> Option<Instant> {
        self.pace.fade.map(|fade| fade.since)
    }

    /// Returns the bytes of packets that wait for their first transmission.
    pub fn queued(&self) -> Bytes {
        Bytes::from(self.outbox.queued())
    }

    /// Returns the bytes of those that are packets of the split transport.
    pub fn transport_queued(&self) -> Bytes {
        Bytes::from(self.outbox.transport_queued())
    }

    /// Returns the largest length of a packet of the split transport, in bytes: with acknowledgements of usual size
    /// it fits a frame.
    pub fn transport_packet_max(&self) -> usize {
        self.path.frame().saturating_sub(BESIDE_TRANSPORT)
    }

    /// Returns the bytes in flight, as far as is known: bytes on the wire of transmissions that request an
    /// acknowledgement and left after the highest one that has arrived.
    pub fn outstanding(&self) -> Bytes {
        Bytes::new(self.ledger.outstanding())
    }

    /// Returns the bytes that wait at this, the receiving, end for missing data before them.
    pub fn held(&self) -> Bytes {
        Bytes::new(self.inbox.held_bytes())
    }

    /// Returns the bytes of memory that this end holds for the other: packets, parts of them, and all records about
    /// them. They never exceed [`Config::memory`].
    pub fn memory(&self) -> Bytes {
        let scratch = self.diagnosis.ranges.capacity() * size_of::<(u64, u64)>();
        let watched = self.diagnosis.order.memory() + self.diagnosis.causes.memory();
        let tables = self.ledger.memory() + watched + scratch;
        Bytes::from(size_of::<Self>() + self.outbox.memory() + self.inbox.memory() + tables)
    }

    /// Returns the part of [`Config::memory`] at which what is held now, and `more` bytes, take half of each share of
    /// it; see [`Input::Memory`].
    pub fn memory_wanted(&self, more: usize) -> Bytes {
        // One more of each: at half of the share the oldest transmissions are forgotten, and what is forgotten asks for
        // nothing. Then acknowledgements that come late on a slow hop would show nothing of its rate.
        let used = Use {
            outgoing: self.outbox.memory() + more,
            incoming: self.inbox.memory() + more,
            flows: self.outbox.flows() + 1,
            brief: self.outbox.brief() + 1,
            transmissions: self.ledger.len() + 1,
            contents: self.ledger.contents() + 1,
        };
        Bytes::from(used.memory() * 2).min(self.config.memory.max(MEMORY_LEAST))
    }

    /// Returns the number of flows from this end.
    pub fn flows(&self) -> usize {
        self.outbox.flows()
    }

    /// Returns true if a grant would be used now.
    pub fn wants_air(&self, now: Instant) -> bool {
        let acknowledges = self.acknowledges_from().is_some_and(|due| due <= now);
        acknowledges || self.has_content(now)
    }

    /// Returns the time when an acknowledgement is due.
    pub fn acknowledges_from(&self) -> Option<Instant> {
        self.acknowledger.due(self.ack_spacing())
    }

    /// Returns true if a grant would be used now for more than an acknowledgement.
    pub fn has_content(&self, now: Instant) -> bool {
        (self.outbox.has_work() && self.may_send(now)) || self.probes(now)
    }

    /// Returns the time from which [`wants_air`](Self::wants_air) is true, which may be past; `None` if nothing known
    /// now leads to that.
    pub fn air_wanted_from(&self) -> Option<Instant> {
        machine::earlier(self.acknowledges_from(), self.content_from())
    }

    /// Returns the time from which [`has_content`](Self::has_content) is true, which may be past; `None` if nothing
    /// known now leads to that.
    pub fn content_from(&self) -> Option<Instant> {
        let work = self.outbox.has_work() && self.has_room();
        let send = work.then_some(self.pace.due.probe);
        machine::earlier(send, self.probes_from())
    }

    /// Returns true if new transmissions may leave: the ledger has room, and a long fade only gets probes.
    fn may_send(&self, now: Instant) -> bool {
        let silent = self
            .pace
            .fade
            .is_some_and(|fade| now.since(fade.since) > self.config.feed);
        self.has_room() && (!silent || now >= self.pace.due.probe)
    }

    /// Returns true if one more transmission can be remembered.
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
        if self.probes(now) {
            left -= self.send_probe(now) as i64;
            // A grant for one frame is a test of the hop, so a frame that requests an acknowledgement follows.
            left = left.max(i64::from(self.outbox.has_work()));
        }
        while left > 0 && self.wants_air(now) {
            match self.send_frame(now, !self.has_content(now)) {
                Some(wire_bytes) => left -= wire_bytes as i64,
                None => break,
            }
        }
    }

    /// Sends one frame with everything that is due, or with an acknowledgement `alone`; returns its bytes on the
    /// wire.
    fn send_frame(&mut self, now: Instant, alone: bool) -> Option<usize> {
        let number = self.ledger.next_number();
        let mut frame = frame_writer(number, self.path.frame());
        self.acknowledger.write(now, &mut frame, alone);
        let mut contents = 0;
        if !alone {
            let pattern = self.pattern(now);
            let stats = &mut self.stats.sent;
            contents = self
                .outbox
                .fill(now, &mut frame, &mut self.ledger, pattern, stats);
        }
        if frame.is_empty() {
            return None;
        }
        if self
            .pace
            .fade
            .is_some_and(|fade| now.since(fade.since) > self.config.feed)
            && contents > 0
        {
            self.pace.due.probe = now + self.probe_interval(now);
        }
        let frame = frame.finish();
        self.path.filled(now, frame.len());
        Some(self.send_off(now, frame, contents, contents > 0))
    }

    /// Records a frame with `contents` contents, which may request an acknowledgement, and sends it; returns its
    /// bytes on the wire.
    fn send_off(
        &mut self,
        now: Instant,
        frame: PacketBuffer,
        contents: usize,
        asks: bool,
    ) -> usize {
        let overhead = self.config.overhead;
        let wire_bytes = frame.len() + overhead;
        let ecn = self.ledger.sent(now, frame.len(), overhead, contents, asks);
        self.forget_quiet();
        self.stats.sent.frames += 1;
        self.stats.sent.wire_bytes += wire_bytes as u64;
        self.outputs.push_back(Output::Frame { frame, ecn });
        wire_bytes
    }

    /// Forgets transmissions that nothing waits for, if many are remembered: then others can be.
    fn forget_quiet(&mut self) {
        let most = LEDGER_QUIET_MAX.min(self.shares.transmissions / 2);
        self.ledger.forget_beyond(most, self.shares.contents / 2);
    }

    fn repeat_due(&mut self, now: Instant) {
        let due = self.outbox.next_repeat(|| self.pattern(now));
        let grace = &mut self.pace.repeats;
        let due = due.filter(|due| grace.after(*due) <= now);
        if due.is_some_and(|due| !grace.is_needed(now, due)) {
            let pattern = self.pattern(now);
            self.outbox.repeat_due(now, pattern);
        }
    }

    /// Notes that the process did not run for some time until now: frames that arrived meanwhile will be handed in,
    /// and nothing is presumed lost before that.
    pub fn stalled(&mut self, now: Instant) {
        self.pace.silence.stalled(now);
        self.pace.repeats.stalled(now);
        self.diagnosis.order.grace.stalled(now);
    }

    /// Returns the pattern of early retransmissions for sparse packets, which uses the end of a fade at once.
    fn pattern(&self, now: Instant) -> Pattern {
        let slow = self.round_trip.smallest() > Duration::from_millis(16);
        let spacing = self.ack_spacing();
        let sparing = self.pace.fade.is_some() && self.pace.silences != SilenceEffect::Lose;
        Pattern {
            twice: self.diagnosis.losses.is_noisy() && slow,
            fading: !sparing && self.pace.fading_until.is_some_and(|until| now < until),
            rate: self.pace.rate,
            young: self.pace.rate.map_or(YOUNG, |rate| {
                rate.bytes_in(self.round_trip.smallest()).get() * YOUNG_PRODUCTS
            }),
            expected: self.round_trip.patience(spacing),
            interval: spacing.max(Duration::from_millis(4)),
            heard: self.held_from(),
            sparing,
        }
    }

    /// Returns the time between probes of a long fade: short at first, never more than one second.
    fn probe_interval(&self, now: Instant) -> Duration {
        let faded = self
            .pace
            .fade
            .map_or(Duration::ZERO, |fade| now.since(fade.since));
        (faded / 100).clamp(Duration::from_millis(20), Duration::from_secs(1))
    }

    fn set_shares(&mut self, shares: Shares) {
        self.shares = shares;
        self.outbox.set_shares(shares);
        self.outbox.resume();
        self.inbox.set_most(shares.incoming);
    }

    fn set_limits(&mut self, now: Instant) {
        let rate = self.pace.rate.filter(|_| now >= self.pace.due.limits);
        let limits = rate.map(|rate| QueueLimits::new(rate, self.round_trip.smallest()));
        self.outbox
            .set_limits(limits.unwrap_or(QueueLimits::UNKNOWN));
    }
}

/// Begins a frame of at most `room` bytes.
fn frame_writer(number: u64, room: usize) -> FrameWriter {
    let buffer = PacketBuffer::with_room(HEADROOM + room + TAILROOM, HEADROOM);
    FrameWriter::new(buffer, number, room)
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
                let bytes = packet.len() as u64;
                match class {
                    Class::Held => self.stats.sent.bytes_held += bytes,
                    Class::Brief => self.stats.sent.bytes_brief += bytes,
                }
                self.enqueue(now, packet, key, class.into());
            }
            Input::Guest(key) => self.outbox.make_guest(&key),
            Input::Plain { packet, key, order } => {
                self.stats.sent.bytes_brief += packet.len() as u64;
                self.enqueue(now, packet, key, Lane::Plain(order));
            }
            Input::Transport(buffer) => self.transport(now, buffer),
            Input::Frame {
                arrived,
                frame,
                ecn,
            } => self.receive(now, arrived.min(now), ecn, &frame),
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
                    self.pace.due.probe = Instant::ZERO;
                }
            }
            Input::Rate(rate) => {
                self.pace.rate = Some(rate);
                self.path.rate(now, rate);
                self.set_limits(now);
            }
            Input::ExcuseQueues(until) => {
                self.pace.due.limits = self.pace.due.limits.max(until);
                self.set_limits(now);
            }
            Input::LeastRate(rate) => self.path.rate(now, rate),
            Input::Path(news) => self.path_news(now, news),
            Input::Memory(bytes) => {
                self.set_shares(Shares::new(bytes, self.config.queue));
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        let due = self.patience_ends();
        let grace = &mut self.pace.silence;
        let due = due.filter(|due| grace.after(*due) <= now);
        if due.is_some_and(|due| !grace.is_needed(now, due)) {
            self.presume_lost(now);
        }
        self.give_up_overtaken(now);
        self.path.handle_timeout(now);
        if !self.pace.unlinked {
            self.repeat_due(now);
        }
        if self.pace.due.release.take_if(|due| *due <= now).is_some() {
            self.pace.due.release = self.release(now);
        }
        if self.pace.due.tidy.is_some_and(|due| due <= now) {
            self.outbox.end_idle(now);
            self.pace.due.tidy = (self.outbox.flows() > 0).then(|| now + TIDY);
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Returns the time of the next timer. A frame that is due waits for [`Input::AirFree`]; the part that grants
    /// calls [`Arq::wants_air`] at these times too.
    fn poll_timeout(&self) -> Option<Instant> {
        let pattern = || self.pattern(self.pace.last_heard);
        let repeat = self.outbox.next_repeat(pattern);
        let own = [
            self.patience_ends().map(|at| self.pace.silence.after(at)),
            repeat
                .filter(|_| !self.pace.unlinked)
                .map(|at| self.pace.repeats.after(at)),
            self.overtaken_until()
                .map(|at| self.diagnosis.order.grace.after(at)),
            self.pace.due.release,
            self.pace.due.tidy,
            self.path.poll_timeout(),
        ];
        own.into_iter().flatten().min()
    }
}

const _: () = assert!(
    FRAME_HEADER < 12,
    "the header budget of a frame is 12 bytes"
);
