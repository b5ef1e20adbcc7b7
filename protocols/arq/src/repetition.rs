//! A segment that its sender sends again overtakes what waits behind it: the receiver needs it first, and until it
//! comes the application gets nothing.

use units::SeqNumber;
use wire::ip::Transport;
use wire::packet::Packet;
use wire::tcp::{TcpFlags, TcpSegmentOptions, TcpView};

/// A segment with data that come before others of its connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repetition {
    first: SeqNumber,
    /// Its sender's clock.
    pub(crate) clock: Option<u32>,
}

impl Repetition {
    /// Returns the segment in `packet`, which begins before the end of data that came earlier; `None` if it may not
    /// overtake others: a signature (RFC 5925) leaves no room for changes of their timestamps.
    pub(crate) fn of(packet: &Packet) -> Option<Self> {
        let tcp = segment(packet)?;
        let is_plain = !tcp.flags().contains(TcpFlags::SYN) && !tcp.payload().is_empty();
        let (options, others) = TcpSegmentOptions::read(&tcp).ok()?;
        (is_plain && !others).then(|| Self {
            first: tcp.sequence_number(),
            clock: options.timestamps.map(|timestamps| timestamps.value),
        })
    }

    /// Returns true if it overtakes this packet, which has later data.
    pub(crate) fn overtakes(&self, packet: &Packet) -> bool {
        segment(packet).is_some_and(|tcp| tcp.sequence_number().distance_from(self.first) > 0)
    }
}

/// Returns the later one of two values of a clock, which wraps as sequence numbers do.
pub(crate) fn later(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    match (one, other) {
        (Some(a), Some(b)) if SeqNumber(a).distance_from(SeqNumber(b)) < 0 => Some(b),
        (one, other) => one.or(other),
    }
}

