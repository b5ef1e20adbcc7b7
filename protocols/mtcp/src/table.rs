//! The table of connections, by their connection IDs on the hop.

use std::collections::{BTreeMap, VecDeque};

use machine::RandomStream;
use redirector::Content;
use units::Instant;

use crate::ConnectionId;
use crate::connection::{Connection, Outcome, Phase};
use crate::counters::{Connections, Traffic};
use crate::deadlines::{Deadline, Deadlines};
use crate::packet::Cid;
use crate::state::ResumeError;

/// Largest number of remembered IDs of connections taken out.
const MOVED_MAX: usize = 1_024;

/// Packets with data in a turn. Fewer are fairer, but cost more: each turn loads a connection that is not in the
/// cache.
const TURN: u32 = 4;

/// A connection, with its places in the queues and timers of the table.
#[derive(Debug)]
struct Entry<C> {
    connection: Box<Connection<C>>,
    /// Set if the connection is in the queue of those that may have outputs.
    ready: bool,
    /// Set if the connection is in the queue of those that wait for room.
    waiting: bool,
    /// Packets with data that it has sent in its turn.
    turn: u32,
    deadline: Option<Instant>,
    /// Number of changes of the deadline.
    changes: u64,
    half_open: bool,
    /// Bytes by which its receive buffer has grown.
    grown: u64,
    /// Connection ID at the peer, once known.
    peer: Cid,
}

/// Numbers of connections that are not established yet.
#[derive(Debug, Default)]
pub(crate) struct HalfOpen {
    /// Opened by this end.
    pub(crate) opened: usize,
    /// Opened by the peer.
    pub(crate) arrived: usize,
}

impl HalfOpen {
    fn of(&mut self, id: ConnectionId) -> &mut usize {
        match id {
            ConnectionId::Opened(_) => &mut self.opened,
            ConnectionId::Arrived(_) => &mut self.arrived,
        }
    }
}

/// All connections of an endpoint.
#[derive(Debug)]
pub(crate) struct Table<C> {
    entries: BTreeMap<Cid, Entry<C>>,
    by_id: BTreeMap<ConnectionId, Cid>,
    by_peer: BTreeMap<Cid, Cid>,
    deadlines: Deadlines,
    ready: VecDeque<Cid>,
    /// Connections that wait for room on the hop.
    waiting: VecDeque<Cid>,
    half_open: HalfOpen,
    /// IDs of connections that were taken out, with the time until which packets for them are ignored, and the ID at
    /// the peer.
    moved: BTreeMap<Cid, (Instant, Cid)>,
    /// Bytes by which receive buffers may still grow.
    room_to_grow: u64,
    /// Traffic of closed connections.
    past: Traffic,
}

