//! The calls that have not ended.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use machine::Deadlines;
use units::{Duration, Instant};

use crate::{Class, Procedure, Request, Ticket};

/// When a call was sent. Places count all messages, so that what was sent at one instant has an order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transmissions {
    pub(super) count: u32,
    pub(super) first: Instant,
    pub(super) last: Instant,
    pub(super) first_place: u64,
    pub(super) last_place: u64,
    /// How long the hop had worked when it was sent first and last.
    pub(super) worked_first: Duration,
    pub(super) worked_last: Duration,
}

/// What speaks against a call being under way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Doubts {
    /// Timeouts that count.
    pub(super) timeouts: u32,
    /// Replies to later calls since it was sent last.
    pub(super) overtakers: u32,
    /// As many of them as had it sent again.
    pub(super) overtaken_by: u32,
    /// Messages with its transaction that are no reply, or have no results.
    pub(super) malformed: u32,
    /// It is sent next because the hop or the server works again, which is no timeout.
    pub(super) resuming: bool,
}

/// A call.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    pub(super) ticket: Ticket,
    pub(super) procedure: Procedure,
    pub(super) class: Class,
    /// As it is sent, every time.
    pub(super) message: Bytes,
    pub(super) patience: Option<Duration>,
    pub(super) expires: Option<Instant>,
    pub(super) sent: Option<Transmissions>,
    pub(super) doubts: Doubts,
}

impl Pending {
    /// What is asked for, as `message` says it, and will be waited for as long as it says from `now` on.
    pub(super) fn new(now: Instant, request: &Request, message: Bytes) -> Self {
        Self {
            ticket: request.ticket,
            procedure: request.procedure,
            class: request.class,
            message,
            patience: request.patience,
            expires: request.patience.map(|patience| now + patience),
            sent: None,
            doubts: Doubts::default(),
        }
    }

    /// What it is, what speaks against it, and when it was sent.
    pub(super) fn standing(&self) -> (Class, Doubts, Option<Transmissions>) {
        (self.class, self.doubts, self.sent)
    }

    pub(super) fn is_expired(&self, now: Instant) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// The calls, by transaction; those that may be under way, and those that wait for their turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    calls: BTreeMap<u32, Pending>,
    tickets: BTreeMap<Ticket, u32>,
    waiting: VecDeque<u32>,
    /// Those that have had their turn, in the order of their turns.
    flight: Vec<u32>,
    deadlines: Deadlines<u32>,
}

impl Table {
    pub(super) fn contains(&self, xid: u32) -> bool {
        self.calls.contains_key(&xid)
    }

    pub(super) fn get(&self, xid: u32) -> Option<&Pending> {
        self.calls.get(&xid)
    }

    pub(super) fn get_mut(&mut self, xid: u32) -> Option<&mut Pending> {
        self.calls.get_mut(&xid)
    }

    /// The transaction of a call.
    pub(super) fn transaction(&self, ticket: Ticket) -> Option<u32> {
        self.tickets.get(&ticket).copied()
    }

    /// Calls that have had their turn.
    pub(super) fn in_flight(&self) -> usize {
        self.flight.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// A new call, the last in the queue.
    ///
    /// # Panics
    /// If a call has its ticket already.
    pub(super) fn insert(&mut self, xid: u32, call: Pending) {
        let other = self.tickets.insert(call.ticket, xid);
        assert!(other.is_none(), "{:?} names two calls", call.ticket);
        let expires = call.expires;
        self.calls.insert(xid, call);
        self.waiting.push_back(xid);
        self.set_due(xid, expires);
    }

    /// The call whose turn it is.
    pub(super) fn next_waiting(&mut self) -> Option<u32> {
        let xid = self.waiting.pop_front()?;
        self.flight.push(xid);
        Some(xid)
    }

    pub(super) fn remove(&mut self, xid: u32) -> Option<Pending> {
        self.set_due(xid, None);
        let call = self.calls.remove(&xid)?;
        self.tickets.remove(&call.ticket);
        match call.sent {
            Some(_) => self.flight.retain(|other| *other != xid),
            None => self.waiting.retain(|other| *other != xid),
        }
        Some(call)
    }

    /// Something is to be done about a call at this time, or earlier if it expires earlier.
    pub(super) fn set_due(&mut self, xid: u32, due: Option<Instant>) {
        if let Some(call) = self.calls.get(&xid) {
            let due = machine::earlier(due, call.expires.filter(|_| due.is_some()));
            self.deadlines.set(xid, due);
        }
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.deadlines.first()
    }

    /// The first call about which something is to be done now.
    pub(super) fn due(&self, now: Instant) -> Option<u32> {
        self.deadlines.first_due(now)
    }

    /// The transactions of calls that have had their turn, in that order.
    pub(super) fn under_way(&self) -> Vec<u32> {
        self.flight.clone()
    }

    /// Those of a class that were sent last before this place.
    pub(super) fn overtaken(&self, class: Class, place: u64) -> Vec<u32> {
        let is_overtaken = |xid: &&u32| {
            let call = self.calls.get(xid).filter(|call| call.class == class);
            let sent = call.and_then(|call| call.sent);
            sent.is_some_and(|sent| sent.last_place < place)
        };
        self.flight.iter().filter(is_overtaken).copied().collect()
    }
}
