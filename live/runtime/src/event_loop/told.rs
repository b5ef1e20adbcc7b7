//! Storage of what gateways have told the host.

use edges::bearer::DatagramBearer;
use edges::tun::PacketDevice;
use units::{Duration, Instant};

use super::EventLoop;
use crate::changes::Change;
use crate::host::DrivenHost;

/// Time from a change until all is stored: changes come in portions.
pub(super) const PAUSE: Duration = Duration::from_secs(2);

impl<H: DrivenHost, D: PacketDevice, B: DatagramBearer> EventLoop<H, D, B> {
    /// Has it stored, if that is due.
    pub(super) fn store_told(&mut self, now: Instant) {
        let is_due = self.work.told_due.take_if(|due| *due <= now).is_some();
        if let Some(changes) = self.work.changes.as_ref().filter(|_| is_due) {
            changes.make(Change::Told(self.host.told()));
        }
    }
}
