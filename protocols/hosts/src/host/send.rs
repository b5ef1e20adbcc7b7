//! What a host sends to the hop.

use session::DATA_HEADER_BYTES;
use units::Instant;
use wire::address::HopAddress;
use wire::capture::{CaptureDirection, CaptureKind};
use wire::ip::Ecn;
use wire::packet::PacketBuffer;

use super::{Host, TAG};
use crate::tap::Crossing;

impl Host {
    /// Copies a datagram of a session to an open tap: once, to whatever number of addresses it goes.
    pub(super) fn tap_session(
        &mut self,
        index: Option<usize>,
        to: Option<HopAddress>,
        datagram: &[u8],
    ) {
        let crossing = Crossing {
            kind: CaptureKind::Datagram,
            direction: CaptureDirection::Outbound,
            ecn: Ecn::NotCapable,
            address: to,
            bytes: datagram,
        };
        self.tap(index, &crossing);
    }

    /// Sends a datagram of a session, for one of the peers to all addresses where it may be.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        index: Option<usize>,
        to: Option<HopAddress>,
        datagram: &[u8],
    ) {
        let beside = index.map(|index| self.peers[index].search.places(now));
        let places = to.into_iter().chain(beside.into_iter().flatten());
        for to in places.collect::<Vec<_>>() {
            // Networks that drop ECN-capable packets must not keep the ends apart.
            self.dispatch(now, to, PacketBuffer::copy_of(datagram), Ecn::NotCapable);
        }
        self.counts.frames_unsent += u64::from(to.is_none());
        self.use_binding(now);
        if let Some(index) = index {
            self.seek(now, index);
        }
    }

    /// Seals a frame and sends it to where the peer is.
    pub(super) fn send(&mut self, now: Instant, index: usize, mut frame: PacketBuffer, ecn: Ecn) {
        self.seek(now, index);
        self.use_binding(now);
        let (id, to) = (self.peers[index].id, self.peers[index].endpoint);
        let is_tapped =
            to.is_some_and(|to| self.tap(Some(index), &Crossing::leaves(to, ecn, &frame)));
        frame.grow_front(DATA_HEADER_BYTES);
        frame.grow(TAG);
        let sealed = self.endpoint.seal(now, id, &mut frame).is_ok();
        match to.filter(|_| sealed) {
            Some(to) => self.dispatch(now, to, frame, ecn),
            // It counts as lost on the air: the repair retransmits it.
            None => self.counts.frames_unsent += 1,
        }
        if is_tapped && !sealed {
            self.untap();
        }
    }
}