impl<C: Content + Clone> Table<C> {
    /// Returns an empty table; receive buffers may grow by `room_to_grow` bytes in all.
    pub(crate) fn new(room_to_grow: u64) -> Self {
        Self {
            room_to_grow,
            moved: BTreeMap::new(),
            entries: BTreeMap::new(),
            by_id: BTreeMap::new(),
            by_peer: BTreeMap::new(),
            deadlines: Deadlines::default(),
            ready: VecDeque::new(),
            waiting: VecDeque::new(),
            half_open: HalfOpen::default(),
            past: Traffic::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the memory of all connections, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let each = self.entries.values();
        each.map(|entry| entry.connection.memory()).sum()
    }

    /// Returns the numbers of connections that are not established yet.
    pub(crate) fn half_open(&self) -> &HalfOpen {
        &self.half_open
    }

    /// Returns the traffic of all connections, closed ones included.
    pub(crate) fn traffic(&self) -> Traffic {
        let mut traffic = self.past;
        for entry in self.entries.values() {
            traffic += entry.connection.traffic();
        }
        traffic
    }

    /// Returns an unpredictable connection ID that no connection has. There must be at least one.
    pub(crate) fn free_name(&self, random: &mut RandomStream) -> Cid {
        loop {
            let name = Cid(random.below(u16::MAX.into()) as u16 + 1);
            if !self.entries.contains_key(&name) && !self.moved.contains_key(&name) {
                return name;
            }
        }
    }

    /// Returns true if a connection has this number of the driver.
    pub(crate) fn has(&self, id: ConnectionId) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Adds a connection whose IDs are free.
    pub(crate) fn insert(&mut self, connection: Connection<C>) {
        let own = connection.names.own;
        self.by_id.insert(connection.id, own);
        let entry = Entry {
            connection: Box::new(connection),
            ready: false,
            waiting: false,
            turn: 0,
            deadline: None,
            changes: 0,
            half_open: false,
            grown: 0,
            peer: Cid::NONE,
        };
        self.entries.insert(own, entry);
        self.touch(own);
    }

    /// Returns the connections that have not ended.
    pub(crate) fn ids(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        self.by_id.keys().copied()
    }

    /// Returns the connection with this ID here, if there is one.
    pub(crate) fn get(&self, own: Cid) -> Option<&Connection<C>> {
        self.entries.get(&own).map(|entry| &*entry.connection)
    }

    /// Returns the ID of the connection that the driver knows as `id`.
    pub(crate) fn own_of(&self, id: ConnectionId) -> Option<Cid> {
        self.by_id.get(&id).copied()
    }

    /// Returns the ID here of the connection that the peer knows as `peer`.
    pub(crate) fn own_of_peer(&self, peer: Cid) -> Option<Cid> {
        self.by_peer.get(&peer).copied()
    }

    /// Returns the connection to be changed; its outputs are polled afterwards.
    pub(crate) fn change(&mut self, own: Cid) -> Option<&mut Connection<C>> {
        self.touch(own);
        let entry = self.entries.get_mut(&own)?;
        Some(&mut entry.connection)
    }

    /// Lets the receive buffer of a connection grow, if it should.
    pub(crate) fn grow(&mut self, own: Cid) {
        if let Some(entry) = self.entries.get_mut(&own) {
            let more = entry.connection.grow(self.room_to_grow);
            self.room_to_grow -= more;
            entry.grown += more;
        }
    }

    fn touch(&mut self, own: Cid) {
        if let Some(entry) = self.entries.get_mut(&own).filter(|entry| !entry.ready) {
            entry.ready = true;
            self.ready.push_back(own);
        }
    }

    /// Returns the connection whose turn it is to produce outputs; it comes again after all others. If the hop has
    /// `room`, one that waited for room may be returned.
    pub(crate) fn next_ready(&mut self, room: bool) -> Option<(Cid, &mut Connection<C>)> {
        while room && self.ready.is_empty() {
            let own = self.waiting.pop_front()?;
            if let Some(entry) = self.entries.get_mut(&own) {
                entry.waiting = false;
            }
            self.touch(own);
        }
        let own = *self.ready.front()?;
        self.ready.rotate_left(1);
        let entry = self.entries.get_mut(&own)?;
        Some((own, &mut entry.connection))
    }

    /// Ends the turn of the current connection after it has sent enough data; it then waits, if others do too.
    pub(crate) fn end_turn(&mut self, own: Cid, now: Instant, ended: &mut Connections) {
        let Some(entry) = self.entries.get_mut(&own) else {
            return;
        };
        entry.turn += 1;
        let over = entry.turn >= TURN && !self.waiting.is_empty();
        if over && entry.connection.waits_for_room() {
            entry.connection.settle(now);
            self.settle(own, ended);
        }
    }

    /// Notes the outcome of the current connection, which has no more outputs.
    pub(crate) fn settle(&mut self, own: Cid, ended: &mut Connections) {
        self.ready.pop_back();
        let Some(entry) = self.entries.get_mut(&own) else {
            return;
        };
        entry.ready = false;
        entry.turn = 0;
        let connection = &entry.connection;
        if connection.waits_for_room() && !entry.waiting {
            entry.waiting = true;
            self.waiting.push_back(own);
        }
        let gone = connection.phase == Phase::Gone;
        let deadline = connection.deadline().filter(|_| !gone);
        let moved = entry.deadline != deadline;
        entry.deadline = deadline;
        entry.changes += u64::from(moved);
        if let Some(at) = deadline.filter(|_| moved) {
            let change = entry.changes;
            self.deadlines.add(Deadline { at, own, change });
        }
        let half_open = connection.is_half_open();
        let count = self.half_open.of(connection.id);
        *count += usize::from(half_open);
        *count -= usize::from(std::mem::replace(&mut entry.half_open, half_open));
        let peer = connection.names.peer;
        if entry.peer != peer {
            entry.peer = peer;
            self.by_peer.insert(peer, own);
        }
        if let Some(outcome) = connection.news.outcome
            && self.by_id.remove(&connection.id).is_some()
        {
            match outcome {
                Outcome::Whole => ended.finished += 1,
                Outcome::Broken => ended.reset += 1,
            }
        }
        if gone {
            self.remove(own);
        }
        if moved {
            self.clean_deadlines();
        }
    }

    /// Takes out a connection that another endpoint resumes: until `until`, packets for it are ignored.
    pub(crate) fn take_out(
        &mut self,
        own: Cid,
        now: Instant,
        until: Instant,
    ) -> Option<Box<Connection<C>>> {
        let entry = self.entries.remove(&own)?;
        self.ready.retain(|other| *other != own);
        self.by_id.remove(&entry.connection.id);
        self.clean_deadlines();
        self.forget(own, &entry);
        self.moved.retain(|_, (until, _)| now < *until);
        if self.moved.len() < MOVED_MAX {
            self.moved.insert(own, (until, entry.peer));
        }
        Some(entry.connection)
    }

    /// Puts in a connection of another endpoint. Its IDs and its number are free.
    pub(crate) fn put_in(&mut self, connection: Connection<C>) -> Result<(), ResumeError> {
        let (own, grown) = (connection.names.own, connection.grown());
        if grown > self.room_to_grow {
            return Err(ResumeError::Buffer(connection.status().receive_buffer));
        }
        self.moved.remove(&own);
        self.insert(connection);
        self.room_to_grow -= grown;
        if let Some(entry) = self.entries.get_mut(&own) {
            entry.grown = grown;
        }
        Ok(())
    }

    /// Returns true if a connection with this ID was taken out a short time ago.
    pub(crate) fn has_moved(&self, own: Cid, now: Instant) -> bool {
        let moved = self.moved.get(&own);
        moved.is_some_and(|(until, _)| now < *until)
    }

    /// Returns true if a connection that the peer knows as `peer` was taken out a short time ago.
    pub(crate) fn has_moved_peer(&self, peer: Cid, now: Instant) -> bool {
        let mut moved = self.moved.values();
        moved.any(|(until, other)| *other == peer && now < *until)
    }

    fn remove(&mut self, own: Cid) {
        let Some(entry) = self.entries.remove(&own) else {
            return;
        };
        self.forget(own, &entry);
    }

    /// Releases the resources of a closed connection, and keeps its counters.
    fn forget(&mut self, own: Cid, entry: &Entry<C>) {
        self.past += entry.connection.traffic();
        self.room_to_grow += entry.grown;
        if self.by_peer.get(&entry.peer) == Some(&own) {
            self.by_peer.remove(&entry.peer);
        }
    }

    /// Returns the earliest deadline, if there is one.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|first| first.at)
    }

    /// Removes deadlines that no longer hold from the front.
    fn clean_deadlines(&mut self) {
        let entries = &self.entries;
        self.deadlines.clean(entries.len(), |deadline| {
            let entry = entries.get(&deadline.own);
            entry.is_some_and(|entry| entry.changes == deadline.change && entry.deadline.is_some())
        });
    }

    /// Returns a connection whose deadline has come, if any; its outputs are polled afterwards.
    pub(crate) fn next_due(&mut self, now: Instant) -> Option<&mut Connection<C>> {
        let Deadline { own, .. } = self.deadlines.first().filter(|first| first.at <= now)?;
        self.touch(own);
        let entry = self.entries.get_mut(&own)?;
        entry.deadline = None;
        entry.changes += 1;
        self.clean_deadlines();
        let entry = self.entries.get_mut(&own)?;
        Some(&mut entry.connection)
    }
}
