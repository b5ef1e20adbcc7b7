//! News of the paths to peers.

use association::{Input as Associated, PathNews};
use machine::Machine;
use session::DATA_OVERHEAD_BYTES;
use units::Instant;
use wire::address::HopAddress;

use crate::PathReport;
use crate::host::Host;
use crate::peer::around;

impl Host {
    fn tell_path(&mut self, now: Instant, index: usize, news: PathNews) {
        let peer = self.peers.get_mut(index);
        if let Some(association) = peer.and_then(|peer| peer.association.as_mut()) {
            association.handle_input(now, Associated::Path(news));
            self.forward(now, index);
        }
    }

    /// Reports to an association that its peer has moved.
    pub(crate) fn path_moved(&mut self, now: Instant, index: usize) {
        let endpoint = self.peers.get(index).and_then(|peer| peer.endpoint);
        self.tell_path(now, index, PathNews::Moved(around(endpoint)));
    }

    /// Reports to all associations that this host may have moved.
    pub(crate) fn paths_may_have_moved(&mut self, now: Instant) {
        for index in self.peers.indices() {
            self.tell_path(now, index, PathNews::Uncertain);
        }
    }

    /// Passes on a report of the network on the path to an address.
    pub(crate) fn path_reported(&mut self, now: Instant, to: HopAddress, report: PathReport) {
        let news = match report {
            PathReport::Said(most) => PathNews::Said(most),
            PathReport::Refused(length) => {
                PathNews::Refused(length.saturating_sub(DATA_OVERHEAD_BYTES))
            }
        };
        for index in self.peers.indices() {
            if self.first_hop(index) == Some(to) {
                self.tell_path(now, index, news);
            }
        }
    }
}
