//! What streams send, and what is noted of the hop that it crosses.

use machine::Machine;
use units::{Bytes, Duration, Instant};

use crate::recent::Moment;
use crate::{Association, Output, Seconds, streams};

/// Frames of this end wait no longer on the way than this, or than so many take to be sent.
const QUEUE_USUAL: Duration = Duration::from_millis(20);
const FRAMES_USUAL: u64 = 6;
/// What of streams may wait in the lane: what the air takes in so long, and some frames at least.
const LANE: Duration = Duration::from_millis(4);
const LANE_FRAMES: usize = 3;
const LANE_MOST: Bytes = Bytes::kibi(256);

/// A call that comes so much later than its deadline comes after a time without processor: a driver rests for 1 ms.
const LATE: Duration = Duration::from_millis(2);

impl Association {
    pub(crate) fn tell_streams(&mut self, now: Instant, input: streams::Input) {
        match &mut self.streams {
            Some(streams) => streams.handle_input(now, input),
            None => self.malformed += 1,
        }
    }

    /// Lets streams send what the lane takes, and carries out what they ask for.
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

    /// Returns what the air can take now of what is wanted.
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

    /// Whether there is a link. What cannot be cut fits best where the length of frames is known before it is made.
    pub(crate) fn link(&mut self, now: Instant, linked: bool) {
        if linked != self.link.is_up {
            self.arq.handle_input(now, arq::Input::Link(linked));
            if linked {
                self.air.path_changed();
            }
        }
        self.link.is_up = linked;
        if linked && (self.tcp.is_used() || self.streams.is_some()) {
            self.arq.want_longer_frames(now);
        }
    }

    /// Whether the path has been found to carry less than any should.
    pub fn is_cut(&self) -> bool {
        self.arq.path().is_cut()
    }

    /// The last seconds.
    pub fn recent(&self, now: Instant) -> Seconds {
        self.recent.seconds(now, self.arq.counts())
    }

    /// Returns how long frames wait on the way: the last that is known of did, or the first that is not has by now.
    fn waits(&self, now: Instant) -> Duration {
        let is_open = self.arq.outstanding() > Bytes::ZERO;
        let heard = self.air.learned_at().filter(|_| is_open).unwrap_or(now);
        let unanswered = now.since(heard).saturating_sub(self.arq.round_trip().1);
        self.air.queueing().max(unanswered)
    }

    /// A deadline was missed, so this process has not run meanwhile; what came then may be handed in before it is told.
    pub(crate) fn notice_stall(&mut self, now: Instant) {
        let ran_at = std::mem::replace(&mut self.stalls.ran_at, now);
        if ran_at + LATE >= now {
            return;
        }
        let due = self.poll_timeout().map(|due| due.max(ran_at));
        if let Some(due) = due.filter(|due| *due + LATE < now) {
            self.arq.stalled(now);
            // What the hop carried meanwhile is less than it could have.
            self.air.idle();
            self.stalls.patience.stalled(now);
            self.recent.stalled(now.since(due));
        }
    }

    /// Tells the link repair what is known of the rate.
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

    /// Notes how it is now.
    pub(crate) fn note_moment(&mut self, now: Instant) {
        let frame = Bytes::from(self.arq.transport_packet_max());
        let usual = QUEUE_USUAL.max(self.air.crest().time_for(frame) * FRAMES_USUAL);
        // Where others fill the queue, it swallows all that a small window sends at times.
        let is_contended = self.air.is_contended();
        let moment = Moment {
            is_backlogged: self.link.is_up && self.arq.queued() > Bytes::ZERO,
            silent_since: self.arq.fade_since().filter(|_| !is_contended),
            is_waiting: is_contended || self.waits(now) > usual,
        };
        self.recent.note(now, moment, self.arq.counts());
    }
}
