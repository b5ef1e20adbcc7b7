//! The data in flight: sent and not acknowledged.

use std::collections::VecDeque;
use std::ops::Range;

use redirector::Content;

use crate::state::{Sending, Sent};

/// Content of one packet in flight.
#[derive(Debug, Clone)]
pub(crate) struct Piece<C> {
    pub(crate) start: u64,
    pub(crate) content: C,
    /// Set if the stream ends after it, which takes one position.
    pub(crate) fin: bool,
    /// Cycle in which it was sent last.
    pub(crate) cycle: u64,
    /// Set if it was sent again since the last timeout.
    pub(crate) resent: bool,
    /// Set if it is to be sent again.
    due: bool,
    /// Set if the peer has received it.
    arrived: bool,
}

impl<C: Content> Piece<C> {
    pub(crate) fn new(start: u64, content: C, fin: bool, cycle: u64) -> Self {
        Self {
            start,
            content,
            fin,
            cycle,
            resent: false,
            due: false,
            arrived: false,
        }
    }

    fn end(&self) -> u64 {
        self.start + self.content.length() + u64::from(self.fin)
    }
}

/// Pieces between the acknowledged position and the next one to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Flight<C> {
    pieces: VecDeque<Piece<C>>,
    /// Starts of pieces that are to be sent again, in their order.
    due: VecDeque<u64>,
    /// Position up to which everything is acknowledged.
    acknowledged: u64,
    /// Bytes of data in all pieces.
    bytes: u64,
}

impl<C: Content> Flight<C> {
    pub(crate) fn new() -> Self {
        Self {
            pieces: VecDeque::new(),
            due: VecDeque::new(),
            acknowledged: 0,
            bytes: 0,
        }
    }

    /// Returns the position up to which everything is acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Returns the number of unacknowledged bytes of data.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of pieces.
    pub(crate) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Adds a piece that was sent for the first time.
    pub(crate) fn push(&mut self, piece: Piece<C>) {
        self.bytes += piece.content.length();
        self.pieces.push_back(piece);
    }

    /// Acknowledges everything before `position`. Returns false if it was acknowledged before.
    pub(crate) fn acknowledge(&mut self, position: u64) -> bool {
        if position <= self.acknowledged {
            return false;
        }
        self.acknowledged = position;
        while let Some(piece) = self.pieces.front_mut() {
            if piece.end() <= position {
                self.bytes -= piece.content.length();
                self.pieces.pop_front();
                continue;
            }
            if piece.start < position {
                // No correct peer acknowledges a part of a packet.
                let part = piece.content.take_front(position - piece.start);
                self.bytes -= part.length();
                piece.start = position;
                if piece.due {
                    self.due.push_front(position);
                }
            }
            break;
        }
        true
    }

    /// Notes that the peer has received the piece at `position`.
    pub(crate) fn arrived(&mut self, position: u64) {
        let index = self.index(position);
        if let Some(piece) = self.pieces.get_mut(index) {
            piece.arrived |= piece.start <= position;
        }
    }

    /// Marks the lost pieces of `range`, as decided by `is_lost`, to be sent again. Returns false if there are none.
    pub(crate) fn mark(&mut self, range: &Range<u64>, is_lost: impl Fn(&Piece<C>) -> bool) -> bool {
        let mut any = false;
        let first = self.index(range.start);
        let beyond = |piece: &&mut Piece<C>| piece.start < range.end;
        for piece in self.pieces.range_mut(first..).take_while(beyond) {
            if !piece.due && !piece.arrived && is_lost(piece) {
                piece.due = true;
                self.due.push_back(piece.start);
                any = true;
            }
        }
        any
    }

    /// Returns the oldest piece, unless it is to be sent again anyway.
    pub(crate) fn oldest(&self) -> Option<&Piece<C>> {
        self.pieces.front().filter(|piece| !piece.due)
    }

    /// Clears the repair marks of all pieces, after a timeout.
    pub(crate) fn forget_repairs(&mut self) {
        for piece in &mut self.pieces {
            piece.resent = false;
        }
    }

    /// Returns true if a piece is to be sent again.
    pub(crate) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Returns the next piece that is to be sent again, if any, and marks it as sent. Of one that is longer than `most`
    /// bytes it is the first part, and the rest is due next.
    pub(crate) fn next_due(&mut self, most: u64) -> Option<&mut Piece<C>> {
        loop {
            let start = self.due.pop_front()?;
            let index = self.index(start);
            let meant = |piece: &&mut Piece<C>| piece.start == start && piece.due;
            if self.pieces.get_mut(index).as_ref().is_some_and(meant) {
                self.cut(index, most);
                let piece = self.pieces.get_mut(index)?;
                piece.due = false;
                piece.resent = true;
                return Some(piece);
            }
        }
    }

    /// Cuts a piece that is due in two, if it is longer than `most` bytes.
    fn cut(&mut self, index: usize, most: u64) {
        let Some(rest) = self.pieces.get_mut(index) else {
            return;
        };
        if rest.content.length() <= most {
            return;
        }
        let content = rest.content.take_front(most);
        let first = Piece {
            due: true,
            ..Piece::new(rest.start, content, false, rest.cycle)
        };
        rest.start += most;
        self.due.push_front(rest.start);
        self.pieces.insert(index, first);
    }

    /// Returns the position after the last piece.
    pub(crate) fn end(&self) -> u64 {
        self.pieces.back().map_or(self.acknowledged, Piece::end)
    }

    /// Takes all pieces out as serializable state.
    pub(crate) fn suspend(&mut self) -> Vec<Sent<C>> {
        let pieces = self.pieces.drain(..).map(|piece| Sent {
            content: piece.content,
            fin: piece.fin,
            cycle: piece.cycle,
            resent: piece.resent,
            due: piece.due,
            arrived: piece.arrived,
        });
        pieces.collect()
    }

    /// Resumes with the pieces of `state`, which was checked.
    pub(crate) fn resume(&mut self, state: &mut Sending<C>) {
        self.acknowledged = state.acknowledged;
        for sent in state.flight.drain(..) {
            let start = self.end();
            if sent.due {
                self.due.push_back(start);
            }
            self.push(Piece {
                start,
                content: sent.content,
                fin: sent.fin,
                cycle: sent.cycle,
                resent: sent.resent,
                due: sent.due,
                arrived: sent.arrived,
            });
        }
    }

    /// Returns the index of the piece that holds `position`, or of the first one after it.
    fn index(&self, position: u64) -> usize {
        self.pieces.partition_point(|piece| piece.end() <= position)
    }
}
