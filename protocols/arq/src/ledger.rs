//! The transmissions that are neither acknowledged nor lost.

use std::collections::VecDeque;
use std::ops::Range;

use units::{Duration, Instant};
use wire::ip::Ecn;

use crate::copies::NewestCopies;
use crate::sent_marks::SentMarks;

/// Content of a transmission, for repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// A range of a held flow's stream.
    Stream {
        /// The flow's slot.
        slot: usize,
        /// The flow's number, since slots are reused.
        flow: u64,
        /// Byte range of the stream.
        range: Range<u64>,
        /// True if the chunk ended the stream.
        end: bool,
        /// True if it is a retransmission.
        again: bool,
    },
    /// A fragment of a brief packet.
    Brief {
        /// The packet's number.
        packet: u64,
        /// Byte range of its record.
        range: Range<u64>,
        /// Number of the try, from 1.
        attempt: u8,
        /// True if it is a retransmission.
        again: bool,
    },
    /// A packet of the split transport, with its length in bytes. That transport repairs its loss.
    Transport(u16),
    /// Padding of a probe that tests if a frame of this length passes.
    Padding,
}

impl Content {
    /// Returns its length in bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Stream { range, .. } | Self::Brief { range, .. } => range.end - range.start,
            Self::Transport(length) => u64::from(*length),
            Self::Padding => 0,
        }
    }

    /// Returns true if it is a retransmission.
    pub(crate) fn is_again(&self) -> bool {
        match self {
            Self::Stream { again, .. } | Self::Brief { again, .. } => *again,
            Self::Transport(_) | Self::Padding => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// In flight.
    Open,
    /// Presumed lost at the timeout; its content is being retransmitted.
    Presumed,
    /// Acknowledged, or declared lost.
    Settled,
}

/// One transmission.
#[derive(Debug, Clone)]
struct Entry {
    sent_at: Instant,
    /// Total bytes on the wire when it had left.
    sent_total: u64,
    /// Bytes of those in transmissions that request an acknowledgement.
    asking_total: u64,
    wire_bytes: u32,
    contents: u16,
    /// Its length in bytes.
    length: u16,
    /// True if it requests an acknowledgement.
    asks: bool,
    /// True if it was sent ECN-capable.
    capable: bool,
    fate: Fate,
}

/// Outcome of a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It arrived.
    Arrived,
    /// It was overtaken by one that arrived, and did not arrive itself.
    Lost,
}

/// One settled transmission.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settled {
    /// Its number.
    pub(crate) number: u64,
    /// Its length in bytes.
    pub(crate) length: usize,
    /// True if it is a probe, which is lost if it is longer than the path MTU.
    pub(crate) is_padded: bool,
    /// Time when it left.
    pub(crate) sent_at: Instant,
    /// Total bytes on the wire when it had left.
    pub(crate) sent_total: u64,
    /// Its outcome.
    pub(crate) outcome: Outcome,
    /// True if its content is due for retransmission: it was not presumed lost before.
    pub(crate) repair: bool,
    /// True if it requested an acknowledgement.
    pub(crate) asked: bool,
}

/// The transmissions that are neither acknowledged nor lost, in order, with their contents.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: VecDeque<Entry>,
    contents: VecDeque<Content>,
    newest: NewestCopies,
    /// Number of the first entry.
    base: u64,
    /// Number of entries at the front that are not waited for: they are not in flight, or request no acknowledgement.
    presumed: usize,
    sent_total: u64,
    /// State of congestion marks on the way.
    pub(crate) marks: SentMarks,
    asking_total: u64,
    /// `asking_total` of the highest transmission that has arrived.
    heard_total: u64,
    /// Bytes on the wire of transmissions that were declared lost.
    lost_bytes: u64,
}

