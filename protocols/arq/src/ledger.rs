//! The transmissions whose fate is not known yet.

use std::collections::VecDeque;
use std::ops::Range;

use units::{Duration, Instant};
use wire::ip::Ecn;

use crate::sent_marks::SentMarks;

/// What a transmission carried, for repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// A range of a held flow's stream; `end` if it said that the stream ends there.
    Stream {
        /// The flow's slot.
        slot: usize,
        /// The flow's number, since slots are used again.
        flow: u64,
        /// The bytes.
        range: Range<u64>,
        /// Whether the chunk ended the stream.
        end: bool,
        /// Whether it had been sent before.
        again: bool,
    },
    /// A fragment of a brief packet.
    Brief {
        /// The packet's number.
        packet: u64,
        /// The bytes of its record.
        range: Range<u64>,
        /// Which try of the packet this is, from 1.
        attempt: u8,
    },
    /// A packet of the split transport, of so many bytes. Its loss is for that to repair.
    Transport(u16),
    /// Padding, to see whether so long a frame passes.
    Padding,
}

impl Content {
    /// Its bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Stream { range, .. } | Self::Brief { range, .. } => range.end - range.start,
            Self::Transport(length) => u64::from(*length),
            Self::Padding => 0,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Nothing is known.
    Open,
    /// No acknowledgement came in time; its content is being sent again.
    Presumed,
    /// Acknowledged, or known to be lost.
    Settled,
}

/// One transmission.
#[derive(Debug, Clone)]
struct Entry {
    sent_at: Instant,
    /// Wire bytes sent in all when this one had left.
    sent_total: u64,
    /// Of those, bytes of transmissions that ask for an acknowledgement.
    asking_total: u64,
    wire_bytes: u32,
    contents: u16,
    /// Its bytes.
    length: u16,
    /// Whether it asks for an acknowledgement.
    asks: bool,
    /// Whether it was sent able to be marked.
    capable: bool,
    fate: Fate,
}

/// What became of a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It arrived.
    Arrived,
    /// A later one arrived and it did not.
    Lost,
}

/// One settled transmission.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settled {
    /// Its number.
    pub(crate) number: u64,
    /// Its bytes.
    pub(crate) length: usize,
    /// Whether it was to be lost if its length is more than the path carries.
    pub(crate) is_padded: bool,
    /// When it left.
    pub(crate) sent_at: Instant,
    /// Wire bytes sent in all when it had left.
    pub(crate) sent_total: u64,
    /// What became of it.
    pub(crate) outcome: Outcome,
    /// Whether its content is due again: it was not presumed lost before.
    pub(crate) repair: bool,
    /// Whether it asked for an acknowledgement.
    pub(crate) asked: bool,
}

/// The transmissions whose fate is not known, in order, with what they carried.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: VecDeque<Entry>,
    contents: VecDeque<Content>,
    /// The number of the first entry.
    base: u64,
    /// How many entries at the front nobody waits for: they are not open, or ask for nothing.
    presumed: usize,
    sent_total: u64,
    /// What is known of marks on the way.
    pub(crate) marks: SentMarks,
    asking_total: u64,
    /// That of the highest transmission that has arrived.
    heard_total: u64,
    /// Wire bytes of transmissions that are known to be lost.
    lost_bytes: u64,
}

impl Ledger {
    /// The number of the next transmission.
    pub(crate) fn next_number(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    /// How many transmissions are remembered.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How much is remembered of what they carried.
    pub(crate) fn contents(&self) -> usize {
        self.contents.len()
    }

    /// Returns the wire bytes of transmissions that ask for an acknowledgement and left after the highest one that has
    /// arrived.
    pub(crate) fn outstanding(&self) -> u64 {
        self.asking_total - self.heard_total
    }

    /// Returns the wire bytes of all transmissions that are known to be lost.
    pub(crate) fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Bytes that it holds.
    pub(crate) fn memory(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
            + self.contents.capacity() * size_of::<Content>()
    }

    /// Notes that the transmission being written carries `content`.
    pub(crate) fn carry(&mut self, content: Content) {
        self.contents.push_back(content);
    }

    /// Others have used the medium for so many bytes.
    pub(crate) fn elsewhere(&mut self, wire_bytes: u64) {
        self.sent_total += wire_bytes;
    }

    /// Notes that the next transmission has left, with the last `contents` noted. Returns the field that its outer
    /// header is to have.
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

    /// When the oldest transmission left that asks for an acknowledgement and has none.
    pub(crate) fn oldest_open(&self) -> Option<Instant> {
        self.entries.get(self.presumed).map(|entry| entry.sent_at)
    }

    /// Presumes lost what left `patience` ago or earlier, of that the `most` oldest; `due` gets what it carried.
    /// Returns the number of those transmissions.
    pub(crate) fn presume_lost(
        &mut self,
        now: Instant,
        patience: Duration,
        most: usize,
        mut due: impl FnMut(&Content),
    ) -> usize {
        let mut count = 0;
        let mut first = 0;
        for (index, entry) in self.entries.iter_mut().enumerate() {
            if entry.sent_at + patience > now || count >= most {
                break;
            }
            let contents = first..first + usize::from(entry.contents);
            first = contents.end;
            if index >= self.presumed && entry.fate == Fate::Open {
                entry.fate = Fate::Presumed;
                count += usize::from(entry.asks);
                self.contents.range(contents).for_each(&mut due);
            }
        }
        self.pass_presumed();
        if count > 0 {
            self.marks.silent(now);
        }
        count
    }

    /// The number of the first transmission without news.
    pub(crate) fn first(&self) -> u64 {
        self.base
    }

    /// Settles the fate of transmissions: those in `received` (`start..=end`, from the highest down) arrived; the
    /// others below `lost_before` did not. `settled` gets each that is news, in order, with what it carried.
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

    /// Drops entries from the front that need no more attention.
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

    /// Forgets the oldest transmissions that nobody waits for any more, so that at most `kept` remain.
    pub(crate) fn forget_beyond(&mut self, kept: usize) {
        while self.entries.len() > kept
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
