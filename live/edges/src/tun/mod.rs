//! TUN devices: IP packets to and from the kernel, up to 64 KiB at once if offload is on.

mod device;
mod header;
mod ioctl;

use std::io;
use std::os::fd::AsFd;

pub use device::{Offload, TunDevice, TunOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Instant;
use wire::packet::Packet;

/// What a device has done since it was opened, in packets as they crossed the border.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeviceCounters {
    /// Packets received from the kernel.
    pub received: u64,
    /// Packets sent to the kernel.
    pub sent: u64,
    /// Packets received from the kernel with a wrong header, and so skipped.
    pub malformed: u64,
}

/// A source and sink of IP packets, with a descriptor to wait for.
pub trait PacketDevice: AsFd {
    /// Receives the next packet from the system, or returns `None` if there is none. Never blocks.
    ///
    /// # Errors
    /// If the device is gone.
    fn receive(&mut self) -> io::Result<Option<Packet>>;

    /// Sends `packet` to the system. Its checksum field may be changed: completed, or made partial, as the device needs
    /// it.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room now; another error if the system refused it: the device is down or gone, or the
    /// packet is malformed.
    fn send(&mut self, packet: &mut Packet) -> io::Result<()>;

    /// Returns the time when the device has something to do, if it ever has.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Lets the device do what is due.
    fn handle_timeout(&mut self, _now: Instant) {}

    /// Returns the counters of the device.
    fn counters(&self) -> DeviceCounters;
}

impl<D: PacketDevice + ?Sized> PacketDevice for Box<D> {
    fn receive(&mut self) -> io::Result<Option<Packet>> {
        (**self).receive()
    }

    fn send(&mut self, packet: &mut Packet) -> io::Result<()> {
        (**self).send(packet)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        (**self).poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        (**self).handle_timeout(now);
    }

    fn counters(&self) -> DeviceCounters {
        (**self).counters()
    }
}
