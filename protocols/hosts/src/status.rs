//! The status of a host.

use association::RecentTraffic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::DropCause;
use units::{Bytes, Duration, Instant};
use wire::address::HopAddress;

use crate::caps;
use crate::detour::Detour;
use crate::host::{Host, NextKey};
use crate::keepalive::Keepalive;
use crate::leases::Leases;
use crate::peer::Peer;
use crate::{
    Choice, ComparisonStatus, Limit, PlaceStatus, Registration, Role, SiteStatus, SplitTerms,
    Trouble,
};

/// Time for which a count of the memory of all peers stands.
const RECOUNT: Duration = Duration::from_secs(1);

/// State of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// End of the hop that it stands at.
    pub role: Role,
    /// Its public key.
    pub public_key: String,
    /// Its peers, or a page of them.
    pub peers: Vec<PeerStatus>,
    /// Number of the peer with which the next page begins; `None` after the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_from: Option<usize>,
    /// Datagrams dropped, by cause; causes that never occurred are left out.
    pub datagrams_dropped: Vec<(String, u64)>,
    /// Packets that belong to no peer.
    pub packets_unroutable: u64,
    /// Frames that could not be sent for want of keys or of an address.
    pub frames_unsent: u64,
    /// Bytes of memory held for all peers.
    pub memory: Bytes,
    /// Limit on that memory.
    pub memory_most: Bytes,
    /// Interval of the keepalives that a NAT on the way needs; only at a mobile host, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keepalive: Option<Duration>,
    /// Time for which new flows have gone around the hop, as it is down; only at a mobile host whose flows may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around_for: Option<Duration>,
    /// The key that this host claims in place of its present one; only at a mobile host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_key: Option<NextKeyStatus>,
}

/// State of the next key of a mobile host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextKeyStatus {
    /// The key.
    pub public_key: String,
    /// Why the gateway has refused it, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// State of one peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerStatus {
    /// Name that the operator gave it.
    pub name: String,
    /// Its address.
    pub endpoint: Option<HopAddress>,
    /// Its other addresses that were asked, and why they are not in use; only at a mobile host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<PlaceStatus>,
    /// Age of the current keys; `None` if there are none.
    pub keys_age: Option<Duration>,
    /// Its registration.
    pub registration: Registration,
    /// Time for which no datagram has been able to leave this host for it, as its link is down or there is no route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreachable_for: Option<Duration>,
    /// Packets from inner addresses that are not its own.
    pub packets_refused: u64,
    /// What keeps this host from it, if anything does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// Its place in the site, if that has several gateways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<SiteStatus>,
    /// What was measured through it, a gateway, when this mobile host compared it with another one last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<ComparisonStatus>,
    /// Way across the hop for its new TCP connections, if that is chosen for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// Limit on the hop to it now.
    pub limit: Limit,
    /// Traffic with it in the last seconds.
    pub recent: RecentTraffic,
    /// True if it has not been seen to know the present key of this host, but the former one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub knows_former_key: bool,
    /// The hop to it.
    pub hop: association::Status,
    /// Its part in an air that it shares with others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub air: Option<air::AirStatus>,
}

impl Host {
    /// Returns the state of the host, with all peers.
    pub fn status(&self, now: Instant) -> Status {
        let (peers, (memory, most)) = (self.peers.iter(), self.memory());
        Status {
            peers: peers
                .map(|(index, peer)| self.peer_status(now, index, peer))
                .collect(),
            ..self.status_of_itself(now, memory, most)
        }
    }

