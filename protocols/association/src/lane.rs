//! The lane of the streams, and the measurement of the hop that it crosses.

use arq::StallGuard;
use machine::Machine;
use units::{Bytes, Duration, Instant};

use crate::recent::HopSnapshot;
use crate::{Association, Link, Output, PathNews, RecentCounters, streams};

/// Usual limit on the wait of frames on the way: this time, or the time to send this many frames, whichever is
/// longer.
const QUEUE_USUAL: Duration = Duration::from_millis(20);
const FRAMES_USUAL: u64 = 6;
/// Limit on the streams' packets that wait in the lane: the bytes that the air takes in this time, but at least this
/// many frames, and at most this many bytes.
const LANE: Duration = Duration::from_millis(4);
const LANE_FRAMES: usize = 3;
const LANE_MOST: Bytes = Bytes::kibi(256);

/// Delay of a call after its deadline that shows a time without processor: a driver rests for 1 ms.
const LATE: Duration = Duration::from_millis(2);

/// Times in which this process did not run.
#[derive(Debug, Default)]
pub(crate) struct Stalls {
    /// Decides when the timers of streams may expire after one.
    pub(crate) patience: StallGuard,
    /// Time when this process ran last, as far as is known.
    ran_at: Instant,
}

impl Link {
    /// Returns the bytes that a frame costs on the path on which it costs most, beyond those on the present one.
    pub(crate) fn more(&self) -> usize {
        self.overhead_most.saturating_sub(self.overhead)
    }
}

impl Association {
    /// Returns the association for paths on which each frame may cost as many bytes as this beyond its own: packets of
    /// streams that it gets later, and segments of connections that the link layer does not repair, fit those, too.
    #[must_use]
    pub fn with_overhead_up_to(mut self, most: usize) -> Self {
        self.link.overhead_most = most;
        self
    }

    /// Notes the time that the handshake with the other end has taken.
    pub fn handshake_lasted(&mut self, lasted: Duration) {
        self.arq.handshake_lasted(lasted);
    }

    /// Has segments of new connections fit in frames on each path that it may take.
    pub(crate) fn fit_segments(&mut self) {
        let frame = self.arq.path().frame();
        self.tcp.fit(frame.saturating_sub(self.link.more()));
    }

    pub(crate) fn tell_streams(&mut self, now: Instant, input: streams::Input) {
        match &mut self.streams {
            Some(streams) => streams.handle_input(now, input),
            None => self.malformed += 1,
        }
    }

    /// Lets streams send as much as the lane takes, and carries out their outputs.
    pub(crate) fn carry_streams(&mut self, now: Instant) {
        let Some(streams) = &mut self.streams else {
            return;
        };
        let least = Bytes::from(LANE_FRAMES * self.arq.transport_packet_max());
        let target = self.air.rate().bytes_in(LANE).max(least).min(LANE_MOST);
        let room = if self.link.is_up {
            target.saturating_sub(self.arq.transport_queued())
        } else {
            Bytes::ZERO
        };
        streams.fit(now, self.arq.transport_packet_max());
        if self.arq.measured_round_trip().is_some() {
            streams.expect(now, self.arq.round_trip().0);
        }
        streams.handle_input(now, streams::Input::Room(room.get()));
        while let Some(output) = streams.poll_output() {
            match output {
                streams::Output::Cross(packet) => {
                    self.arq.handle_input(now, arq::Input::Transport(packet));
                }
                streams::Output::News(news) => self.outputs.push_back(Output::Streams(news)),
            }
        }
    }

    /// Returns the grant that the air can give now, if it is wanted.
    pub(crate) fn next_grant(&mut self, now: Instant) -> Option<arq::Input> {
        self.air.set_outstanding(self.arq.outstanding());
        if self.air.opens_at().is_some_and(|at| at <= now) {
            let bytes = self.air.grant(now).filter(|_| self.arq.wants_air(now))?;
            return Some(arq::Input::AirFree(bytes));
        }
        let acknowledges = self.arq.acknowledges_from().is_some_and(|due| due <= now);
        let admitted = self.air.free_at().is_some_and(|at| at <= now);
        (acknowledges && admitted).then_some(arq::Input::AcknowledgementFree)
    }

