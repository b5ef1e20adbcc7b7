//! The bounded queue between a daemon and the client of its capture.

use std::collections::VecDeque;

use units::Instant;

use super::record::{Counts, HEADER, Record, Side};

/// Largest size of the queue, in bytes. Beyond it packets are dropped from the capture, and counted.
pub(crate) const QUEUE_MOST: usize = 8 << 20;
/// Room for the last counts of both sides, which are never dropped.
const RESERVED: usize = 2 * HEADER;

/// Records that wait for the client's socket.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    bytes: VecDeque<u8>,
    counts: [Counts; Side::ALL.len()],
}

impl Queue {
    /// Appends the beginning of `whole`, at most `snap` bytes of a length of `length`; drops and counts it if there is
    /// no room.
    pub(crate) fn push(&mut self, record: Record<'_>) {
        let counts = &mut self.counts[record.side as usize];
        counts.seen += 1;
        if self.bytes.len() + HEADER + record.bytes.len() + RESERVED > QUEUE_MOST {
            counts.dropped += 1;
            return;
        }
        let counts = *counts;
        let record = Record { counts, ..record };
        self.bytes.extend(&record.header());
        self.bytes.extend(record.bytes);
    }

    /// Appends the last counts of both sides.
    pub(crate) fn end(&mut self, now: Instant) {
        for side in Side::ALL {
            let last = Record {
                side,
                at: now,
                counts: self.counts[side as usize],
                is_last: true,
                flags: 0,
                length: 0,
                bytes: &[],
            };
            self.bytes.extend(&last.header());
        }
    }

    /// Appends a line.
    pub(crate) fn push_line(&mut self, line: &str) {
        self.bytes.extend(line.as_bytes());
        self.bytes.push_back(b'\n');
    }

    /// Returns bytes that are next to be sent, not always all.
    pub(crate) fn next(&self) -> &[u8] {
        let (first, second) = self.bytes.as_slices();
        if first.is_empty() { second } else { first }
    }

    /// Removes bytes that were sent.
    pub(crate) fn sent(&mut self, count: usize) {
        self.bytes.drain(..count);
        if self.bytes.is_empty() {
            // Next time it begins in memory that the processor has in its cache.
            self.bytes.clear();
        }
    }

    /// Returns true if nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(bytes: &[u8]) -> Record<'_> {
        Record {
            side: Side::Hop,
            at: Instant::from_nanos(5),
            counts: Counts::default(),
            is_last: false,
            flags: 2,
            length: 7,
            bytes,
        }
    }

    /// Takes everything, and returns the records.
    fn drained(queue: &mut Queue) -> Vec<(Counts, bool, Vec<u8>)> {
        let mut bytes = Vec::new();
        while !queue.is_empty() {
            bytes.extend_from_slice(queue.next());
            queue.sent(queue.next().len());
        }
        let mut records = Vec::new();
        let mut rest = &bytes[..];
        while let Some((record, length)) = Record::parse(rest, QUEUE_MOST).unwrap() {
            records.push((record.counts, record.is_last, record.bytes.to_vec()));
            rest = &rest[length..];
        }
        assert!(rest.is_empty());
        records
    }

    #[test]
    fn a_record_comes_out_as_it_went_in() {
        let mut queue = Queue::default();
        queue.push(record(b"frame"));
        let bytes = queue.next().to_vec();
        let (parsed, length) = Record::parse(&bytes, 5).unwrap().unwrap();
        let counts = Counts {
            seen: 1,
            dropped: 0,
        };
        assert_eq!(
            parsed,
            Record {
                counts,
                ..record(b"frame")
            }
        );
        assert_eq!(length, bytes.len());
        for short in 0..bytes.len() {
            assert_eq!(Record::parse(&bytes[..short], 5), Ok(None));
        }
        assert!(Record::parse(&bytes, 4).is_err());
        let mut unknown = bytes.clone();
        unknown[36] = 2;
        assert!(Record::parse(&unknown, 5).is_err());
    }

    #[test]
    fn what_has_no_room_is_counted_and_the_last_counts_always_have_room() {
        let mut queue = Queue::default();
        let large = vec![7; QUEUE_MOST / 4];
        for _ in 0..10 {
            queue.push(record(&large));
        }
        queue.end(Instant::ZERO);
        assert!(queue.bytes.len() <= QUEUE_MOST);
        let records = drained(&mut queue);
        assert_eq!(records.len(), 3 + 2);
        let last = |counts| (counts, true, Vec::new());
        assert_eq!(records[3], last(Counts::default()));
        let counts = Counts {
            seen: 10,
            dropped: 7,
        };
        assert_eq!(records[4], last(counts));
        queue.push(record(b"more"));
        assert_eq!(drained(&mut queue).len(), 1);
    }
}
