//! The reports of the networks between two hosts on packets that are too long.

use channel::{Cause, Direction, Link};
use hosts::{BearerMtu, Input, PathReport, TcpMethod, TcpTerms};
use wire::packet::PacketBuffer;

use super::{AROUND_UDP, Cargo, ENDS, Pair, Setting};

const FRAME_HEADER: usize = 14;

/// The networks.
#[derive(Default)]
pub(crate) struct Network {
    /// True if routers report their MTU to the sender.
    pub(crate) tells: bool,
    /// The longest packet that a host's own interface takes.
    pub(crate) near: [Option<usize>; 2],
    news: Vec<(usize, PathReport)>,
}

/// As in most configurations, on hosts with Ethernet.
pub(crate) fn usual() -> BearerMtu {
    BearerMtu::up_to(1_500)
}

impl Pair {
    /// A pair whose bearers keep to these lengths, where the link layer repairs TCP or another does.
    pub(crate) fn on_path(
        link: Link,
        bearer_mtu: BearerMtu,
        (outer, tcp): (usize, TcpMethod),
    ) -> Self {
        let setting = Setting {
            bearer_mtu,
            outer,
            tcp: [TcpTerms::Follow, TcpTerms::Choose(tcp)],
            ..Setting::usual(1)
        };
        Self::with(link, setting)
    }

    /// The channel has dropped a datagram.
    pub(super) fn note_drop(&mut self, direction: Direction, payload: &Cargo, cause: Cause) {
        let Cargo::Datagram(to, ..) = payload else {
            return;
        };
        let mtu = self.link.plan(direction).at(self.now).0.mtu;
        if let (Cause::TooLong, Some(mtu)) = (cause, mtu)
            && self.network.tells
        {
            let report = PathReport::Said(mtu.bytes().into());
            self.network.news.push((1 - to, report));
        }
    }

    /// Returns true if the interface of a host refuses a datagram.
    pub(super) fn is_refused(&mut self, host: usize, buffer: &PacketBuffer) -> bool {
        let around = AROUND_UDP - FRAME_HEADER;
        let is_refused = self.network.near[host].is_some_and(|most| buffer.len() + around > most);
        if is_refused {
            let report = PathReport::Refused(buffer.len());
            self.network.news.push((host, report));
        }
        is_refused
    }

    /// Tells hosts what networks have said.
    pub(super) fn tell_of_paths(&mut self) {
        for (host, news) in std::mem::take(&mut self.network.news) {
            let to = ENDS[self.setting.outer][1 - host];
            self.input(host, Input::Path { to, news });
        }
    }
}
