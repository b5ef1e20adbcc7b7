//! Written bytes of a file that are not safe yet.
//!
//! Every byte is in one of three states: *dirty* until it is sent, *in flight* until the server replies, and *unstable*
//! until a COMMIT returns the same write verifier as that reply (RFC 1813 §4.11), which means that the server has not
//! restarted. After any failure it is dirty again. When it is safe, it is forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bytes::{Bytes, BytesMut};
use nfs::{Stability, WriteVerifier};
use planted::Bug;

use super::{Span, touching};

/// Overhead of a piece beside its data, in bytes, so that many tiny pieces do not take much more than they count for.
const PIECE_OVERHEAD: u64 = 128;

/// Size below which pieces are copied, so that none keeps a large buffer alive.
const COPIED_BELOW: usize = 4_096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Dirty,
    InFlight(u64),
    Unstable {
        verifier: WriteVerifier,
        /// Number of COMMITs begun when it was answered: a later one covers it.
        commits: u64,
    },
}

#[derive(Debug, Clone)]
struct Piece {
    data: Bytes,
    state: State,
    /// Number of its write, counted from the first.
    sequence: u64,
}

impl Span for Piece {
    fn length(&self) -> u64 {
        self.data.len() as u64
    }
}

/// The written bytes of one file, by their offset. No two pieces overlap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges {
    pieces: BTreeMap<u64, Piece>,
    dirty: BTreeSet<u64>,
    in_flight: BTreeMap<u64, u64>,
    unstable: u64,
    kept: u64,
    /// For each write, the number of its pieces that are not safe, and of those that the server does not have.
    sequences: BTreeMap<u64, usize>,
    unsent: BTreeMap<u64, usize>,
    next_sequence: u64,
    commits: u64,
}

fn count(map: &mut BTreeMap<u64, usize>, sequence: u64, more: bool) {
    let entry = map.entry(sequence).or_insert(0);
    if more {
        *entry += 1;
    } else {
        *entry -= 1;
        if *entry == 0 {
            map.remove(&sequence);
        }
    }
}

/// Returns the end of `length` bytes from `offset`.
fn end(offset: u64, length: usize) -> u64 {
    offset + length as u64
}

impl Ranges {
    fn insert(&mut self, offset: u64, piece: Piece) {
        self.kept += piece.data.len() as u64 + PIECE_OVERHEAD;
        count(&mut self.sequences, piece.sequence, true);
        match piece.state {
            State::Dirty => {
                self.dirty.insert(offset);
            }
            State::InFlight(call) => {
                self.in_flight.insert(call, offset);
            }
            State::Unstable { .. } => self.unstable += piece.data.len() as u64,
        }
        if !matches!(piece.state, State::Unstable { .. }) {
            count(&mut self.unsent, piece.sequence, true);
        }
        self.pieces.insert(offset, piece);
    }

    fn remove(&mut self, offset: u64) -> Option<Piece> {
        let piece = self.pieces.remove(&offset)?;
        self.kept -= piece.data.len() as u64 + PIECE_OVERHEAD;
        count(&mut self.sequences, piece.sequence, false);
        match piece.state {
            State::Dirty => {
                self.dirty.remove(&offset);
            }
            State::InFlight(call) => {
                self.in_flight.remove(&call);
            }
            State::Unstable { .. } => self.unstable -= piece.data.len() as u64,
        }
        if !matches!(piece.state, State::Unstable { .. }) {
            count(&mut self.unsent, piece.sequence, false);
        }
        Some(piece)
    }

    /// Forgets the bytes in `range`.
    fn carve(&mut self, range: &Range<u64>) {
        let touched = touching(&self.pieces, range).map(|(offset, _)| offset);
        for offset in touched.collect::<Vec<_>>() {
            let Some(piece) = self.remove(offset) else {
                continue;
            };
            let stop = end(offset, piece.data.len());
            if offset < range.start {
                let data = piece.data.slice(..(range.start - offset) as usize);
                self.insert(offset, Piece { data, ..piece });
            }
            if stop > range.end {
                let data = piece.data.slice((range.end - offset) as usize..);
                self.insert(range.end, Piece { data, ..piece });
            }
        }
    }

