//! Virtual time of a channel, driven by real time.

use std::os::fd::AsFd;

use edges::clock;
use edges::tun::PacketDevice;
use edges::wait::{Interest, Waiter};
use machine::earlier;
use units::{Duration, Instant};
use wire::packet::Packet;

use super::alarm::Alarm;
use super::error::RelayError;
use super::report::Lateness;

/// Bytes of an Ethernet frame before its IP packet; the frame check sequence is not counted.
pub(super) const FRAME_HEADER: usize = 14;
/// Number of packets read from one device before deliveries are handled again.
pub(super) const BATCH: usize = 32;
const CONTROL: u64 = u64::MAX - 1;

/// A waiter for packets at devices and for deadlines. Time zero of the link is its creation.
pub(super) struct LinkClock {
    waiter: Waiter,
    origin: Instant,
    alarm: Alarm,
    /// Tokens of the devices that ended the last wait.
    ready: Vec<u64>,
}

impl LinkClock {
    pub(super) fn new() -> Result<Self, RelayError> {
        Ok(Self {
            waiter: Waiter::new()?,
            origin: clock::monotonic(),
            alarm: Alarm::default(),
            ready: Vec::new(),
        })
    }

    /// Makes a packet at `device` end a [`wait`](Self::wait).
    pub(super) fn add(&self, device: impl AsFd, token: u64) -> Result<(), RelayError> {
        Ok(self.waiter.add(device, token, Interest::Readable)?)
    }

    /// Makes `descriptor`, when it is readable, end a [`wait`](Self::wait), which then returns true.
    pub(super) fn watch(&self, descriptor: impl AsFd) -> Result<(), RelayError> {
        self.add(descriptor, CONTROL)
    }

    /// Returns time zero of the link, by the monotonic clock.
    pub(super) fn origin(&self) -> Instant {
        self.origin
    }

    /// Returns the time of the link.
    pub(super) fn now(&self) -> Instant {
        clock::monotonic() - self.origin.since_origin()
    }

    /// Waits until `due` on the link or until `limit` by the monotonic clock, or until a device or descriptor is
    /// readable; not at all if `more` is true. Returns true if the watched descriptor is readable.
    pub(super) fn wait(
        &mut self,
        due: Option<Instant>,
        limit: Option<Instant>,
        more: bool,
    ) -> Result<bool, RelayError> {
        let due = due.map(|due| self.origin + due.since_origin());
        let end = earlier(due, limit);
        let timeout = match end {
            _ if more => Some(Duration::ZERO),
            Some(end) => Some(self.alarm.set(end)),
            None => None,
        };
        let (mut rang, mut signalled) = (true, false);
        self.ready.clear();
        for ready in self.waiter.wait(timeout)? {
            rang = false;
            match ready.token {
                CONTROL => signalled = true,
                device => self.ready.push(device),
            }
        }
        if let Some(end) = end.filter(|_| !more) {
            self.alarm.ring(end, rang);
        }
        Ok(signalled)
    }

    /// Returns the tokens of the devices with packets after the last [`wait`](Self::wait).
    pub(super) fn ready(&self) -> &[u64] {
        &self.ready
    }

    /// Returns the delays of deadlines.
    pub(super) fn lateness(&self) -> Lateness {
        let sum = &self.alarm.lateness;
        let micros = |span: Duration| span.as_secs_f64() * 1e6;
        Lateness {
            deadlines: sum.deadlines,
            mean_us: micros(sum.total) / sum.deadlines.max(1) as f64,
            worst_us: micros(sum.worst),
            over_2_ms: sum.too_late,
        }
    }
}

/// Returns the next packet from a device on that side, if there is one.
pub(super) fn receive(
    device: &mut impl PacketDevice,
    side: &'static str,
    mtu: usize,
) -> Result<Option<Packet>, RelayError> {
    let received = device.receive();
    let packet = received.map_err(|source| RelayError::Device { side, source })?;
    if let Some(packet) = &packet {
        let bytes = packet.len();
        if bytes > mtu {
            return Err(RelayError::AboveMtu { bytes, mtu });
        }
    }
    Ok(packet)
}
