//! The newest transmission of each content that was sent again.
//!
//! A content may be in flight in several copies: early repeats, and retransmissions at timeouts. Each of them times
//! out, and if each then led to another copy, all of them would multiply in a silence and fill a slow hop. So a content
//! of which a copy has just left gets no other one.

use crate::ledger::Content;

/// Identity of a content: true for a stream, its flow or packet, and its range.
type Key = (bool, u64, u64, u64);

/// Numbers of the newest transmissions, with their contents, in the order of these. There are few of them, and a vector
/// keeps its room, so a repair costs no allocation.
#[derive(Debug, Default)]
pub(crate) struct NewestCopies(Vec<(Key, u64)>);

impl NewestCopies {
    /// Records that a transmission carries a content.
    pub(crate) fn sent(&mut self, number: u64, content: &Content) {
        if let Some(key) = key(content).filter(|_| content.is_again()) {
            match self.place(&key) {
                Ok(place) => self.0[place].1 = number,
                Err(place) => self.0.insert(place, (key, number)),
            }
        }
    }

    /// Returns the number of the newest transmission with this content, if it is later than this one.
    pub(crate) fn later(&self, number: u64, content: &Content) -> Option<u64> {
        let place = self.place(&key(content)?).ok()?;
        Some(self.0[place].1).filter(|newest| *newest > number)
    }

    /// Records that a transmission is no longer in flight.
    pub(crate) fn settled(&mut self, number: u64, content: &Content) {
        let place = key(content).and_then(|key| self.place(&key).ok());
        if let Some(place) = place.filter(|place| self.0[*place].1 == number) {
            self.0.remove(place);
        }
    }

    /// Returns the bytes of memory that it holds.
    pub(crate) fn memory(&self) -> usize {
        self.0.capacity() * size_of::<(Key, u64)>()
    }

    /// Returns the place of a content, or that at which it belongs.
    fn place(&self, key: &Key) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.cmp(key))
    }
}

/// Returns the identity of a content; `None` if it has none, or ends a stream: the copy before may not have.
fn key(content: &Content) -> Option<Key> {
    match content {
        Content::Stream {
            flow,
            range,
            end: false,
            ..
        } => Some((true, *flow, range.start, range.end)),
        Content::Brief { packet, range, .. } => Some((false, *packet, range.start, range.end)),
        Content::Stream { .. } | Content::Transport(_) | Content::Padding => None,
    }
}