impl Ledger {
    /// Returns the number of the next transmission.
    pub(crate) fn next_number(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    /// Returns the number of transmissions remembered.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of their contents.
    pub(crate) fn contents(&self) -> usize {
        self.contents.len()
    }

    /// Returns the bytes on the wire of transmissions that request an acknowledgement and left after the highest one
    /// that has arrived.
    pub(crate) fn outstanding(&self) -> u64 {
        self.asking_total - self.heard_total
    }

    /// Returns the bytes on the wire of all transmissions that were declared lost.
    pub(crate) fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Returns the bytes of memory that it holds.
    pub(crate) fn memory(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
            + self.contents.capacity() * size_of::<Content>()
            + self.newest.memory()
    }

    /// Adds `content` to the transmission that is being written.
    pub(crate) fn carry(&mut self, content: Content) {
        self.newest.sent(self.next_number(), &content);
        self.contents.push_back(content);
    }

    /// Adds bytes for which other hosts used the medium.
    pub(crate) fn elsewhere(&mut self, wire_bytes: u64) {
        self.sent_total += wire_bytes;
    }

    /// Records that the next transmission has left, with the last `contents` added. Returns the ECN field that its
    /// outer header must have.
    pub(crate) fn sent(
        &mut self,
        now: Instant,
        length: usize,
        overhead: usize,
        contents: usize,
        asks: bool,
    ) -> Ecn {
        let ecn = if asks {
            self.marks.send(now)
        } else {
            Ecn::NotCapable
        };
        let wire_bytes = (length + overhead) as u64;
        self.sent_total += wire_bytes;
        self.asking_total += if asks { wire_bytes } else { 0 };
        let entry = Entry {
            sent_at: now,
            sent_total: self.sent_total,
            asking_total: self.asking_total,
            wire_bytes: wire_bytes as u32,
            contents: contents as u16,
            length: u16::try_from(length).unwrap_or(u16::MAX),
            asks,
            capable: ecn != Ecn::NotCapable,
            fate: Fate::Open,
        };
        self.entries.push_back(entry);
        self.pass_presumed();
        ecn
    }

    fn pass_presumed(&mut self) {
        while self
            .entries
            .get(self.presumed)
            .is_some_and(|e| e.fate != Fate::Open || !e.asks)
        {
            self.presumed += 1;
        }
    }

    /// Returns the time when the oldest transmission left that waits for an acknowledgement.
    pub(crate) fn oldest_open(&self) -> Option<Instant> {
        self.entries.get(self.presumed).map(|entry| entry.sent_at)
    }

    /// Presumes transmissions lost that left `patience` ago or earlier. `due` gets their contents, except those of
    /// which another copy has left since `spared`; at most the `most` oldest with others are presumed lost. Returns the
    /// number of all of them.
    pub(crate) fn presume_lost(
        &mut self,
        now: Instant,
        patience: Duration,
        most: usize,
        spared: Instant,
        mut due: impl FnMut(&Content),
    ) -> usize {
        let (mut count, mut repeated) = (0, 0);
        let mut first = 0;
        for index in 0..self.entries.len() {
            let entry = &mut self.entries[index];
            if entry.sent_at + patience > now || repeated >= most {
                break;
            }
            let contents = first..first + usize::from(entry.contents);
            first = contents.end;
            if index < self.presumed || entry.fate != Fate::Open {
                continue;
            }
            entry.fate = Fate::Presumed;
            let (number, asks) = (self.base + index as u64, entry.asks);
            let mut is_repeated = contents.is_empty();
            for content in self.contents.range(contents) {
                let later = self.newest.later(number, content);
                let later = later.and_then(|later| self.entries.get((later - self.base) as usize));
                if later.is_none_or(|later| later.sent_at <= spared) {
                    self.newest.settled(number, content);
                    is_repeated = true;
                    due(content);
                }
            }
            count += usize::from(asks);
            repeated += usize::from(is_repeated && asks);
        }
        self.pass_presumed();
        if count > 0 {
            self.marks.silent(now);
        }
        count
    }

    /// Returns the number of the first transmission in the ledger.
    pub(crate) fn first(&self) -> u64 {
        self.base
    }

    /// Settles transmissions: those in `received` (`start..=end`, from the highest down) arrived; the others below
    /// `lost_before` are lost. `settled` gets each new outcome, in order, with its contents.
    pub(crate) fn settle(
        &mut self,
        now: Instant,
        received: &[(u64, u64)],
        lost_before: u64,
        mut settled: impl FnMut(Settled, &mut dyn Iterator<Item = &Content>),
    ) {
        let named = received.first().map_or(0, |(_, largest)| largest + 1);
        let end = named.max(lost_before).min(self.next_number());
        let mut ranges = received.iter().rev().peekable();
        let mut first = 0;
        for number in self.base..end {
            let entry = &mut self.entries[(number - self.base) as usize];
            let contents = first..first + usize::from(entry.contents);
            first = contents.end;
            while ranges
                .peek()
                .is_some_and(|(_, range_end)| *range_end < number)
            {
                ranges.next();
            }
            let arrived = ranges.peek().is_some_and(|(start, _)| *start <= number);
            if entry.fate == Fate::Settled || (!arrived && number >= lost_before) {
                continue;
            }
            for content in self.contents.range(contents.clone()) {
                self.newest.settled(number, content);
            }
            let mut carried = self.contents.range(contents);
            let news = Settled {
                number,
                length: entry.length.into(),
                is_padded: carried.clone().any(|content| *content == Content::Padding),
                sent_at: entry.sent_at,
                sent_total: entry.sent_total,
                outcome: if arrived {
                    Outcome::Arrived
                } else {
                    Outcome::Lost
                },
                repair: !arrived && entry.fate == Fate::Open,
                asked: entry.asks,
            };
            if arrived {
                self.heard_total = self.heard_total.max(entry.asking_total);
            } else {
                self.lost_bytes += u64::from(entry.wire_bytes);
            }
            entry.fate = Fate::Settled;
            if arrived && entry.asks {
                self.marks.arrived(now, entry.capable);
            }
            settled(news, &mut carried);
        }
        self.forget_settled();
    }

    /// Removes settled entries from the front.
    fn forget_settled(&mut self) {
        while self
            .entries
            .front()
            .is_some_and(|entry| entry.fate == Fate::Settled)
        {
            if let Some(entry) = self.entries.pop_front() {
                self.contents.drain(..usize::from(entry.contents));
                self.base += 1;
                self.presumed = self.presumed.saturating_sub(1);
            }
        }
        self.pass_presumed();
    }

    /// Forgets the oldest transmissions that are not waited for, so that at most `kept` remain, with so many contents.
    pub(crate) fn forget_beyond(&mut self, kept: usize, contents: usize) {
        while (self.entries.len() > kept || self.contents.len() > contents)
            && self
                .entries
                .front()
                .is_some_and(|entry| entry.fate != Fate::Open || !entry.asks)
        {
            if let Some(entry) = self.entries.front_mut() {
                entry.fate = Fate::Settled;
            }
            self.forget_settled();
        }
    }
}
