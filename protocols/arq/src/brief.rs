//! The sending end of brief packets: few tries, no order, and no packet waits for them.

use std::collections::VecDeque;
use std::ops::Range;

use units::{Duration, Instant, RangeSet};
use wire::hop::{RecordHead, RecordWriter};
use wire::packet::Packet;

use crate::limits::PACKET;

/// Limits on the transmissions of a brief packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tries {
    /// Most transmissions of a fragment, the first included.
    pub most: u8,
    /// Age after which nothing is retransmitted.
    pub age: Duration,
    /// True if a transmission that was lost in a fade counts as a try.
    pub count_fades: bool,
}

#[derive(Debug)]
struct Outstanding {
    head: RecordHead,
    packet: Packet,
    born: Instant,
    /// Number of the try that its fragments are on: one more than the latest that failed.
    attempt: u8,
    /// True if lost fragments are retransmitted.
    repaired: bool,
    unsent: u64,
    lost: RangeSet,
    confirmed: RangeSet,
}

impl Outstanding {
    fn len(&self) -> u64 {
        (self.head.as_bytes().len() + self.packet.len()) as u64
    }
}

/// A fragment to send.
#[derive(Debug, Clone)]
pub(crate) struct Fragment {
    pub(crate) packet: u64,
    pub(crate) range: Range<u64>,
    /// True if it ends the packet's record.
    pub(crate) last: bool,
    pub(crate) repaired: bool,
    pub(crate) attempt: u8,
    /// True if it was sent before.
    pub(crate) again: bool,
}

/// Brief packets whose delivery is not confirmed.
#[derive(Debug)]
pub(crate) struct BriefSender {
    tries: Tries,
    outstanding: VecDeque<Option<Outstanding>>,
    /// Bytes of the buffers of those that are left.
    storage: usize,
    base: u64,
    repairs: VecDeque<u64>,
    /// Packet whose first transmission is not complete, if it needs another frame.
    unfinished: Option<u64>,
    /// Packets given up.
    pub(crate) abandoned: u64,
}

impl BriefSender {
    pub(crate) fn new(tries: Tries) -> Self {
        Self {
            tries,
            outstanding: VecDeque::new(),
            storage: 0,
            base: 0,
            repairs: VecDeque::new(),
            unfinished: None,
            abandoned: 0,
        }
    }

    /// Returns true if fragments wait: of a repair, or of a packet that has begun.
    pub(crate) fn has_work(&self) -> bool {
        self.unfinished.is_some() || !self.repairs.is_empty()
    }

    /// Returns true if a loss in a fade counts as a try.
    pub(crate) fn counts_fades(&self) -> bool {
        self.tries.count_fades
    }

    /// Returns the number of packets outstanding.
    pub(crate) fn len(&self) -> usize {
        self.outstanding.len()
    }

    /// Returns the bytes of memory that they hold.
    pub(crate) fn memory(&self) -> usize {
        let slots = self.outstanding.capacity() * size_of::<Option<Outstanding>>();
        let repairs = self.repairs.capacity() * size_of::<u64>();
        self.storage + slots + self.outstanding.len() * PACKET + repairs
    }

    /// Adds a packet for its first transmission.
    ///
    /// A packet that is not `repaired` is forgotten as soon as it has left.
    pub(crate) fn push(&mut self, now: Instant, packet: Packet, repaired: bool) {
        let head = RecordWriter::default().write(&packet);
        let entry = Outstanding {
            head,
            packet,
            born: now,
            attempt: 1,
            repaired,
            unsent: 0,
            lost: RangeSet::default(),
            confirmed: RangeSet::default(),
        };
        self.storage += entry.packet.capacity();
        self.unfinished = Some(self.base + self.outstanding.len() as u64);
        self.outstanding.push_back(Some(entry));
    }

    fn entry(&mut self, packet: u64) -> Option<&mut Outstanding> {
        let index = packet.checked_sub(self.base)?;
        self.outstanding
            .get_mut(usize::try_from(index).ok()?)?
            .as_mut()
    }

    /// Returns the next fragment of at most `room` bytes, repairs first.
    pub(crate) fn next_fragment(&mut self, room: usize) -> Option<Fragment> {
        let again = self.tries.most > 1;
        let fragment = |packet, entry: &Outstanding, range: Range<u64>| {
            let end = range.end.min(range.start + room as u64);
            Fragment {
                packet,
                range: range.start..end,
                last: end == entry.len(),
                repaired: entry.repaired && again,
                attempt: entry.attempt,
                again: range.start < entry.unsent,
            }
        };
        while let Some(packet) = self.repairs.front().copied() {
            if let Some(entry) = self.entry(packet)
                && let Some(range) = entry.lost.first()
            {
                return Some(fragment(packet, entry, range));
            }
            self.repairs.pop_front();
        }
        let packet = self.unfinished?;
        let entry = self.entry(packet)?;
        Some(fragment(packet, entry, entry.unsent..entry.len()))
    }

