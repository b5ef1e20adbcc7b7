//! Datagrams on their way to the bearer, collected so that many share a system call.

use edges::bearer::{DatagramBearer, is_without_way};
use wire::address::HopAddress;
use wire::ip::Ecn;
use wire::packet::PacketBuffer;

/// Adjacent datagrams with the same destination and ECN field.
struct Run {
    to: HopAddress,
    ecn: Ecn,
    count: usize,
}

/// Largest storage of waiting datagrams, in bytes: 4,096 frames of usual size, or fewer longer ones.
const STORAGE: usize = 8 << 20;

/// A bounded queue of datagrams, in the order in which the host sent them.
pub struct Outbox {
    datagrams: Vec<PacketBuffer>,
    storage: usize,
    runs: Vec<Run>,
    capacity: usize,
    dropped: u64,
    refused: u64,
    /// Destinations that datagrams could not be sent to, since the last query.
    unreachable: Vec<HopAddress>,
}

impl Outbox {
    /// Returns a queue for `capacity` datagrams, or fewer long ones.
    pub fn new(capacity: usize) -> Self {
        let (datagrams, runs) = (Vec::with_capacity(capacity), Vec::with_capacity(capacity));
        Self {
            datagrams,
            storage: 0,
            runs,
            capacity,
            dropped: 0,
            refused: 0,
            unreachable: Vec::new(),
        }
    }

    /// Appends a datagram. If the queue is full, it is dropped and counted, as in a driver's queue: for the hop it is a
    /// loss.
    pub fn push(&mut self, to: HopAddress, ecn: Ecn, datagram: PacketBuffer) {
        let storage = self.storage + datagram.capacity();
        if self.datagrams.len() == self.capacity || storage > STORAGE {
            self.dropped += 1;
            return;
        }
        self.storage = storage;
        self.datagrams.push(datagram);
        match self.runs.last_mut() {
            Some(run) if (run.to, run.ecn) == (to, ecn) => run.count += 1,
            _ => self.runs.push(Run { to, ecn, count: 1 }),
        }
    }

    /// Returns the number of waiting datagrams.
    pub fn len(&self) -> usize {
        self.datagrams.len()
    }

    /// Returns true if no datagrams wait.
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Returns the number of datagrams dropped because the queue was full.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the number of datagrams that the network refused: too large, or no route.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Returns the next address to which no datagrams could be sent, whatever their content.
    pub fn poll_unreachable(&mut self) -> Option<HopAddress> {
        self.unreachable.pop()
    }

    /// Sends datagrams in order, as many as the bearer has room for. The next call offers the rest again.
    pub fn flush(&mut self, bearer: &mut impl DatagramBearer) {
        let (mut sent, mut finished) = (0, 0);
        for run in &mut self.runs {
            bearer.set_ecn(run.ecn);
            let outcome = bearer.send(run.to, &self.datagrams[sent..sent + run.count]);
            sent += outcome.handled;
            self.refused += outcome.dropped as u64;
            if let Some(problem) = outcome.problem {
                tracing::debug!(to = %run.to, "a datagram was refused: {problem}");
                if is_without_way(&problem) && !self.unreachable.contains(&run.to) {
                    self.unreachable.push(run.to);
                }
            }
            run.count -= outcome.handled;
            if run.count > 0 {
                break;
            }
            finished += 1;
        }
        let gone = self.datagrams.drain(..sent);
        self.storage -= gone.map(|datagram| datagram.capacity()).sum::<usize>();
        self.runs.drain(..finished);
    }
}
