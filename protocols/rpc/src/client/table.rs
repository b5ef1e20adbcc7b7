//! The calls that have not ended.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use machine::Deadlines;
use units::{Duration, Instant};

use crate::{Class, Procedure, Request, Ticket};

/// Times of a call's transmissions. Places number all messages, which orders those sent at one instant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transmissions {
    pub(super) count: u32,
    pub(super) first: Instant,
    pub(super) last: Instant,
    pub(super) first_place: u64,
    pub(super) last_place: u64,
    /// Time that the hop had worked at the first transmission, and at the last.
    pub(super) worked_first: Duration,
    pub(super) worked_last: Duration,
}

/// Signs that a call or its reply is lost.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LossSigns {
    /// Number of timeouts that count.
    pub(super) timeouts: u32,
    /// Number of replies to later calls since its last transmission.
    pub(super) overtakers: u32,
    /// Number of such replies that caused its retransmission.
    pub(super) overtaken_by: u32,
    /// Number of messages with its transaction ID that are no reply, or have no results.
    pub(super) malformed: u32,
    /// Set if its next transmission follows an outage of the hop or the server, which is no timeout.
    pub(super) resuming: bool,
}

/// A call that has not ended.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    pub(super) ticket: Ticket,
    pub(super) procedure: Procedure,
    pub(super) class: Class,
    /// Encoded message, the same in every transmission.
    pub(super) message: Bytes,
    pub(super) patience: Option<Duration>,
    pub(super) expires: Option<Instant>,
    pub(super) sent: Option<Transmissions>,
    pub(super) doubts: LossSigns,
}

impl Pending {
    /// Returns the call of `request`, encoded as `message`, whose patience begins at `now`.
    pub(super) fn new(now: Instant, request: &Request, message: Bytes) -> Self {
        Self {
            ticket: request.ticket,
            procedure: request.procedure,
            class: request.class,
            message,
            patience: request.patience,
            expires: request.patience.map(|patience| now + patience),
            sent: None,
            doubts: LossSigns::default(),
        }
    }

    /// Returns its class, its signs of loss, and its transmissions.
    pub(super) fn standing(&self) -> (Class, LossSigns, Option<Transmissions>) {
        (self.class, self.doubts, self.sent)
    }

    pub(super) fn is_expired(&self, now: Instant) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// Calls by transaction ID: those in flight, and those that wait for their turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    calls: BTreeMap<u32, Pending>,
    tickets: BTreeMap<Ticket, u32>,
    waiting: VecDeque<u32>,
    /// Calls that have had their turn, in the order of their turns.
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

    /// Returns the transaction ID of a call, or none if it has ended.
    pub(super) fn transaction(&self, ticket: Ticket) -> Option<u32> {
        self.tickets.get(&ticket).copied()
    }

    /// Returns the number of calls that have had their turn.
    pub(super) fn in_flight(&self) -> usize {
        self.flight.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Adds a call at the end of the queue.
    ///
    /// # Panics
    /// If another call has its ticket.
    pub(super) fn insert(&mut self, xid: u32, call: Pending) {
        let other = self.tickets.insert(call.ticket, xid);
        assert!(other.is_none(), "{:?} names two calls", call.ticket);
        let expires = call.expires;
        self.calls.insert(xid, call);
        self.waiting.push_back(xid);
        self.set_due(xid, expires);
    }

    /// Returns the call whose turn it is, if any waits.
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

    /// Sets the deadline of a call, or an earlier one if the call expires before.
    pub(super) fn set_due(&mut self, xid: u32, due: Option<Instant>) {
        if let Some(call) = self.calls.get(&xid) {
            let due = machine::earlier(due, call.expires.filter(|_| due.is_some()));
            self.deadlines.set(xid, due);
        }
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.deadlines.first()
    }

    /// Returns the first call whose deadline has come, if any.
    pub(super) fn due(&self, now: Instant) -> Option<u32> {
        self.deadlines.first_due(now)
    }

    /// Returns the transaction IDs of calls that have had their turn, in that order.
    pub(super) fn under_way(&self) -> Vec<u32> {
        self.flight.clone()
    }

    /// Returns the calls of a class whose last transmission was before this place.
    pub(super) fn overtaken(&self, class: Class, place: u64) -> Vec<u32> {
        let is_overtaken = |xid: &&u32| {
            let call = self.calls.get(xid).filter(|call| call.class == class);
            let sent = call.and_then(|call| call.sent);
            sent.is_some_and(|sent| sent.last_place < place)
        };
        self.flight.iter().filter(is_overtaken).copied().collect()
    }
}
