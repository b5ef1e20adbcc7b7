//! The limits on bytes that wait to be sent on streams: much on a few of them, and on many no more in all.

use std::collections::BTreeMap;

use crate::StreamId;

/// Bytes that each stream may always have waiting.
pub(crate) const FIRST: u64 = 32 << 10;
/// Bytes that all streams together may have beyond that.
pub(crate) const IN_ALL: u64 = 64 << 20;
/// Most bytes that a driver is offered at a time.
const OFFER_MOST: u64 = 64 << 10;

/// Bytes of one stream.
#[derive(Debug, Clone, Copy)]
struct StreamShare {
    /// Bytes written, and not acknowledged yet.
    waiting: u64,
    /// Bytes more that the driver was allowed to write.
    offered: u64,
}

impl StreamShare {
    fn beyond(self) -> u64 {
        (self.waiting + self.offered).saturating_sub(FIRST)
    }
}

/// The share of each stream. A stream may take as much as it leaves to others (dynamic thresholds, Choudhury and
/// Hahne 1998). So a peer that acknowledges nothing cannot fill the memory, and one with a single stream is not held
/// up.
#[derive(Debug)]
pub(crate) struct Sending {
    /// Bytes that the endpoint takes of one stream.
    most: u64,
    streams: BTreeMap<StreamId, StreamShare>,
    /// Bytes of all streams beyond their first ones.
    beyond: u64,
}

impl Sending {
    /// Returns an empty table; the endpoint takes `most` bytes of each stream.
    pub(crate) fn new(most: u64) -> Self {
        Self {
            most,
            streams: BTreeMap::new(),
            beyond: 0,
        }
    }

    /// Records that the endpoint takes `room` more bytes; returns the bytes to offer to the driver instead, if any.
    pub(crate) fn has_room(&mut self, id: StreamId, room: u64) -> Option<u64> {
        let waiting = self.most.saturating_sub(room);
        let stream = StreamShare {
            waiting,
            offered: self.streams.get(&id).map_or(0, |stream| stream.offered),
        };
        self.put(id, stream);
        self.offer(id, stream)
    }

    /// Records that the driver has written `count` bytes; returns the bytes to offer next, if any.
    pub(crate) fn wrote(&mut self, id: StreamId, count: u64) -> Option<u64> {
        let mut stream = *self.streams.get(&id)?;
        stream.waiting += count;
        stream.offered = stream.offered.saturating_sub(count);
        self.put(id, stream);
        self.offer(id, stream)
    }

    /// Forgets a stream.
    pub(crate) fn forget(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.remove(&id) {
            self.beyond -= stream.beyond();
        }
    }

    fn put(&mut self, id: StreamId, stream: StreamShare) {
        let former = self.streams.insert(id, stream);
        self.beyond -= former.map_or(0, StreamShare::beyond);
        self.beyond += stream.beyond();
    }

    fn offer(&mut self, id: StreamId, stream: StreamShare) -> Option<u64> {
        let free = IN_ALL.saturating_sub(self.beyond);
        let own = stream.beyond();
        let share = FIRST + own + free.saturating_sub(own) / 2;
        // A stream that writes much is offered much, so that streams that write nothing reserve nothing.
        let usual = stream.waiting.clamp(FIRST, OFFER_MOST);
        let room = share.min(self.most).saturating_sub(stream.waiting);
        let offered = room.min(usual);
        // There is no new offer for every acknowledgement.
        if offered == 0 || offered < 2 * stream.offered {
            return None;
        }
        self.put(id, StreamShare { offered, ..stream });
        Some(offered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = 16 << 20;

    /// Returns the bytes waiting when the drivers of all streams write every offer in turns, and nothing is
    /// acknowledged.
    fn filled(sending: &mut Sending, streams: std::ops::Range<u64>) -> Vec<u64> {
        let ids: Vec<_> = streams.map(StreamId::Opened).collect();
        let mut told: Vec<_> = ids.iter().map(|id| sending.has_room(*id, MOST)).collect();
        while told.iter().any(Option::is_some) {
            for (id, told) in ids.iter().zip(&mut told) {
                if let Some(room) = told.take() {
                    *told = sending.wrote(*id, room);
                }
            }
        }
        ids.iter().map(|id| sending.streams[id].waiting).collect()
    }

    #[test]
    fn a_single_stream_gets_all_that_the_endpoint_takes() {
        assert_eq!(filled(&mut Sending::new(MOST), 0..1), [MOST]);
    }

    #[test]
    fn a_thousand_have_no_more_in_all_and_whoever_comes_later_goes_on() {
        let mut sending = Sending::new(MOST);
        let all = filled(&mut sending, 0..1_000);
        assert!(all.iter().sum::<u64>() <= IN_ALL + 1_000 * FIRST, "{all:?}");
        assert!(all.iter().all(|waiting| *waiting >= FIRST), "{all:?}");
        let late = filled(&mut sending, 1_000..1_001);
        assert!(late[0] >= FIRST, "{late:?}");
        (0..1_000).for_each(|id| sending.forget(StreamId::Opened(id)));
        sending.forget(StreamId::Opened(1_000));
        assert_eq!((sending.beyond, sending.streams.len()), (0, 0));
        assert_eq!(filled(&mut sending, 0..1), [MOST]);
    }

    /// Acknowledged bytes can be written again, even if nothing else is free.
    #[test]
    fn a_stream_whose_bytes_are_acknowledged_goes_on() {
        let mut sending = Sending::new(MOST);
        filled(&mut sending, 0..1_000);
        let id = StreamId::Opened(7);
        let mut told = sending.has_room(id, MOST);
        for _ in 0..100 {
            let room = told.expect("all of it was acknowledged");
            assert!(room >= FIRST, "{room}");
            // Offers made meanwhile are written too, and then all is acknowledged.
            let mut more = sending.wrote(id, room);
            while let Some(room) = more {
                more = sending.wrote(id, room);
            }
            told = sending.has_room(id, MOST);
        }
    }

    #[test]
    fn many_that_write_nothing_leave_all_to_one_that_does() {
        let mut sending = Sending::new(MOST);
        for id in 0..2_000 {
            sending.has_room(StreamId::Arrived(id), MOST);
        }
        assert_eq!(filled(&mut sending, 0..1), [MOST]);
    }

    /// The paper's buffer is smaller than the bytes that each stream may have.
    #[test]
    fn a_small_buffer_is_used_whole() {
        let mut sending = Sending::new(10_000);
        let id = StreamId::Opened(1);
        assert_eq!(sending.has_room(id, 10_000), Some(10_000));
        assert_eq!(sending.wrote(id, 6_000), None);
        assert_eq!(sending.wrote(id, 4_000), None);
        assert_eq!(sending.has_room(id, 3_000), Some(3_000));
    }
}
