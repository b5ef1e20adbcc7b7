//! One peer of a host.

use std::net::SocketAddr;

use arq::PathSearch;
use association::{Association, RecentCounters, TcpConfig, TcpMethod};
use machine::Machine;
use session::{DATA_OVERHEAD_BYTES, PeerId, PublicKey};
use units::{BitRate, Bytes, Duration, Instant, Probability};
use wire::address::{HopAddress, Relay};
use wire::ethernet;
use wire::hop::RelayHeader;

use crate::presence::Presence;
use crate::reach::Reach;
use crate::repetition::Repetition;
use crate::search::{Doubt, Search};
use crate::site::InSite;
use crate::streams::{StreamMaker, Suspended};
use crate::verdict::{self, HopState, Limit, Signs, VerdictInputs};
use crate::{BearerMtu, Caps, Choice, HopCondition, Profile, Role, Scope, SitePart, terms};

const UDP: usize = 8;
/// TCP with time stamps (RFC 9293, RFC 7323), a record of TLS 1.3 (RFC 8446 §5.2), and the length of the datagram.
const TLS: usize = 32 + 22 + 2;
const IPV4: usize = 20;
const IPV6: usize = 40;

/// Costs and limits of frames to a peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bearer {
    pub(crate) mtu: BearerMtu,
    pub(crate) rate: Option<BitRate>,
    pub(crate) role: Role,
    pub(crate) snoop_cache: Bytes,
    /// True if other peers use the same air.
    pub(crate) is_shared: bool,
    /// Part of its memory that an association may use at first; `None` for all of it.
    pub(crate) lease: Option<Bytes>,
    /// Maker of streams, if TCP may be split.
    pub(crate) streams: Option<StreamMaker>,
}

/// One peer of a host.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) settings: crate::Peer,
    pub(crate) id: PeerId,
    pub(crate) endpoint: Option<HopAddress>,
    /// Its association, from the first packet or keys on: a host knows many peers that never come.
    pub(crate) association: Option<Box<Association>>,
    pub(crate) presence: Presence,
    pub(crate) reach: Reach,
    pub(crate) search: Search,
    pub(crate) signs: Signs,
    pub(crate) foreign: Foreign,
    pub(crate) streams: Streams,
    pub(crate) keys: KeyState,
    pub(crate) site: InSite,
}

/// State of the replacement of a peer's key, and of this host's.
#[derive(Debug, Default)]
pub(crate) struct KeyState {
    /// Time of the peer's last claim of another key that was passed on, or of its last change of the key.
    pub(crate) claimed: Option<Instant>,
    /// Its key before the present one, which has vouched for that.
    pub(crate) former: Option<PublicKey>,
    /// The key that the configuration, or who tells of it, has of it, if that is not the present one.
    pub(crate) listed: Option<PublicKey>,
    /// The messages with the present key of this host, as long as it may not know that.
    pub(crate) vouches: Repetition,
    /// True if its session began with the former key of this host.
    pub(crate) knows_former: bool,
}

impl KeyState {
    /// Notes a handshake with the present key of this host, which begins the hop anew if `is_fresh`.
    pub(crate) fn knows_present(&mut self, is_fresh: bool) {
        self.knows_former = false;
        if is_fresh {
            self.vouches.end();
        }
    }

    /// Returns what remains of it when the hop to the peer begins anew.
    pub(crate) fn before_change(&self) -> Self {
        Self {
            claimed: self.claimed,
            former: self.former,
            ..Self::default()
        }
    }
}

/// Packets from sources that are not a peer's.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    pub(crate) packets: u64,
    /// Time of the last notice to the peer about them.
    pub(crate) told: Option<Instant>,
}

/// Streams of split TCP between this host and a peer.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// Connections of it that are split, if any are.
    pub(crate) scope: Option<Scope>,
    /// Profile of its streams, if it has any.
    pub(crate) profile: Option<Profile>,
    /// Number of times that it started anew.
    pub(crate) life: u32,
    /// Tag by which both ends know these streams in another association; 0 if there are none.
    pub(crate) tag: u32,
    /// The streams, while they wait for another association.
    pub(crate) suspended: Option<Box<Suspended>>,
}

impl Streams {
    /// Returns true if these streams go on in a new association with this profile, whose other end has these features.
    pub(crate) fn go_on(&self, profile: Option<Profile>, features: u64) -> bool {
        self.tag != 0
            && self.tag == terms::streams_tag(features)
            && profile.is_some()
            && self.profile == profile
    }
}

