//! The serializable state of connections, with which another splitter goes on while their sockets exist on.

use association::StreamId;
use redirector::{BindingId, BindingState, Content, Side};
use serde::{Deserialize, Serialize};
use units::Instant;
use wire::flow::Ends;

use crate::connection::{Connection, Half, Sending, Stage};
use crate::splitter::{ENDING, Splitter, fixed_host, half};

/// State of a split connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionState<C> {
    /// Its identifier, which its sockets keep.
    pub id: BindingId,
    ends: Ends,
    /// Side that requested it.
    asker: Side,
    /// Its stream across the hop, if it has one.
    stream: Option<StreamId>,
    /// Its halves, the fixed host's first.
    halves: [Option<HalfState>; 2],
    /// The bytes between both; none if both are to end.
    binding: Option<BindingState<C>>,
}

/// State of one half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HalfState {
    /// True for the stream, false for a socket.
    is_stream: bool,
    sending: Sending,
}

impl<C> ConnectionState<C> {
    /// Returns the sides that have a socket.
    pub fn sockets(&self) -> impl Iterator<Item = Side> + '_ {
        let sides = [Side::Fixed, Side::Mobile].into_iter();
        let halves = sides.zip(&self.halves);
        halves.filter_map(|(side, half)| (!(*half)?.is_stream).then_some(side))
    }
}

impl HalfState {
    fn of(half: Half) -> Self {
        let (is_stream, sending) = match half {
            Half::Socket(sending) => (false, sending),
            Half::Stream(_, sending) => (true, sending),
        };
        Self { is_stream, sending }
    }
}

impl<C: Content> Splitter<C> {
    /// Takes all connections out that have two halves, or had them, each with the index of its mobile host's peer.
    /// Their sockets and streams are left as they are, and another splitter goes on with them
    /// ([`Input::Resume`](crate::Input::Resume)). Who has only requested a connection repeats the request.
    pub fn take_out(&mut self) -> Vec<(usize, ConnectionState<C>)> {
        let connections = std::mem::take(&mut self.table.connections);
        let taken = connections.into_iter().filter_map(|(id, mut connection)| {
            self.table.deadlines.clear(id);
            let has_stood = matches!(connection.stage, Stage::Joined | Stage::Ending);
            let halves = [Side::Fixed, Side::Mobile].map(|side| connection.half(side).take());
            has_stood.then(|| {
                let state = ConnectionState {
                    id,
                    ends: connection.ends,
                    asker: connection.asker,
                    stream: connection.stream.map(|(_, id)| id),
                    halves: halves.map(|half| half.map(HalfState::of)),
                    binding: self.redirector.take_out(id),
                };
                (connection.owner, state)
            })
        });
        taken.collect()
    }

    /// Goes on with a connection; returns false if there is no room for it.
    pub(crate) fn put_in(&mut self, now: Instant, owner: usize, state: ConnectionState<C>) -> bool {
        let (id, ends, asker) = (state.id, state.ends, state.asker);
        let host = fixed_host(asker, &ends);
        let is_known = self.table.connections.contains_key(&id);
        let shares = &mut self.admission.shares;
        if is_known
            || !self.crossings.contains_key(&owner)
            || !shares.take(now, id, owner, asker, host)
        {
            return false;
        }
        shares.stands(id, owner);
        let is_ending = state.binding.is_none();
        if let Some(binding) = state.binding
            && !self.redirector.put_in(now, id, binding)
        {
            self.admission.shares.give_back(id, owner);
            return false;
        }
        let name = state.stream.map(|stream| (owner, stream));
        let mut connection = Connection::resumed(ends, asker, owner, name);
        for (side, half) in [Side::Fixed, Side::Mobile].into_iter().zip(state.halves) {
            *connection.half(side) = half.and_then(|half| match (half.is_stream, name) {
                (true, name) => Some(Half::Stream(name?, half.sending)),
                (false, _) => Some(Half::Socket(half.sending)),
            });
        }
        if is_ending {
            connection.stage = Stage::Ending;
            self.table.deadlines.set(id, now + ENDING);
        } else {
            self.table.by_ends.insert(ends, id);
        }
        if let Some(name) = name {
            self.table.by_stream.insert(name, id);
        }
        self.table.next_id = self.table.next_id.max(id.0.saturating_add(1));
        self.table.connections.insert(id, connection);
        true
    }

    /// Goes on with a connection, or resets its sockets and its stream.
    pub(crate) fn resume(&mut self, now: Instant, owner: usize, state: ConnectionState<C>) {
        let (id, stream) = (state.id, state.stream);
        let sockets: Vec<_> = state.sockets().collect();
        if self.put_in(now, owner, state) {
            return;
        }
        for side in sockets {
            self.reset_socket(half(id, side));
        }
        if let Some(stream) = stream {
            self.abort_stream((owner, stream));
        }
    }

    /// Has the streams of a peer wait: nothing is read from them or written to them until they report anew what they
    /// have, and room for.
    pub(crate) fn suspend_streams(&mut self, peer: usize, until: Option<Instant>) {
        for name in self.streams_of(peer) {
            let Some(stream) = self.half_of(name) else {
                continue;
            };
            let (available, room) = (0, 0);
            let nothing = redirector::Input::Readable { stream, available };
            let no_room = redirector::Input::Writable { stream, room };
            self.events.extend([nothing, no_room]);
        }
        self.suspended.set(peer, until);
    }

    /// Ends the suspended streams of a peer, at its end, too, if it comes back.
    pub(crate) fn give_up_streams(&mut self, peer: usize) {
        let given_up = self.streams_of(peer);
        self.streams_ended(peer);
        for name in given_up {
            self.abort_stream(name);
        }
    }
}