    /// Records that `data` were written at `offset`, over earlier written bytes.
    ///
    /// # Panics
    /// If some of the bytes there are in flight ([`is_in_flight`](Self::is_in_flight)).
    pub(crate) fn write(&mut self, offset: u64, data: Bytes) {
        let range = offset..end(offset, data.len());
        assert!(
            !self.is_in_flight(&range),
            "a write over bytes that are in flight"
        );
        if range.is_empty() {
            return;
        }
        self.carve(&range);
        let data = if data.len() < COPIED_BELOW {
            Bytes::copy_from_slice(&data)
        } else {
            data
        };
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.insert(
            offset,
            Piece {
                data,
                state: State::Dirty,
                sequence,
            },
        );
    }

    /// Returns true if some bytes of `range` are in flight: until their fate is known, no others may be sent there.
    pub(crate) fn is_in_flight(&self, range: &Range<u64>) -> bool {
        let flies = |(_, piece): (u64, &Piece)| matches!(piece.state, State::InFlight(_));
        !self.in_flight.is_empty() && touching(&self.pieces, range).any(flies)
    }

    /// Returns the range of the first bytes to send: they end at a multiple of `block` bytes or at the end of the
    /// written bytes. With `whole_only`, a block that a later write may fill up is left out.
    pub(crate) fn next_dirty(&self, block: u32, whole_only: bool) -> Option<Range<u64>> {
        let block = u64::from(block);
        let mut from = 0;
        while let Some(&start) = self.dirty.range(from..).next() {
            let boundary = (start / block + 1) * block;
            let mut stop = start;
            while let Some(piece) = self.pieces.get(&stop)
                && piece.state == State::Dirty
                && stop < boundary
            {
                stop = end(stop, piece.data.len());
            }
            if stop >= boundary || !whole_only {
                return Some(start..stop.min(boundary));
            }
            from = stop;
        }
        None
    }

    /// Returns the dirty bytes of `range`, in pieces.
    pub(crate) fn dirty_data(&self, range: &Range<u64>) -> Vec<Bytes> {
        let slice = |(offset, piece): (&u64, &Piece)| {
            let stop = end(*offset, piece.data.len()).min(range.end);
            piece.data.slice(..(stop - offset) as usize)
        };
        self.pieces.range(range.clone()).map(slice).collect()
    }

    /// Records that the dirty bytes at `offset` are in flight as `data`, in this call.
    pub(crate) fn sent(&mut self, offset: u64, data: Bytes, call: u64) {
        let range = offset..end(offset, data.len());
        let sequences = touching(&self.pieces, &range).map(|(_, piece)| piece.sequence);
        // A request that waits for one of the writes that are sent together waits for all of them.
        let Some(sequence) = sequences.min() else {
            return;
        };
        self.carve(&range);
        self.insert(
            offset,
            Piece {
                data,
                state: State::InFlight(call),
                sequence,
            },
        );
    }

    /// Records that the server has the first `written` bytes of this call; the others are dirty again. Forgets bytes
    /// that are safe already, and returns their range.
    pub(crate) fn answered(
        &mut self,
        call: u64,
        written: usize,
        stability: Stability,
        verifier: WriteVerifier,
    ) -> Option<Range<u64>> {
        let offset = *self.in_flight.get(&call)?;
        let piece = self.remove(offset)?;
        let written = written.min(piece.data.len());
        let rest = piece.data.slice(written..);
        if !rest.is_empty() {
            let state = State::Dirty;
            self.insert(
                end(offset, written),
                Piece {
                    data: rest,
                    state,
                    ..piece
                },
            );
        }
        if stability != Stability::Unstable {
            return Some(offset..end(offset, written));
        }
        let state = State::Unstable {
            verifier,
            commits: self.commits,
        };
        let data = piece.data.slice(..written);
        self.insert(
            offset,
            Piece {
                data,
                state,
                ..piece
            },
        );
        None
    }

    /// Records that the call failed: its bytes are dirty again.
    pub(crate) fn failed(&mut self, call: u64) {
        if let Some(offset) = self.in_flight.get(&call).copied()
            && let Some(piece) = self.remove(offset)
        {
            self.insert(
                offset,
                Piece {
                    state: State::Dirty,
                    ..piece
                },
            );
        }
    }

    /// Records that a COMMIT of all bytes is sent.
    pub(crate) fn commit(&mut self) {
        self.commits += 1;
    }