impl Peer {
    /// Returns a peer from which nothing has been received.
    pub(crate) fn new(settings: crate::Peer, id: PeerId) -> Self {
        Self {
            id,
            endpoint: settings.endpoint,
            association: None,
            presence: Presence::new(settings.endpoint),
            reach: Reach::Open,
            search: Search::new(settings.endpoint, settings.tls_port),
            signs: Signs::default(),
            foreign: Foreign::default(),
            streams: Streams::default(),
            keys: KeyState::default(),
            site: settings.membership.site.into(),
            settings,
        }
    }

    /// Notes that there are keys with it, after a handshake that has taken so long; `is_fresh` is true if the
    /// association has begun anew.
    pub(crate) fn established(&mut self, now: Instant, is_fresh: bool, lasted: Duration) {
        if let Some(association) = &mut self.association {
            association.handshake_lasted(lasted);
        }
        self.presence.established(now);
        self.signs.clues.reached();
        self.keys.knows_present(is_fresh);
    }

    /// Returns its association, which begins now if there is none.
    pub(crate) fn associated(&mut self, now: Instant, bearer: &Bearer) -> &mut Association {
        let present = self.association.take();
        let present = present.unwrap_or_else(|| Box::new(self.unlinked(now, bearer, None)));
        self.association.insert(present)
    }

    /// Returns a new association with it, by which nothing can be sent yet; it inherits from the former one.
    pub(crate) fn unlinked(
        &self,
        now: Instant,
        bearer: &Bearer,
        former: Option<&mut Association>,
    ) -> Association {
        let mut new = bearer.association(self.endpoint, TcpMethod::Arq, &self.settings);
        if let Some(former) = former {
            new.inherit(former);
        }
        // Without keys nothing can be sent, so its timers would only run idle.
        new.handle_input(now, association::Input::Link(false));
        new
    }

    /// Returns the measurements of the hop to it, as its association has them.
    pub(crate) fn measured(&self) -> (Option<Duration>, Option<Probability>) {
        let association = self.association.as_ref();
        association.map_or((None, None), |its| its.measured())
    }

    /// Returns a time of its association, such as a deadline.
    pub(crate) fn due(&self, time: impl Fn(&Association) -> Option<Instant>) -> Option<Instant> {
        time(self.association.as_ref()?)
    }

    /// Returns the time for which packets to it wait on the way.
    pub(crate) fn queueing_delay(&self) -> Duration {
        let association = self.association.as_ref();
        association.map_or(Duration::ZERO, |its| its.queueing_delay())
    }

    /// Returns the bytes of memory that its association holds, and their limit.
    pub(crate) fn memory(&self) -> (Bytes, Bytes) {
        match &self.association {
            Some(association) => association.memory(),
            None => (
                Bytes::ZERO,
                self.settings.caps.memory.max(Caps::MEMORY_LEAST),
            ),
        }
    }

    /// Returns the bytes that wait for it.
    pub(crate) fn queued(&self) -> Bytes {
        let association = self.association.as_ref();
        association.map_or(Bytes::ZERO, |its| its.queued())
    }

    /// Returns true if it has these settings, but for its key.
    pub(crate) fn has_settings(&self, settings: &crate::Peer) -> bool {
        let present = crate::Peer {
            public: self.settings.public,
            ..settings.clone()
        };
        self.settings == present
    }

    /// Returns the connections that become streams, if there are any: the link layer repairs TCP for the others.
    pub(crate) fn scope(&self) -> Scope {
        match self.association.as_ref().map(|its| its.tcp_method()) {
            None | Some(TcpMethod::Arq) => Scope::Chosen,
            Some(TcpMethod::Plain | TcpMethod::Snoop) => Scope::Every,
        }
    }

    /// Returns the limit on the hop to it now.
    pub(crate) fn limit(&self, now: Instant) -> Limit {
        Limit::of(&VerdictInputs {
            reach: self.reachability(now),
            seconds: self
                .association
                .as_ref()
                .map_or_else(RecentCounters::default, |its| its.recent(now)),
        })
    }

    /// Returns what is known of its reachability.
    pub(crate) fn reachability(&self, now: Instant) -> verdict::Reach {
        let presence = &self.presence;
        let hop = HopState {
            is_linked: presence.is_linked() && self.reach.shut_for(now).is_none(),
            is_cut: self.association.as_ref().is_some_and(|its| its.is_cut()),
        };
        self.signs.reach(now, hop, presence.heard_at())
    }

    /// Returns what speaks against its address, beside that it does not answer.
    pub(crate) fn doubt(&self, now: Instant) -> Doubt {
        if self.presence.has_left() {
            Doubt::Goodbye
        } else if !self.presence.is_linked() || self.reach.is_shut() || self.is_refused(now) {
            Doubt::Trouble
        } else {
            Doubt::Silence
        }
    }

