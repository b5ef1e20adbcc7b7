//! Path MTU reports of the network.

use edges::bearer::{DatagramBearer, PathLimit};
use edges::clock;
use edges::tun::PacketDevice;
use hosts::{Input, PathReport};
use units::Instant;

use super::EventLoop;
use crate::host::DrivenHost;

impl<H: DrivenHost, D: PacketDevice, B: DatagramBearer> EventLoop<H, D, B> {
    /// Returns the time when the bearer, or news of the network, has something to do.
    pub(super) fn bearer_due(&self) -> Option<Instant> {
        machine::earlier(self.news_due, self.ports.bearer.poll_timeout())
    }

    /// Notifies the host of reports that datagrams were too long.
    pub(super) fn hear_of_paths(&mut self) {
        for report in self.ports.bearer.path_reports() {
            let news = match report.limit {
                PathLimit::Said(most) => PathReport::Said(most),
                PathLimit::Refused(length) => PathReport::Refused(length),
            };
            let to = report.to;
            self.tell(clock::monotonic(), Input::Path { to, news });
        }
    }
}
