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
        let room = if self.linked {
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
                streams::Output::Tell(told) => self.outputs.push_back(Output::Streams(told)),
            }
        }
    }

    /// The last seconds.
    pub fn recent(&self, now: Instant) -> Seconds {
        self.recent.seconds(now, self.arq.counts())
    }

    /// Notes how it is now.
    pub(crate) fn note_moment(&mut self, now: Instant) {
        let frame = Bytes::from(self.arq.transport_packet_max());
        let usual = QUEUE_USUAL.max(self.air.rate().time_for(frame) * FRAMES_USUAL);
        let moment = Moment {
            is_backlogged: self.linked && self.arq.queued() > Bytes::ZERO,
            silent_since: self.arq.fade_since(),
            is_waiting: self.air.queueing() > usual,
        };
        self.recent.note(now, moment, self.arq.counts());
    }
}
