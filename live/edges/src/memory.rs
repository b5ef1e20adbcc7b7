//! In-memory twins of the devices, for tests of their drivers. Their descriptors can be waited for like the real ones.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use units::Instant;
use wire::address::HopAddress;
use wire::ip::Ecn;
use wire::packet::{Packet, PacketBuffer};

use crate::datagrams::{Arrival, Batch, BearerCounters, DatagramBearer, NetworkChange, Sent};
use crate::tun::{DeviceCounters, PacketDevice};

/// Number of datagrams that one receive call of a twin takes.
const BATCH: usize = 64;

/// A bounded queue from one thread to another, with a descriptor that is readable while it is not empty.
struct Queue<T> {
    items: Mutex<VecDeque<T>>,
    capacity: usize,
    filled: OwnedFd,
}

impl<T> Queue<T> {
    fn new(capacity: usize) -> io::Result<Arc<Self>> {
        let filled = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Arc::new(Self {
            items: Mutex::new(VecDeque::new()),
            capacity,
            filled,
        }))
    }

    /// Appends `item`; returns false if the queue is full.
    fn push(&self, item: T) -> io::Result<bool> {
        let mut items = self.lock();
        if items.len() >= self.capacity {
            return Ok(false);
        }
        items.push_back(item);
        if items.len() == 1 {
            rustix::io::write(&self.filled, &1_u64.to_ne_bytes())?;
        }
        Ok(true)
    }

    fn pop(&self) -> io::Result<Option<T>> {
        let mut items = self.lock();
        let item = items.pop_front();
        if item.is_some() && items.is_empty() {
            rustix::io::read(&self.filled, &mut [0_u8; 8])?;
        }
        Ok(item)
    }

    /// Locks the queue, which stays valid even if another thread panicked.
    fn lock(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One end of a pair of connected packet devices: each receives what the other sends.
pub struct MemoryDevice {
    incoming: Arc<Queue<Packet>>,
    outgoing: Arc<Queue<Packet>>,
    counters: DeviceCounters,
}

impl MemoryDevice {
    /// Returns two connected devices with room for `capacity` packets in each direction.
    pub fn pair(capacity: usize) -> io::Result<(Self, Self)> {
        let (there, back) = (Queue::new(capacity)?, Queue::new(capacity)?);
        let one = Self {
            incoming: Arc::clone(&back),
            outgoing: Arc::clone(&there),
            counters: DeviceCounters::default(),
        };
        let other = Self {
            incoming: there,
            outgoing: back,
            counters: DeviceCounters::default(),
        };
        Ok((one, other))
    }
}

impl PacketDevice for MemoryDevice {
    fn receive(&mut self) -> io::Result<Option<Packet>> {
        let packet = self.incoming.pop()?;
        self.counters.received += u64::from(packet.is_some());
        Ok(packet)
    }

    fn send(&mut self, packet: &mut Packet) -> io::Result<()> {
        if !self.outgoing.push(packet.clone())? {
            return Err(Errno::AGAIN.into());
        }
        self.counters.sent += 1;
        Ok(())
    }

    fn counters(&self) -> DeviceCounters {
        self.counters
    }
}

impl AsFd for MemoryDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.incoming.filled.as_fd()
    }
}

/// One end of a pair of connected bearers. It refuses a datagram to any address except the other end's and the
/// broadcast address.
pub struct MemoryBearer {
    here: HopAddress,
    there: HopAddress,
    incoming: Arc<Queue<PacketBuffer>>,
    outgoing: Arc<Queue<PacketBuffer>>,
    counters: BearerCounters,
}

impl MemoryBearer {
    /// Returns two connected bearers with these addresses, with room for `capacity` datagrams in each direction.
    pub fn pair(addresses: [HopAddress; 2], capacity: usize) -> io::Result<(Self, Self)> {
        let (forth, back) = (Queue::new(capacity)?, Queue::new(capacity)?);
        let one = Self {
            here: addresses[0],
            there: addresses[1],
            incoming: Arc::clone(&back),
            outgoing: Arc::clone(&forth),
            counters: BearerCounters::default(),
        };
        let other = Self {
            here: addresses[1],
            there: addresses[0],
            incoming: forth,
            outgoing: back,
            counters: BearerCounters::default(),
        };
        Ok((one, other))
    }
}

impl DatagramBearer for MemoryBearer {
    fn local_address(&self) -> HopAddress {
        self.here
    }

    fn receive_batch(
        &mut self,
        now: Instant,
        sink: &mut impl FnMut(Arrival, &mut [u8]),
    ) -> io::Result<Batch> {
        self.counters.receive_calls += 1;
        let mut count = 0;
        while count < BATCH
            && let Some(mut datagram) = self.incoming.pop()?
        {
            count += 1;
            sink(
                Arrival {
                    from: self.there,
                    at: now,
                    ecn: Ecn::NotCapable,
                },
                &mut datagram,
            );
        }
        self.counters.received += count as u64;
        Ok(Batch {
            datagrams: count,
            is_full: count == BATCH,
        })
    }

    fn send(&mut self, to: HopAddress, datagrams: &[PacketBuffer]) -> Sent {
        self.counters.send_calls += 1;
        let mut sent = Sent::default();
        for datagram in datagrams {
            let outcome = if to == self.there || to.is_group() {
                self.outgoing.push(datagram.clone())
            } else {
                Err(Errno::NETUNREACH.into())
            };
            match outcome {
                Ok(true) => self.counters.sent += 1,
                Ok(false) => break,
                Err(error) => {
                    self.counters.refused += 1;
                    sent.dropped += 1;
                    sent.problem = Some(error);
                }
            }
            sent.handled += 1;
        }
        sent
    }

    fn set_ecn(&mut self, _: Ecn) {
        // The datagrams have no IP header.
    }

    fn follow_network(&mut self) -> io::Result<NetworkChange> {
        Ok(NetworkChange::Uncertain)
    }

    fn counters(&self) -> BearerCounters {
        self.counters
    }
}

impl AsFd for MemoryBearer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.incoming.filled.as_fd()
    }
}