    /// Records the reply to the COMMIT: bytes written under the same `verifier` are safe, the others are dirty again.
    /// Returns the ranges that are safe, and the number of pieces that are not.
    pub(crate) fn committed(&mut self, verifier: WriteVerifier) -> (Vec<Range<u64>>, usize) {
        let covered = |piece: &Piece| match piece.state {
            State::Unstable { verifier, commits } if commits < self.commits => Some(verifier),
            _ => None,
        };
        let pieces = self
            .pieces
            .iter()
            .filter_map(|(offset, piece)| Some((*offset, covered(piece)?)));
        let mut safe = Vec::new();
        let mut lost = 0;
        for (offset, written) in pieces.collect::<Vec<_>>() {
            let Some(piece) = self.remove(offset) else {
                continue;
            };
            if written == verifier || planted::is(Bug::RestartIsOverlooked) {
                safe.push(offset..end(offset, piece.data.len()));
            } else {
                lost += 1;
                self.insert(
                    offset,
                    Piece {
                        state: State::Dirty,
                        ..piece
                    },
                );
            }
        }
        (safe, lost)
    }

    /// Cuts the file at `size`. Nothing beyond it may be in flight.
    pub(crate) fn cut(&mut self, size: u64) {
        self.carve(&(size..u64::MAX));
    }

    /// Forgets all bytes that are not in flight; returns their number.
    pub(crate) fn discard(&mut self) -> u64 {
        let flies = |piece: &Piece| matches!(piece.state, State::InFlight(_));
        let idle = self.pieces.iter().filter(|(_, piece)| !flies(piece));
        let mut lost = 0;
        for offset in idle.map(|(offset, _)| *offset).collect::<Vec<_>>() {
            lost += self
                .remove(offset)
                .map_or(0, |piece| piece.data.len() as u64);
        }
        lost
    }

    /// Copies the written bytes over those of a file from `offset` on.
    pub(crate) fn overlay(&self, offset: u64, bytes: &mut BytesMut) {
        let range = offset..end(offset, bytes.len());
        for (start, Piece { data, .. }) in touching(&self.pieces, &range) {
            let from = start.max(range.start);
            let to = end(start, data.len()).min(range.end);
            let source = &data[(from - start) as usize..(to - start) as usize];
            bytes[(from - range.start) as usize..(to - range.start) as usize]
                .copy_from_slice(source);
        }
    }

    /// Returns true if some bytes of `range` are here.
    pub(crate) fn touches(&self, range: &Range<u64>) -> bool {
        touching(&self.pieces, range).next().is_some()
    }

    /// Returns true if all bytes of `range` are here.
    pub(crate) fn covers(&self, range: &Range<u64>) -> bool {
        let mut at = range.start;
        for (offset, piece) in touching(&self.pieces, range) {
            if offset > at {
                return false;
            }
            at = offset + piece.length();
        }
        at >= range.end
    }

    /// Returns the end of the last of the bytes.
    pub(crate) fn end(&self) -> u64 {
        let last = self.pieces.last_key_value();
        last.map_or(0, |(offset, piece)| end(*offset, piece.data.len()))
    }

    /// Returns the bytes taken, with overhead.
    pub(crate) fn kept(&self) -> u64 {
        self.kept
    }

    /// Returns the number of bytes that still need a COMMIT.
    pub(crate) fn unstable(&self) -> u64 {
        self.unstable
    }

    /// Returns true if nothing is left to do.
    pub(crate) fn is_clean(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns true if some bytes were not sent, or were refused.
    pub(crate) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Returns true if the server has all bytes, even if they are not safe.
    pub(crate) fn is_drained(&self) -> bool {
        self.dirty.is_empty() && self.in_flight.is_empty()
    }

    /// Returns true if nothing is in flight.
    pub(crate) fn is_settled(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Returns true if there are no bytes outside `range`.
    pub(crate) fn is_all(&self, range: &Range<u64>) -> bool {
        let first = self.pieces.first_key_value();
        first.is_some_and(|(offset, _)| *offset >= range.start) && self.end() <= range.end
    }

    /// Returns the number of the next write. Those below it are safe when [`oldest`](Self::oldest) is not below it.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Returns the number of the first write with bytes that are not safe.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.sequences.keys().next().copied()
    }

    /// Returns the number of the first write of which the server lacks some bytes.
    pub(crate) fn oldest_unsent(&self) -> Option<u64> {
        self.unsent.keys().next().copied()
    }
}
