//! The position that the peer had reached when it sent a packet, by the hop's numbers of packets.
//!
//! A sequence number means the position nearest to the one that the peer had reached. The window is less than half of
//! the numbers, so this is certain, however late the packet is. A packet that was overtaken by half of the numbers
//! would be taken for a new one if its number meant the position nearest to the one that is expected now. So the hop
//! numbers packets as RFC 7323 §5 (PAWS) stamps segments with their time.

use std::collections::VecDeque;

use redirector::Content;
use units::Instant;

use super::Receiver;

/// Number of marks that are kept, and the share of half of the numbers between two of them: together they cover half
/// of the numbers. A packet that is later brings nothing new, or comes again.
const MARKS_MAX: usize = 17;
const STEP: u64 = 16;

/// A position that the peer had reached before it sent the packet with this number.
#[derive(Debug, Clone, Copy)]
struct Mark {
    number: u64,
    position: u64,
}

/// Positions that the peer had reached.
#[derive(Debug, Clone, Default)]
pub(super) struct Reach {
    newest: u64,
    /// By their numbers, and so by their positions.
    marks: VecDeque<Mark>,
}

/// Arrival of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) at: Instant,
    /// Position that the peer had reached when it sent the packet; `None` if the packet is too late to know one.
    pub(crate) near: Option<u64>,
    /// True if a packet that was sent later has arrived before.
    pub(crate) overtaken: bool,
}

impl Reach {
    /// Records that a packet with this number arrives, `sent` being the end of the data that the peer is known to have
    /// sent, and `half` the number of half of the sequence numbers. Returns the position that the peer had reached,
    /// and true if the packet was overtaken.
    fn arrived(&mut self, number: u64, sent: u64, half: u64) -> (Option<u64>, bool) {
        if number < self.newest {
            let later = self.marks.partition_point(|mark| mark.number <= number);
            let mark = later.checked_sub(1).and_then(|index| self.marks.get(index));
            return (mark.map(|mark| mark.position), true);
        }
        self.newest = number;
        let last = self.marks.back();
        if last.is_none_or(|last| sent >= last.position + half / STEP) {
            if self.marks.len() == MARKS_MAX {
                self.marks.pop_front();
            }
            let position = sent;
            self.marks.push_back(Mark { number, position });
        }
        (Some(sent), false)
    }
}

impl<C: Content> Receiver<C> {
    /// Records that a packet arrives to which the hop gave this number; `None` on a hop that keeps the order.
    pub(crate) fn arrived(&mut self, number: Option<u64>, at: Instant) -> Arrival {
        let (sent, half) = (self.progress.sent, self.numbers.half());
        let (near, overtaken) = match number {
            Some(number) => self.reach.arrived(number, sent, half),
            None => (Some(sent), false),
        };
        Arrival {
            at,
            near,
            overtaken,
        }
    }
}
