//! State that only a mobile host has.

use units::Instant;
use wire::address::HopAddress;

use super::claims::NextKey;
use crate::detour::Detour;
use crate::keepalive::Keepalive;
use crate::resolver::Inquiry;
use crate::site::{Attachment, Comparisons, Watch};

/// What a mobile host knows of its moves between gateways.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// Number of the latest attachment.
    pub(crate) latest: u64,
    /// Time when a hand-off begins that was announced.
    pub(crate) announced: Option<Instant>,
    /// True if the next gateway gathers copies before this host leaves its own.
    pub(crate) gathers: bool,
}

/// State of a mobile host, which a gateway does not use.
#[derive(Debug, Default)]
pub(crate) struct MobileSide {
    /// Index of the gateway that serves it.
    pub(crate) gateway: usize,
    /// Its address without a relay, while another gateway relays.
    pub(crate) direct: Option<HopAddress>,
    /// Its attachment to another gateway, if that is not complete.
    pub(crate) attachment: Option<Attachment>,
    pub(crate) moves: Moves,
    /// The watch on the gateway, in a site with several.
    pub(crate) watch: Watch,
    /// The comparisons of that gateway with others.
    pub(crate) comparisons: Comparisons,
    /// True if it has begun to connect.
    pub(crate) begun: bool,
    /// The way of new flows, if it is chosen here.
    pub(crate) detour: Option<Detour>,
    /// The search for the time for which a NAT keeps its binding, if it is needed.
    pub(crate) keepalive: Option<Keepalive>,
    /// The question for the resolver of the hop.
    pub(crate) inquiry: Inquiry,
    /// The key that this host claims, if it claims one.
    pub(crate) next_key: Option<NextKey>,
}

impl MobileSide {
    /// Returns true if the gateway with this index serves this host. It does until another one is asked to.
    pub(crate) fn serves(&self, index: usize) -> bool {
        let asked = self.attachment.as_ref().filter(|next| next.freezes());
        self.gateway == index && asked.is_none()
    }

    /// Returns the index of the gateway to which this host is about to move.
    pub(crate) fn moves_to(&self) -> Option<usize> {
        self.attachment.as_ref().map(|next| next.to)
    }

    /// Returns the time of the next action.
    pub(crate) fn due(&self) -> Option<Instant> {
        let keepalive = self.keepalive.as_ref().and_then(Keepalive::due);
        let detour = self.detour.as_ref().and_then(Detour::due);
        let claims = self.next_key.as_ref().and_then(|next| next.claims.due());
        let attachment = self.attachment.as_ref().and_then(Attachment::acts_at);
        let watch = machine::earlier(self.watch.due(), self.comparisons.due());
        let watch = machine::earlier(watch, self.moves.announced);
        let gateways = machine::earlier(attachment, watch);
        let ways = machine::earlier(machine::earlier(keepalive, detour), gateways);
        let questions = machine::earlier(self.inquiry.questions.due(), claims);
        machine::earlier(ways, questions)
    }
}
