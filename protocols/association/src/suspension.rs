//! Streams that leave their association, and go on in another one.

use machine::Machine;
use redirector::Chunks;
use serde::{Deserialize, Serialize};
use units::Instant;

use crate::streams::{Output, Streams};
use crate::{Association, Profile, Reason, StreamId, StreamNews};

/// Streams that were taken out of an association, so that another one with the same other end goes on with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuspendedStreams {
    /// Profile of the streams.
    pub profile: Profile,
    /// Their states.
    streams: Vec<(StreamId, mtcp::ConnectionState<Chunks>)>,
}

impl Association {
    /// Takes its streams out, so that another association with the same other end goes on with them. Returns those that
    /// were not established, too, and cannot go on.
    pub fn suspend_streams(&mut self, now: Instant) -> Option<(SuspendedStreams, Vec<StreamId>)> {
        self.streams.as_mut().map(|streams| streams.suspend(now))
    }

    /// Goes on with streams of a former association; those for which there is no room are reset.
    pub fn resume_streams(&mut self, now: Instant, suspended: SuspendedStreams) {
        if let Some(streams) = &mut self.streams {
            streams.resume(now, suspended);
            self.pump(now);
            self.note_moment(now);
        }
    }
}

impl Streams {
    /// Takes all streams out that are established; returns those that are not, too.
    fn suspend(&mut self, now: Instant) -> (SuspendedStreams, Vec<StreamId>) {
        let ids: Vec<_> = self.endpoint.ids().collect();
        let (mut streams, mut lost) = (Vec::new(), Vec::new());
        for id in ids {
            self.sending.forget(id);
            match self.endpoint.suspend(now, id) {
                Some(state) => streams.push((id, state)),
                None => lost.push(id),
            }
        }
        let profile = self.profile;
        (SuspendedStreams { profile, streams }, lost)
    }

    /// Goes on with streams; those for which there is no room are reset.
    fn resume(&mut self, now: Instant, suspended: SuspendedStreams) {
        // The lane says how much it takes.
        self.endpoint.handle_input(now, mtcp::Input::Room(0));
        for (id, state) in suspended.streams {
            if self.endpoint.resume(now, id, state).is_err() {
                let news = StreamNews::Reset(id, Reason::Busy);
                self.outputs.push_back(Output::News(news));
            }
        }
    }
}
