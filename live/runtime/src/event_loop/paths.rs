//! Path MTU reports of the network.

use edges::bearer::{DatagramBearer, PathLimit};
use edges::clock;
use edges::tun::PacketDevice;
use hosts::{Input, PathReport};

use super::EventLoop;
use crate::host::DrivenHost;

impl<H: DrivenHost, D: PacketDevice, B: DatagramBearer> EventLoop<H, D, B> {
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