    /// Sets whether there is a link, and starts the search for longer frames if packets are used that cannot be
    /// split: for those the length of frames should be known before they are made.
    pub(crate) fn link(&mut self, now: Instant, linked: bool) {
        if linked != self.link.is_up {
            self.arq.handle_input(now, arq::Input::Link(linked));
            if linked {
                self.air.path_changed(now);
            }
        }
        self.link.is_up = linked;
        if linked && (self.tcp.is_used() || self.streams.is_some()) {
            self.arq.want_longer_frames(now);
        }
    }

    /// Takes news of the path.
    pub(crate) fn path_news(&mut self, now: Instant, news: PathNews) {
        if matches!(news, PathNews::Moved(_) | PathNews::Uncertain) {
            self.air.path_changed(now);
        }
        self.arq.handle_input(now, arq::Input::Path(news));
        self.link.overhead = self.arq.overhead();
        if matches!(news, PathNews::Moved(_)) {
            self.tcp.path_changed(now);
        }
    }

    /// Until this time no queue is too long for its sender: see [`arq::Input::ExcuseQueues`].
    pub fn excuse_queues(&mut self, now: Instant, until: Instant) {
        self.arq.handle_input(now, arq::Input::ExcuseQueues(until));
    }

    /// Returns the time that the round trip takes longer than the smallest recent one: what is queued on the way, which
    /// is mostly what this hop itself carries.
    pub fn queueing_delay(&self) -> Duration {
        let (smoothed, smallest) = self.arq.round_trip();
        let measured = self.arq.measured_round_trip();
        measured.map_or(Duration::ZERO, |_| smoothed.saturating_sub(smallest))
    }

    /// Returns true if the path was found to carry less than any path should.
    pub fn is_cut(&self) -> bool {
        self.arq.path().is_cut()
    }

    /// Returns the measurements of the last seconds.
    pub fn recent(&self, now: Instant) -> RecentCounters {
        self.recent.seconds(now, self.arq.counts())
    }

    /// Returns the time that frames wait on the way: that of the last acknowledged frame, or that of the first one in
    /// flight until now, whichever is longer.
    fn waits(&self, now: Instant) -> Duration {
        let is_open = self.arq.outstanding() > Bytes::ZERO;
        let heard = self.air.learned_at().filter(|_| is_open).unwrap_or(now);
        let unanswered = now.since(heard).saturating_sub(self.arq.round_trip().1);
        self.air.queueing().max(unanswered)
    }

    /// Detects a stall: if a deadline was missed, this process has not run meanwhile, and frames that came then may
    /// be handed in before the deadline is handled.
    pub(crate) fn notice_stall(&mut self, now: Instant) {
        let ran_at = std::mem::replace(&mut self.stalls.ran_at, now);
        if ran_at + LATE >= now {
            return;
        }
        let due = self.poll_timeout().map(|due| due.max(ran_at));
        if let Some(due) = due.filter(|due| *due + LATE < now) {
            self.arq.stalled(now);
            // The hop carried less meanwhile than it could have.
            self.air.idle();
            self.stalls.patience.stalled(now);
            self.recent.stalled(now.since(due));
        }
    }

    /// Reports the known rate to the link repair.
    pub(crate) fn tell_rate(&mut self, now: Instant) {
        let (told, was_known) = self.link.reported_rate;
        if let Some(rate) = self.air.known_rate() {
            let rate = rate.max(self.air.crest());
            if !was_known || rate != told {
                self.link.reported_rate = (rate, true);
                self.arq.handle_input(now, arq::Input::Rate(rate));
            }
            return;
        }
        // While the rate is a guess no queue is too long: a drop now would cost its flow far more. But a hop that is
        // never full, such as a fast network, carries longer frames all the same.
        let least = self.air.measured().map(|measured| measured.rate);
        if let Some(least) = least.filter(|least| !was_known && *least > told.scaled(2, 1)) {
            self.link.reported_rate = (least, false);
            self.arq.handle_input(now, arq::Input::LeastRate(least));
        }
    }

    /// Records the state of the hop now.
    pub(crate) fn note_moment(&mut self, now: Instant) {
        let frame = Bytes::from(self.arq.transport_packet_max());
        let usual = QUEUE_USUAL.max(self.air.crest().time_for(frame) * FRAMES_USUAL);
        // If others fill the queue, it drops all of a small window at times.
        let is_contended = self.air.is_contended();
        let moment = HopSnapshot {
            is_backlogged: self.link.is_up && self.arq.queued() > Bytes::ZERO,
            silent_since: self.arq.fade_since().filter(|_| !is_contended),
            is_waiting: is_contended || self.waits(now) > usual,
        };
        self.recent.note(now, moment, self.arq.counts());
    }
}
