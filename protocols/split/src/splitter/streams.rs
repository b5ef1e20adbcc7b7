//! Streams across the hop.

use association::{Profile, Reason, StreamNews};
use redirector::{Content, Input, Side, Stream as SocketId};
use units::Instant;
use wire::flow::Ends;

use super::ask::Question;
use super::{Splitter, half};
use crate::connection::{Stage, StreamName};
use crate::{End, Refusal, Scope, SystemRequest};

/// Largest number of requests by the other end of the hop that wait for the location of an address; more are refused.
const QUESTIONS: usize = 16_384;

impl<C: Content + Default> Splitter<C> {
    /// Notes that a peer has streams.
    pub(super) fn streams_began(&mut self, peer: usize, profile: Profile, scope: Scope) {
        let Some(crossing) = self.crossings.get_mut(&peer) else {
            return;
        };
        (crossing.profile, crossing.scope) = (Some(profile), scope);
        self.suspended.clear(peer);
        if self.end == End::Mobile && !self.diverts {
            self.diverts = true;
            self.ask_system(SystemRequest::Divert);
        }
    }

    /// Leaves all connections to packets, since packets are not diverted to the listener.
    pub(super) fn not_diverted(&mut self) {
        self.diverts = false;
        for crossing in self.crossings.values_mut() {
            crossing.profile = None;
        }
    }

    /// Ends all streams of a peer, and the connections that they carried.
    pub(crate) fn streams_ended(&mut self, peer: usize) {
        self.suspended.clear(peer);
        if let Some(crossing) = self.crossings.get_mut(&peer) {
            crossing.profile = None;
        }
        let questions = &mut self.admission.questions;
        questions.retain(|_, question| !question.is_of_peer(peer));
        for name in self.streams_of(peer) {
            // The requesting host repeats its request, and may get an answer when the hop works again.
            self.stream_ended(name, Reason::TimedOut);
        }
    }

    /// Handles an event of a stream.
    pub(super) fn stream(&mut self, now: Instant, peer: usize, news: StreamNews<C>) {
        match news {
            StreamNews::Arrived(id, addresses) => {
                let ends = Ends {
                    source: addresses.source(),
                    destination: addresses.destination(),
                };
                self.stream_arrived((peer, id), ends);
            }
            StreamNews::Connected(id) => {
                if let Some(id) = self.table.by_stream.get(&(peer, id)).copied()
                    && let Some(connection) = self.table.connections.get(&id)
                    && matches!(connection.stage, Stage::Asking(_))
                {
                    self.let_in(now, id);
                }
            }
            StreamNews::Readable(id, available) => {
                if let Some(stream) = self.half_of((peer, id)) {
                    self.events.push_back(Input::Readable { stream, available });
                }
            }
            StreamNews::Data(id, content) => {
                if let Some(stream) = self.half_of((peer, id)) {
                    self.events.push_back(Input::Data { stream, content });
                }
            }
            StreamNews::Writable(id, room) => {
                if let Some(stream) = self.half_of((peer, id)) {
                    self.writable(stream, room);
                }
            }
            StreamNews::Finished(id) => {
                let stream = self.half_of((peer, id));
                self.events.extend(stream.map(Input::Finished));
            }
            StreamNews::Reset(id, reason) => self.stream_ended((peer, id), reason),
        }
    }

    /// Returns the streams of a peer.
    pub(crate) fn streams_of(&self, peer: usize) -> Vec<StreamName> {
        let names = self.table.by_stream.keys();
        names.filter(|name| name.0 == peer).copied().collect()
    }

    /// Returns the half of a stream, if it has one.
    pub(crate) fn half_of(&self, name: StreamName) -> Option<SocketId> {
        let id = self.table.by_stream.get(&name)?;
        Some(half(*id, self.end.hop_side()))
    }

    /// Handles a request by the other end of the hop.
    fn stream_arrived(&mut self, name: StreamName, ends: Ends) {
        if self.admission.questions.len() < QUESTIONS {
            self.locate(ends.destination.ip(), Question::Stream(name, ends));
        } else {
            self.refuse_stream(name, Reason::Busy);
        }
    }

    /// Handles the failure or reset of a stream.
    fn stream_ended(&mut self, name: StreamName, reason: Reason) {
        let Some(id) = self.table.by_stream.remove(&name) else {
            let questions = &mut self.admission.questions;
            return questions.retain(|_, question| !question.is_of(name));
        };
        let id = half(id, self.end.hop_side());
        // The other end has ended it already.
        self.take_half(id);
        let Some(connection) = self.table.connections.get(&id.binding) else {
            return;
        };
        let was_asked = connection.asker != id.side && matches!(connection.stage, Stage::Asking(_));
        if was_asked && reason == Reason::NotListening && id.side == Side::Fixed {
            self.leave_to_packets(id);
        } else if was_asked {
            self.refuse(id, Refusal::from(reason));
        } else {
            self.broken(id);
        }
    }
}