/// Returns the TCP segment in a packet; `None` if it is of another kind.
pub(crate) fn segment(packet: &Packet) -> Option<TcpView<'_>> {
    match packet.ip()?.transport() {
        Transport::Tcp(tcp) => Some(tcp),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use units::{Duration, Instant};
    use wire::flow::FlowKey;
    use wire::ip::Protocol;
    use wire::packet::PacketBuffer;
    use wire::tcp::{TcpSegment, Timestamps};

    use super::*;
    use crate::QueueOrder;
    use crate::flow::{Admission, Flow, Lane};

    const DATA: u16 = 100;

    /// Returns a segment with data from a place on, and its sender's clock.
    fn packet(first: u32, clock: Option<u32>) -> Packet {
        let segment = TcpSegment {
            source: "192.0.2.1:80".parse().expect("an address"),
            destination: "10.9.0.2:1000".parse().expect("an address"),
            sequence: SeqNumber(first),
            acknowledgment: SeqNumber(1),
            flags: TcpFlags::ACK,
            window: 100,
            payload: DATA,
            options: TcpSegmentOptions {
                timestamps: clock.map(|value| Timestamps { value, echo: 7 }),
                ..TcpSegmentOptions::default()
            },
        };
        let mut bytes = vec![0; segment.packet_length()];
        segment.encode(&mut bytes);
        Packet::new(PacketBuffer::copy_of(&bytes))
    }

    const KEY: FlowKey = FlowKey {
        protocol: Protocol::TCP,
        ..crate::COMMON_FLOW
    };

    fn held() -> Flow {
        Flow::new(KEY, Lane::Held, Some(1), Instant::ZERO)
    }

    fn snooped() -> Flow {
        let lane = Lane::Plain(QueueOrder::Sequence);
        Flow::new(KEY, lane, None, Instant::ZERO)
    }

    /// Returns the segments of a flow in the order in which they leave, after these have come: their first byte and
    /// their clock.
    fn leave(came: &[(u32, Option<u32>)]) -> Vec<(u32, Option<u32>)> {
        let [left, of_snoop] = [held(), snooped()].map(|mut flow| {
            for (first, clock) in came {
                let packet = packet(*first, *clock);
                assert_eq!(flow.enqueue(Instant::ZERO, packet, 100_000), 0);
            }
            let packets = std::iter::from_fn(|| flow.dequeue());
            let left = packets.map(|packet| {
                let again = Repetition::of(&packet).expect("a segment with data");
                (again.first.0, again.clock)
            });
            left.collect::<Vec<_>>()
        });
        assert_eq!(left, of_snoop);
        left
    }

    #[test]
    fn what_is_sent_again_leaves_first_and_in_its_order() {
        let came = [200, 300, 400, 0, 500, 100].map(|first| (first, None));
        let left = [0, 100, 200, 300, 400, 500].map(|first| (first, None));
        assert_eq!(leave(&came), left);
    }

    /// A gateway that is left returns a queue of segments, of which copies wait at the next one already.
    #[test]
    fn hundreds_that_are_sent_again_leave_in_their_order() {
        let later = (200..600).map(|number| (number * 100, None));
        let again = (0..300).map(|number| (number * 100, None));
        let came: Vec<_> = later.chain(again).collect();
        let mut left = came.clone();
        left.sort_unstable();
        assert_eq!(leave(&came), left);
    }

    /// Its receiver takes a segment with an earlier clock for one from long ago, and drops it.
    #[test]
    fn what_was_overtaken_has_no_earlier_clock() {
        let came = [
            (200, 10),
            (300, 11),
            (0, 50),
            (400, 50),
            (500, 51),
            (600, 52),
        ];
        let left = [
            (0, 50),
            (200, 50),
            (300, 50),
            (400, 50),
            (500, 51),
            (600, 52),
        ];
        let known = |(first, clock)| (first, Some(clock));
        assert_eq!(leave(&came.map(known)), left.map(known));
        // One that comes late changes nothing about that.
        let came = [(200, 10), (300, 11), (0, 50), (100, 20)];
        let left = [(0, 50), (100, 50), (200, 50), (300, 50)];
        assert_eq!(leave(&came.map(known)), left.map(known));
    }

    #[test]
    fn a_signature_forbids_it() {
        let signed = packet(0, Some(5));
        // MD5 signatures (RFC 2385) and TCP-AO (RFC 5925) cover the header.
        for kind in [19, 29] {
            let mut bytes = signed.to_vec();
            bytes[20 + 20..20 + 24].copy_from_slice(&[kind, 4, 0, 0]);
            bytes[20 + 24..20 + 32].fill(1);
            let signed = Packet::new(PacketBuffer::copy_of(&bytes));
            assert!(Repetition::of(&signed).is_none(), "{kind}");
        }
    }

    /// A signal that drops the answer to the last one would have its sender wait for a timer.
    #[test]
    fn a_long_queue_drops_nothing_that_was_sent_again() {
        let mut flow = held();
        for first in [100, 200, 300, 0] {
            flow.enqueue(Instant::ZERO, packet(first, None), 100_000);
        }
        let (now, interval) = (Instant::from_millis(5_000), Duration::from_millis(100));
        assert_eq!(flow.signal_excess(now, interval), 0);
        assert!(flow.dequeue().is_some());
        assert_eq!(flow.signal_excess(now, interval), 1);
    }

    /// Where a layer above repairs losses, a signal takes the newest segment before that layer has it.
    /// Snoop repairs the loss of what it has: its sender would not notice, and take that for reordering.
    #[test]
    fn a_long_queue_of_snoop_drops_only_what_comes() {
        let mut flow = snooped();
        let (now, interval) = (Instant::from_millis(5_000), Duration::from_millis(100));
        for first in [100, 200, 300] {
            flow.enqueue(now, packet(first, None), 300);
        }
        assert_eq!(flow.signal_excess(now, interval), 0);
        let mut admit = |at| flow.admit(at, &mut packet(400, None), 300, interval);
        assert_eq!(admit(now), Admission::Dropped);
        // What was dropped is noticed once all before it has left.
        assert_eq!(admit(now + interval * 3 / 2), Admission::Whole);
        assert_eq!(admit(now + interval * 5 / 2), Admission::Dropped);
    }

    /// Of a burst of losses, the receiver needs the first one first.
    #[test]
    fn repairs_of_snoop_leave_in_their_order_and_before_all_else() {
        for waits in [vec![], vec![500], vec![200, 500]] {
            let mut flow = snooped();
            for first in &waits {
                flow.enqueue(Instant::ZERO, packet(*first, None), 100_000);
            }
            for first in [0, 100, 200, 300] {
                flow.enqueue_ahead(Instant::ZERO, packet(first, None), 100_000);
            }
            let mut due = vec![0, 100, 200, 300];
            due.extend(waits.iter().filter(|first| **first == 500));
            for first in due {
                let left = flow.dequeue().expect("a segment");
                assert_eq!(left[..], packet(first, None)[..], "{waits:?}");
            }
            assert!(flow.dequeue().is_none(), "none leaves twice");
        }
    }

    #[test]
    fn a_full_queue_of_snoop_takes_what_is_sent_again_and_is_not_there() {
        let mut flow = snooped();
        let (start, interval) = (Instant::from_millis(5_000), Duration::from_millis(100));
        for first in [100, 300] {
            assert_eq!(flow.enqueue(start, packet(first, None), 100_000), 0);
        }
        assert!(flow.has(&packet(100, None)) && !flow.has(&packet(200, None)));
        let mut admit = |at, first| flow.admit(at, &mut packet(first, None), 300, interval);
        assert_eq!(admit(start, 200), Admission::Whole);
        assert_eq!(admit(start, 400), Admission::Dropped);
        assert_eq!(admit(start + interval * 2, 200), Admission::Whole);
        flow.enqueue_ahead(start, packet(200, None), 100_000);
        flow.enqueue_ahead(start, packet(0, None), 100_000);
        for first in [0, 100, 200, 300] {
            let left = flow.dequeue().expect("a segment");
            assert_eq!(left[..], packet(first, None)[..]);
            assert!(!flow.has(&left), "it waits no more");
        }
    }
}
