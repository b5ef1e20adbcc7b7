//! The replies that the server remembers, so that a copy of a call is not executed again.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use nfs::{Idempotency, Numbered, PROGRAM, Procedure, VERSION};
use rpc::message::Call;

use crate::Peer;
use crate::storage::checksum;

/// The first bytes of a call that are looked at: as many as in Linux.
const CHECKED: usize = 256;

/// By what a call is known: who asks from where, the transaction, and the checksum of its first bytes, for transactions
/// begin again when a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    peer: Peer,
    xid: u32,
    checksum: u64,
}

/// What became of a call.
#[derive(Debug, Clone)]
pub(crate) enum Known {
    /// Nobody has heard of it.
    New,
    /// It is waiting, or being executed.
    Underway,
    /// It was answered.
    Answered(Bytes),
}

/// The reply cache. It holds as many replies as it may, the oldest of which gives way to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReplyCache {
    limit: usize,
    calls: BTreeMap<Key, Option<Bytes>>,
    /// The calls that were answered, oldest first.
    answered: VecDeque<Key>,
}

impl ReplyCache {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// The call's key; none if it may be executed again: what only reads, and all that is not NFS.
    pub(crate) fn key(&self, peer: Peer, message: &[u8]) -> Option<Key> {
        let call = Call::parse(message).ok().filter(|_| self.limit > 0)?;
        let rpc::Procedure {
            program,
            version,
            number,
        } = call.procedure;
        let procedure = Procedure::of(number)?;
        let remembered = (program, version) == (PROGRAM, VERSION)
            && procedure.idempotency() != Idempotency::Reads;
        remembered.then(|| Key {
            peer,
            xid: call.xid,
            checksum: checksum(&message[..message.len().min(CHECKED)]),
        })
    }

    pub(crate) fn look_up(&self, key: Key) -> Known {
        match self.calls.get(&key) {
            None => Known::New,
            Some(None) => Known::Underway,
            Some(Some(reply)) => Known::Answered(reply.clone()),
        }
    }

    /// The call is under way.
    pub(crate) fn begin(&mut self, key: Key) {
        self.calls.insert(key, None);
    }

    /// The call was answered.
    pub(crate) fn finish(&mut self, key: Key, reply: Bytes) {
        self.calls.insert(key, Some(reply));
        self.answered.push_back(key);
        if self.answered.len() > self.limit
            && let Some(oldest) = self.answered.pop_front()
        {
            self.calls.remove(&oldest);
        }
    }

    /// Nothing was ever heard of.
    pub(crate) fn clear(&mut self) {
        self.calls.clear();
        self.answered.clear();
    }
}