    /// Returns the state of the host without peers.
    pub(crate) fn status_of_itself(
        &self,
        now: Instant,
        memory: Bytes,
        memory_most: Bytes,
    ) -> Status {
        let counters = self.endpoint.counters();
        let dropped = DropCause::ALL
            .into_iter()
            .map(|cause| (format!("{cause:?}"), counters.dropped(cause)));
        Status {
            memory,
            memory_most,
            keepalive: self.mobile.keepalive.as_ref().and_then(Keepalive::interval),
            around_for: self
                .mobile
                .detour
                .as_ref()
                .and_then(Detour::around_since)
                .map(|at| now.since(at)),
            next_key: self.mobile.next_key.as_ref().map(NextKey::status),
            role: self.role,
            public_key: self.endpoint.public_key().to_string(),
            peers: Vec::new(),
            more_from: None,
            datagrams_dropped: dropped.filter(|(_, count)| *count > 0).collect(),
            packets_unroutable: self.counts.packets_unroutable,
            frames_unsent: self.counts.frames_unsent,
        }
    }

    /// Returns the state of a peer.
    pub(crate) fn peer_status(&self, now: Instant, index: usize, peer: &Peer) -> PeerStatus {
        let expires_at = self.endpoint.expires_at(peer.id);
        let sharing = self.sharing.as_ref();
        let (recent, hop) = if let Some(association) = &peer.association {
            (association.traffic(now), association.status(now))
        } else {
            let new = peer.unlinked(now, &self.bearer, None);
            (new.traffic(now), new.status(now))
        };
        PeerStatus {
            name: peer.settings.name.clone(),
            endpoint: self.first_hop(index),
            others: peer.search.others.status(now, peer.endpoint),
            keys_age: peer.presence.keys_age(now),
            registration: peer.presence.registration(now, expires_at),
            unreachable_for: peer.reach.shut_for(now),
            packets_refused: peer.foreign.packets,
            trouble: self.trouble(now, index),
            choice: self.choice(index),
            site: self.site_status(now, index),
            compared: peer.site.compared.map(|(ended, tally)| {
                let ago = now.since(ended);
                ComparisonStatus::new(ago, tally)
            }),
            knows_former_key: peer.keys.knows_former,
            limit: peer.limit(now),
            recent,
            hop,
            air: sharing.and_then(|sharing| sharing.air.status(now, index)),
        }
    }

    /// Returns the number of bytes that wait for the peer with this number, if there are keys with it.
    pub fn queued(&self, now: Instant, number: usize) -> Option<Bytes> {
        let (_, peer) = self.peers.iter().nth(number)?;
        peer.presence.keys_age(now)?;
        Some(peer.queued())
    }

    /// Returns the bytes of memory held for all peers, and their limit. A host holds next to nothing else.
    pub fn memory(&self) -> (Bytes, Bytes) {
        let peers = self.peers.iter();
        let each = peers.map(|(_, peer)| {
            let (held, most) = peer.memory();
            let (held, most) = caps::of_peer(held, most);
            (held, most + self.streams_to_come(peer))
        });
        let (held, most) = each.fold((Bytes::ZERO, Bytes::ZERO), |sum, peer| {
            (sum.0 + peer.0, sum.1 + peer.1)
        });
        let total = self.leases.as_ref().map(Leases::total);
        (held, total.map_or(most, |total| most.min(total)))
    }

    /// Returns the same, as it was counted within the last second: the status of many peers has hundreds of pages, and
    /// packets wait while a page is made.
    pub fn recent_memory(&self, now: Instant) -> (Bytes, Bytes) {
        let counted = self.counts.memory.get();
        if let Some((_, memory)) = counted.filter(|(at, _)| now.since(*at) < RECOUNT) {
            return memory;
        }
        let memory = self.memory();
        self.counts.memory.set(Some((now, memory)));
        memory
    }

    /// Returns the memory that the streams of a peer may hold once there are any.
    fn streams_to_come(&self, peer: &Peer) -> Bytes {
        let has_some = peer.streams.profile.is_some() && peer.streams.suspended.is_none();
        let may_come = !has_some && peer.settings.split != SplitTerms::Never;
        let maker = self.bearer.streams.filter(|_| may_come);
        maker.map_or(Bytes::ZERO, |maker| maker.memory_most())
    }
}
