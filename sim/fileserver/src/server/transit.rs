//! Faults of replies on their way.

use bytes::{Bytes, BytesMut};
use units::Instant;

use super::Server;
use crate::{Output, Peer};

/// Largest number of delayed replies; others are sent in time.
const DELAYED_MAX: usize = 1_024;
/// Largest number of extra bytes at the end of a broken reply.
const EXTRA_MAX: u64 = 8;

impl Server {
    /// Sends a reply, unless a fault applies.
    pub(super) fn depart(&mut self, now: Instant, to: Peer, reply: Bytes) {
        let injected = &mut self.counters.injected;
        let chances = &mut self.chances;
        if chances.lost_replies.happens(&mut injected.lost_replies) {
            return;
        }
        let mut message = reply;
        if chances
            .wrong_transactions
            .happens(&mut injected.wrong_transactions)
        {
            message = of_another(&message, chances.wrong_transactions.number());
        }
        if chances.broken_replies.happens(&mut injected.broken_replies) {
            message = broken(&message, chances.broken_replies.number());
        }
        let output = Output::Send { to, message };
        if self.delayed.len() < DELAYED_MAX
            && chances
                .delayed_replies
                .happens(&mut injected.delayed_replies)
        {
            let leaves = now + chances.delay();
            self.delayed.insert((leaves, self.delays), output);
            self.delays += 1;
        } else {
            self.outputs.push_back(output);
        }
    }
}

/// Returns the reply with another transaction number.
fn of_another(reply: &[u8], number: u64) -> Bytes {
    let mut bytes = BytesMut::from(reply);
    // At least one bit of the four bytes changes.
    let bits = (number as u32) | 1;
    for (byte, bits) in bytes.iter_mut().zip(bits.to_be_bytes()) {
        *byte ^= bits;
    }
    bytes.freeze()
}

/// Returns the reply with extra bytes at its end, or with some missing there.
fn broken(reply: &[u8], number: u64) -> Bytes {
    let mut bytes = BytesMut::from(reply);
    let how_many = number >> 1;
    if number & 1 == 0 {
        bytes.truncate((how_many % reply.len().max(1) as u64) as usize);
    } else {
        bytes.resize(reply.len() + 1 + (how_many % EXTRA_MAX) as usize, 0);
    }
    bytes.freeze()
}
