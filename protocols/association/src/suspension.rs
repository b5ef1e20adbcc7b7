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
    pub streams: Vec<(StreamId, mtcp::ConnectionState<Chunks>)>,
    /// Streams that were not established, and cannot go on.
    pub lost: Vec<StreamId>,
}

impl Association {
    /// Takes its streams out, so that another association with the same other end goes on with them.
    pub fn suspend_streams(&mut self, now: Instant) -> Option<SuspendedStreams> {
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
    /// Takes all streams out that are established; those that are not are lost.
    fn suspend(&mut self, now: Instant) -> SuspendedStreams {
        let ids: Vec<_> = self.endpoint.ids().collect();
        let mut suspended = SuspendedStreams {
            profile: self.profile,
            streams: Vec::new(),
            lost: Vec::new(),
        };
        for id in ids {
            self.sending.forget(id);
            match self.endpoint.suspend(now, id) {
                Some(state) => suspended.streams.push((id, state)),
                None => suspended.lost.push(id),
            }
        }
        suspended
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
