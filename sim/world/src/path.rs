//! The path of a mobile host's datagrams, with faults that change in a run.

use machine::RandomStream;
use units::{BitRate, Bytes, Duration, Instant};

/// Direction of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the mobile host.
    Up,
    /// To the mobile host.
    Down,
}

/// Bytes of IP and UDP headers around a datagram.
const HEADERS: usize = 28;
/// Most bytes that wait for a path in one direction.
const QUEUE: u64 = 128 << 10;

/// What happens to a datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is lost.
    Lost,
    /// It is too long, and the network reports this MTU.
    TooLong(Option<u16>),
    /// It arrives at these times, in some cases with an error.
    Arrives(Vec<(Instant, bool)>),
}

/// One direction of a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    /// Share of lost datagrams, as a part of 256.
    pub(crate) loss: u8,
    pub(crate) faded_until: Instant,
    /// Time at which all that waits is sent.
    free_at: Instant,
}

/// A path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    pub(crate) rate: BitRate,
    pub(crate) delay: Duration,
    pub(crate) jitter: Duration,
    /// Shares of datagrams that arrive twice and with an error, as parts of 256.
    pub(crate) duplicate: u8,
    pub(crate) corrupt: u8,
    pub(crate) mtu: u16,
    pub(crate) is_mtu_reported: bool,
    up: Way,
    down: Way,
}

impl Path {
    /// Returns a path without faults.
    pub(crate) fn new(rate: BitRate, delay: Duration) -> Self {
        let way = Way {
            loss: 0,
            faded_until: Instant::ZERO,
            free_at: Instant::ZERO,
        };
        Self {
            rate,
            delay,
            jitter: Duration::ZERO,
            duplicate: 0,
            corrupt: 0,
            mtu: 1_500,
            is_mtu_reported: true,
            up: way,
            down: way,
        }
    }

    /// Returns one direction of the path.
    pub(crate) fn way(&mut self, direction: Direction) -> &mut Way {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    /// Decides the fate of a datagram with `length` bytes.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        direction: Direction,
        length: usize,
        stream: &mut RandomStream,
    ) -> Fate {
        let (rate, delay, jitter) = (self.rate, self.delay, self.jitter);
        let (duplicate, corrupt) = (self.duplicate, self.corrupt);
        if length + HEADERS > usize::from(self.mtu) {
            return Fate::TooLong(self.is_mtu_reported.then_some(self.mtu));
        }
        let way = self.way(direction);
        let begins = way.free_at.max(now);
        if rate.bytes_in(begins.since(now)).get() > QUEUE {
            return Fate::Lost;
        }
        way.free_at = begins + rate.time_for(Bytes::new((length + HEADERS) as u64));
        let mut covers = |share: u8| share > 0 && stream.next_u64() as u8 <= share;
        if way.free_at < way.faded_until || covers(way.loss) {
            return Fate::Lost;
        }
        let (copies, leaves) = (1 + u8::from(covers(duplicate)), way.free_at);
        let mut arrivals = Vec::with_capacity(copies.into());
        for _ in 0..copies {
            let has_error = corrupt > 0 && stream.next_u64() as u8 <= corrupt;
            let late = stream.uniform(Duration::ZERO, jitter);
            arrivals.push((leaves + delay + late, has_error));
        }
        Fate::Arrives(arrivals)
    }
}
