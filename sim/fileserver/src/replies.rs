//! The reply cache, so that a copy of a call is not executed again.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use nfs::{Idempotency, Numbered, PROGRAM, Procedure, VERSION};
use rpc::message::Call;

use crate::Peer;
use crate::storage::checksum;

/// Number of bytes of a call that the checksum covers, as in Linux.
const CHECKED: usize = 256;

/// Key of a call: the client and its address, the transaction number, and the checksum of the first bytes, as
/// transaction numbers start again when a client restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    peer: Peer,
    xid: u32,
    checksum: u64,
}

/// State of a call in the cache.
#[derive(Debug, Clone)]
pub(crate) enum CacheState {
    /// The call is unknown.
    New,
    /// The call is waiting, or being executed.
    Underway,
    /// The call was answered.
    Answered(Bytes),
}

/// The reply cache. When it is full, the oldest reply gives way to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReplyCache {
    limit: usize,
    calls: BTreeMap<Key, Option<Bytes>>,
    /// Answered calls, oldest first.
    answered: VecDeque<Key>,
}

impl ReplyCache {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Returns the call's key; `None` if it may be executed again: calls that only read, and calls of other programs
    /// than NFS.
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

    pub(crate) fn look_up(&self, key: Key) -> CacheState {
        match self.calls.get(&key) {
            None => CacheState::New,
            Some(None) => CacheState::Underway,
            Some(Some(reply)) => CacheState::Answered(reply.clone()),
        }
    }

    /// Records that the call is in progress.
    pub(crate) fn begin(&mut self, key: Key) {
        self.calls.insert(key, None);
    }

    /// Records the reply of the call.
    pub(crate) fn finish(&mut self, key: Key, reply: Bytes) {
        self.calls.insert(key, Some(reply));
        self.answered.push_back(key);
        if self.answered.len() > self.limit
            && let Some(oldest) = self.answered.pop_front()
        {
            self.calls.remove(&oldest);
        }
    }

    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        self.calls.clear();
        self.answered.clear();
    }
}