    /// Copies the fragment into `out` and records that it is in flight.
    pub(crate) fn send(&mut self, fragment: &Fragment, out: &mut [u8]) {
        let plain = !fragment.repaired;
        let Some(entry) = self.entry(fragment.packet) else {
            return;
        };
        let mut skipped = fragment.range.start as usize;
        let mut filled = 0;
        for part in [entry.head.as_bytes(), &entry.packet[..]] {
            let left = part.get(skipped..).unwrap_or_default();
            let count = left.len().min(out.len() - filled);
            out[filled..filled + count].copy_from_slice(&left[..count]);
            filled += count;
            skipped = skipped.saturating_sub(part.len());
        }
        entry.lost.remove(&fragment.range);
        entry.unsent = entry.unsent.max(fragment.range.end);
        let complete = entry.unsent == entry.len();
        if complete && self.unfinished == Some(fragment.packet) {
            self.unfinished = None;
            if plain {
                self.forget(fragment.packet);
            }
        }
    }

    /// Records that the other end has `range` of `packet`; returns the number of bytes newly confirmed.
    pub(crate) fn confirm(&mut self, packet: u64, range: Range<u64>) -> u64 {
        let Some(entry) = self.entry(packet) else {
            return 0;
        };
        entry.lost.remove(&range);
        let news = entry.confirmed.insert(range);
        let all = 0..entry.len();
        if entry.confirmed.covers(&all) {
            self.forget(packet);
        }
        news
    }

    /// Records that `range` of `packet` did not arrive in the try `failed`, or in a fade if that is `None`; it is
    /// retransmitted if its tries and its age allow.
    pub(crate) fn lose(
        &mut self,
        now: Instant,
        packet: u64,
        range: Range<u64>,
        failed: Option<u8>,
    ) {
        let tries = self.tries;
        let Some(entry) = self.entry(packet) else {
            return;
        };
        // The rest of a plain packet may still wait to leave.
        if entry.confirmed.covers(&range) || !entry.repaired {
            return;
        }
        if failed.is_some_and(|attempt| attempt >= tries.most) || now.since(entry.born) > tries.age
        {
            self.abandoned += 1;
            self.forget(packet);
            return;
        }
        entry.attempt = failed.map_or(entry.attempt, |attempt| entry.attempt.max(attempt + 1));
        let waits = !entry.lost.is_empty();
        entry.lost.insert(range);
        if !waits {
            self.repairs.push_back(packet);
        }
    }

    /// Queues `range` once more without waiting for an acknowledgement; returns false if it is confirmed, given up or
    /// too old.
    pub(crate) fn repeat(&mut self, now: Instant, packet: u64, range: &Range<u64>) -> bool {
        let tries = self.tries;
        let Some(entry) = self.entry(packet) else {
            return false;
        };
        if entry.confirmed.covers(range) || tries.count_fades || now.since(entry.born) > tries.age {
            return false;
        }
        let waits = !entry.lost.is_empty();
        entry.lost.insert(range.clone());
        if !waits {
            self.repairs.push_back(packet);
        }
        true
    }

    /// Returns the packets that are not in `received`.
    pub(crate) fn withdraw(&mut self, received: &RangeSet) -> impl Iterator<Item = Packet> {
        let numbers = self.base..;
        let packets = std::mem::take(&mut self.outstanding).into_iter();
        let left = numbers
            .zip(packets)
            .filter(|(number, _)| !received.contains(*number));
        left.filter_map(|(_, outstanding)| Some(outstanding?.packet))
    }

    fn forget(&mut self, packet: u64) {
        let slot = self.outstanding.get_mut((packet - self.base) as usize);
        if let Some(gone) = slot.and_then(Option::take) {
            self.storage -= gone.packet.capacity();
        }
        while self.outstanding.front().is_some_and(Option::is_none) {
            self.outstanding.pop_front();
            self.base += 1;
        }
        if self.unfinished == Some(packet) {
            self.unfinished = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::packet::PacketBuffer;

    use super::*;

    #[test]
    fn each_packet_counts_with_its_place() {
        let tries = Tries {
            most: 3,
            age: Duration::from_secs(1),
            count_fades: false,
        };
        let mut sender = BriefSender::new(tries);
        let packets = 1_000;
        for _ in 0..packets {
            let packet = Packet::new(PacketBuffer::copy_of(&[0x45; 40]));
            sender.push(Instant::ZERO, packet, true);
        }
        let each = size_of::<Option<Outstanding>>() + PACKET;
        assert!(sender.memory() >= sender.storage + packets * each);
    }
}
