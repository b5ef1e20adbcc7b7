//! The packet device of a gateway that splits TCP.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use edges::tun::{DeviceCounters, PacketDevice};
use edges::wait::{Interest, Waiter};
use wire::packet::Packet;

use super::{Splitter, Verdict};

/// Tokens of what is waited for; nobody asks which of both it was.
const DEVICE: u64 = 0;
const DECIDED: u64 = 1;

/// A device that keeps requests for connections back until their fate is known. To the loop it looks like any other:
/// what is refused to mobile hosts comes from it, as an answer of the wired side would.
pub struct SplitDevice<D> {
    device: D,
    splitter: Splitter,
    /// Ready when one of both is.
    both: Waiter,
}

impl<D: PacketDevice> SplitDevice<D> {
    /// `device` with `splitter` before it.
    ///
    /// # Errors
    /// Of the system.
    pub fn new(device: D, splitter: Splitter) -> io::Result<Self> {
        let both = Waiter::new()?;
        both.add(&device, DEVICE, Interest::Readable)?;
        both.add(&splitter.verdicts, DECIDED, Interest::Readable)?;
        Ok(Self {
            device,
            splitter,
            both,
        })
    }

    /// Lets in whoever may come; gives the next packet for the hop.
    fn next_to_hop(&mut self) -> Option<Packet> {
        while let Some(verdict) = self.splitter.verdict() {
            match verdict {
                Verdict::ToHop(packet) => return Some(packet),
                // If the device has no room, who asked asks again.
                Verdict::ToDevice(mut packet) => {
                    let _ = self.device.send(&mut packet);
                }
            }
        }
        None
    }
}

impl<D> AsFd for SplitDevice<D> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.both.as_fd()
    }
}

impl<D: PacketDevice> PacketDevice for SplitDevice<D> {
    fn receive(&mut self) -> io::Result<Option<Packet>> {
        loop {
            if let Some(packet) = self.next_to_hop() {
                return Ok(Some(packet));
            }
            if let Some(packet) = self.device.receive()? {
                if self.splitter.take_from_device(&packet) {
                    continue;
                }
                return Ok(Some(packet));
            }
            if !self.splitter.verdicts.hear()? {
                return Ok(None);
            }
        }
    }

    fn send(&mut self, packet: &mut Packet) -> io::Result<()> {
        if self.splitter.take_from_hop(packet) {
            return Ok(());
        }
        self.device.send(packet)
    }

    fn counters(&self) -> DeviceCounters {
        self.device.counters()
    }
}
