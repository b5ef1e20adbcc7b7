//! Parts of a host's status, so that a reply takes little time and memory however many peers there are: pages of the
//! whole status, and summaries with a few numbers for each peer.

use association::RecentTraffic;
use serde::{Deserialize, Serialize};
use units::Instant;

use crate::host::Host;
use crate::{LimitedBy, PeerStatus, Registration, Role, SiteStatus, Status, Trouble};

/// Largest number of peers in a page of the whole status: 16 of at most 8 KiB each.
const STATUS_PAGE: usize = 16;
/// Largest number of peers in a page of summaries: 128 of at most 1 KiB each.
const SUMMARY_PAGE: usize = 128;

/// The peers of a host in short, or a page of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// End of the hop that the host stands at.
    pub role: Role,
    /// Its peers.
    pub peers: Vec<PeerSummary>,
    /// Number of the peer with which the next page begins; `None` after the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_from: Option<usize>,
}

/// State of one peer in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerSummary {
    /// Number of the peer, which never belongs to another one while the host runs.
    pub number: usize,
    /// Name that the operator gave it.
    pub name: String,
    /// True if there are keys, and so it is connected.
    pub is_connected: bool,
    /// Its registration.
    pub registration: Registration,
    /// Cause that limits the hop to it now.
    pub limited_by: LimitedBy,
    /// Traffic with it in the last seconds.
    pub recent: RecentTraffic,
    /// Rate of the hop to it, in bits per second, once it is given or measured.
    pub rate_bits_per_s: Option<u64>,
    /// Smoothed round-trip time in microseconds, once one has been measured.
    pub round_trip_us: Option<u64>,
    /// Time that a new packet of a bulk flow waits in this host, in microseconds, once the rate is known.
    pub queue_delay_us: Option<u64>,
    /// Time for which nothing has come through, in milliseconds; zero while there is no fade.
    pub fading_ms: u64,
    /// Number of fades that have ended since the peer began.
    pub fades: u64,
    /// Their total length in milliseconds.
    pub faded_ms: u64,
    /// Its share of the recent airtime in percent, if it shares an air with others.
    pub airtime_percent: Option<u64>,
    /// What keeps this host from it, if anything is known to.
    pub trouble: Option<Trouble>,
    /// Its place in the site, if that has several gateways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<SiteStatus>,
}

impl PeerSummary {
    /// Returns the summary of a status of the peer with this number.
    pub fn of(number: usize, peer: &PeerStatus) -> Self {
        let (hop, sent) = (&peer.hop, &peer.hop.stats.sent);
        Self {
            number,
            name: peer.name.clone(),
            is_connected: peer.keys_age.is_some(),
            registration: peer.registration,
            limited_by: peer.limit.by,
            recent: peer.recent,
            rate_bits_per_s: hop.rate.map(units::BitRate::bits_per_second),
            round_trip_us: hop.round_trip.map(units::Duration::as_micros),
            queue_delay_us: hop.queue_delay.map(units::Duration::as_micros),
            fading_ms: hop.fading_for.as_millis(),
            fades: sent.fades,
            faded_ms: sent.faded.as_millis(),
            airtime_percent: peer
                .air
                .as_ref()
                .map(|air| (air.airtime_share.as_f64() * 100.0).round() as u64),
            trouble: peer.trouble.clone(),
            site: peer.site.clone(),
        }
    }
}

impl Host {
    /// Returns a page of the state of the host, with the peers from number `from` on.
    pub fn status_page(&self, now: Instant, from: usize) -> Status {
        let (peers, more_from) = self.page(now, from, STATUS_PAGE);
        let (memory, most) = self.recent_memory(now);
        Status {
            peers: peers.into_iter().map(|(_, peer)| peer).collect(),
            more_from,
            ..self.status_of_itself(now, memory, most)
        }
    }

    /// Returns a page of summaries of the peers from number `from` on.
    pub fn summary_page(&self, now: Instant, from: usize) -> Summary {
        let (peers, more_from) = self.page(now, from, SUMMARY_PAGE);
        let peers = peers.iter();
        Summary {
            role: self.role,
            peers: peers
                .map(|(number, peer)| PeerSummary::of(*number, peer))
                .collect(),
            more_from,
        }
    }

    /// Returns the states of at most `most` peers with their numbers, and the number of the next one.
    fn page(
        &self,
        now: Instant,
        from: usize,
        most: usize,
    ) -> (Vec<(usize, PeerStatus)>, Option<usize>) {
        let mut left = self.peers.iter_from(from);
        let page = left.by_ref().take(most);
        let page = page
            .map(|(index, peer)| (index, self.peer_status(now, index, peer)))
            .collect();
        (page, left.next().map(|(index, _)| index))
    }
}
