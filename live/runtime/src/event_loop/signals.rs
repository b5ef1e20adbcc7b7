//! Signals for applications, and their subscribers.

use std::io;

use edges::bearer::DatagramBearer;
use edges::clock;
use edges::tun::PacketDevice;

use super::{ANNOUNCER, EventLoop, FIRST_SUBSCRIBER};
use crate::host::DrivenHost;

impl<H: DrivenHost, D: PacketDevice, B: DatagramBearer> EventLoop<H, D, B> {
    /// Announces events to applications.
    pub(super) fn announce(&mut self) {
        for event in self.work.events.drain(..) {
            if let Some(announcer) = &mut self.ports.announcer {
                announcer.note(clock::monotonic(), &event);
            }
        }
    }

    /// Accepts signal subscribers, or removes one that has gone.
    pub(super) fn listened(&mut self, token: u64) -> io::Result<()> {
        let Some(announcer) = &mut self.ports.announcer else {
            return Ok(());
        };
        if token == ANNOUNCER {
            announcer.publisher.accept(&self.waiter, FIRST_SUBSCRIBER)
        } else {
            announcer.publisher.gone(token);
            Ok(())
        }
    }
}