    /// Returns true if the network reported that no process listens at its port, since it was heard last.
    pub(crate) fn is_refused(&self, now: Instant) -> bool {
        let hop = HopState::default();
        self.signs
            .reach(now, hop, self.presence.heard_at())
            .is_refused
    }

    /// Returns the better way across the hop in its present state.
    pub(crate) fn choice(&self) -> Choice {
        let (round_trip, loss) = self.measured();
        Choice::of(HopCondition { round_trip, loss })
    }
}

impl Bearer {
    /// Returns a new association over this bearer with a peer at `endpoint`, with this method for TCP.
    pub(crate) fn association(
        &self,
        endpoint: Option<HopAddress>,
        method: TcpMethod,
        settings: &crate::Peer,
    ) -> Association {
        let caps = &settings.caps;
        let around = around(endpoint);
        let frame = self.mtu.bound.saturating_sub(around).max(64);
        let tcp = TcpConfig {
            method,
            at_gateway: self.role == Role::Gateway,
            cache: self.snoop_cache,
        };
        let is_between_gateways =
            self.role == Role::Gateway && settings.membership.site == SitePart::Gateway;
        let config = arq::Config {
            // Both count what crosses, to know when all has come.
            carries_repetitions: is_between_gateways,
            memory: caps.memory,
            lease: self.lease,
            queue: caps.queue,
            packets: caps.packets,
            path: Some(PathSearch {
                lengths: self.mtu,
                around,
            }),
            ..arq::Config::new(frame, around + ethernet::HEADER_BYTES)
        };
        let mut association = Association::new(config, self.rate, &tcp).holding_senders();
        if let Some(limits) = caps.flow_limits() {
            association = association.with_flow_limits(limits);
        }
        if self.is_shared {
            association = association.on_shared_air();
        }
        if is_between_gateways {
            // The queue at the hop of the mobile host has limits.
            association.excuse_queues(Instant::ZERO, Instant::ZERO + Duration::MAX);
        }
        association
    }
}

/// Returns the bytes around a frame to `endpoint` in the payload of a link's frame.
pub(crate) fn around(endpoint: Option<HopAddress>) -> usize {
    let ip = |address: &SocketAddr| match address {
        SocketAddr::V6(address) if address.ip().to_ipv4_mapped().is_none() => IPV6,
        SocketAddr::V6(_) | SocketAddr::V4(_) => IPV4,
    };
    let headers = match endpoint {
        Some(HopAddress::Ethernet(_)) => ethernet::LENGTH_BYTES,
        Some(HopAddress::Udp(address)) => ip(&address) + UDP,
        // As if each datagram had a segment and a record for itself: then one fits in a segment.
        Some(HopAddress::Tls(address)) => ip(&address) + TLS,
        // The longer of its two legs, whatever it is by.
        Some(HopAddress::Relay(_)) => IPV6 + UDP + DATA_OVERHEAD_BYTES + RelayHeader::LONGEST,
        None => IPV4 + UDP,
    };
    headers + DATA_OVERHEAD_BYTES
}

/// Returns the bytes around a frame that a gateway relays.
pub(crate) fn around_relay() -> usize {
    around(Some(HopAddress::Relay(Relay { by: 0, to: 0 })))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 791, RFC 8200 and RFC 768 give the lengths of the headers.
    #[test]
    fn headers_around_a_frame_are_those_of_its_carrier() {
        let udp = |address: &str| Some(HopAddress::Udp(address.parse().expect("an address")));
        let tls = |address: &str| Some(HopAddress::Tls(address.parse().expect("an address")));
        let ethernet = HopAddress::Ethernet(ethernet::MacAddress([2, 0, 0, 0, 0, 1]));
        let relay = Relay { by: 1, to: 2 };
        let carriers = [
            (None, 28),
            (udp("192.0.2.1:5000"), 28),
            (udp("[::ffff:192.0.2.1]:5000"), 28),
            (udp("[2001:db8::1]:5000"), 48),
            (Some(ethernet), ethernet::LENGTH_BYTES),
            (tls("192.0.2.1:443"), 76),
            (tls("[2001:db8::1]:443"), 96),
            (
                Some(HopAddress::Relay(relay)),
                48 + 33 + DATA_OVERHEAD_BYTES,
            ),
        ];
        for (endpoint, headers) in carriers {
            assert_eq!(
                around(endpoint),
                headers + DATA_OVERHEAD_BYTES,
                "{endpoint:?}"
            );
        }
    }
}
