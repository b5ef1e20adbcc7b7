//! Where the two hosts are, and what reaches whom.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use channel::Link;
use hosts::{MobileTerms, ResolverTerms, Resolvers};
use units::{Duration, Instant};
use wire::address::HopAddress;
use wire::packet::PacketBuffer;

use super::tls::Tls;
use super::{GATEWAY, MOBILE, Pair, Setting};

/// Returns the address from which a copy of the next datagram comes, if there is one.
pub(crate) type Copies = Box<dyn FnMut() -> Option<HopAddress>>;

/// Places of the hosts, if they have moved, and an attacker at the gateway's door.
#[derive(Default)]
pub(crate) struct Place {
    pub(crate) gateway: Option<HopAddress>,
    /// Address of the mobile host behind its NAT. Nothing reaches it at an earlier one.
    pub(crate) mobile: Option<HopAddress>,
    /// True if the mobile host has sent to it there. A firewall admits only replies.
    is_asked: bool,
    /// A host that gets copies of datagrams for it, each before the datagram itself, and their addresses.
    pub(crate) copies: Option<(usize, Copies)>,
    /// Bytes of copies from each address, and bytes sent to each address where nobody is.
    pub(crate) copied: BTreeMap<HopAddress, u64>,
    pub(crate) strayed: BTreeMap<HopAddress, u64>,
    /// When the first datagram came from the mobile host's new address.
    pub(crate) shown: Option<Instant>,
    /// When the first long datagram went to the mobile host's present address.
    pub(crate) reached: Option<Instant>,
    /// NAT of the mobile host, if it forgets.
    pub(crate) nat: Option<Nat>,
    /// Number of datagrams of this length between the hosts that are lost next, by sender.
    pub(crate) loses: Option<(usize, usize, u32)>,
    /// When the mobile host learned of which resolvers.
    pub(crate) resolvers: Vec<(Instant, Resolvers)>,
    /// The way by TLS.
    pub(crate) tls: Tls,
}

/// A NAT that forgets an idle host.
pub(crate) struct Nat {
    lifetime: Duration,
    bound: Option<Instant>,
    bindings: u16,
}

impl Nat {
    pub(crate) fn that_forgets_after(lifetime: Duration) -> Self {
        let (bound, bindings) = (None, 0);
        Self {
            lifetime,
            bound,
            bindings,
        }
    }

    fn is_bound(&self, now: Instant) -> bool {
        self.bound.is_some_and(|at| now.since(at) <= self.lifetime)
    }

    /// A datagram goes out; returns the address of a new binding.
    fn go_out(&mut self, now: Instant) -> Option<HopAddress> {
        let is_bound = self.is_bound(now);
        self.bound = Some(now);
        if is_bound {
            return None;
        }
        self.bindings += 1;
        let outside = Ipv4Addr::new(203, 0, 113, 1);
        Some(HopAddress::Udp((outside, 20_000 + self.bindings).into()))
    }
}

impl Place {
    pub(crate) fn moved_to(gateway: HopAddress) -> Self {
        Self {
            gateway: Some(gateway),
            ..Self::default()
        }
    }

    /// Returns the address of a host that has moved.
    pub(crate) fn of(&self, host: usize) -> Option<HopAddress> {
        if host == MOBILE {
            self.mobile
        } else {
            self.gateway
        }
    }

    /// Returns true if a datagram of a host is lost.
    fn is_lost(&mut self, host: usize, buffer: &PacketBuffer) -> bool {
        match &mut self.loses {
            Some((from, length, left)) if (*from, *length) == (host, buffer.len()) && *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}

impl Pair {
    /// Returns true if a datagram of a host reaches the other.
    pub(crate) fn passes(&mut self, host: usize, to: HopAddress, buffer: &PacketBuffer) -> bool {
        let mut is_bound = true;
        if let Some(nat) = &mut self.place.nat {
            if host == MOBILE {
                self.place.mobile = nat.go_out(self.now).or(self.place.mobile);
            } else {
                is_bound = nat.is_bound(self.now);
            }
        }
        let place = &self.place;
        let is_let_in = host != GATEWAY || place.gateway.is_none() || place.is_asked;
        let is_there = to == self.address(1 - host);
        if !is_there {
            *self.place.strayed.entry(to).or_default() += buffer.len() as u64;
        }
        if host == GATEWAY && is_there && buffer.len() > 400 {
            self.place.reached.get_or_insert(self.now);
        }
        let passes = is_let_in
            && is_bound
            && is_there
            && !self.blackout.contains(&self.now)
            && !self.place.is_lost(host, buffer);
        self.place.is_asked |= passes && host != GATEWAY;
        passes
    }

    /// Returns the address from which a copy of a datagram comes to `host` before the datagram itself.
    pub(super) fn copy_from(&mut self, host: usize, buffer: &PacketBuffer) -> Option<HopAddress> {
        if host == GATEWAY && self.place.mobile.is_some() {
            self.place.shown.get_or_insert(self.now);
        }
        let copies = self.place.copies.as_mut();
        let (_, copies) = copies.filter(|(target, _)| *target == host)?;
        let from = copies()?;
        *self.place.copied.entry(from).or_default() += buffer.len() as u64;
        Some(from)
    }
}

/// Returns resolvers with this server.
pub(crate) fn resolvers(server: &str) -> Resolvers {
    let server = server.parse().expect("an address");
    Resolvers::new(vec![server], Vec::new()).expect("one that hosts can use")
}

/// Returns a host's terms for the resolver.
pub(super) fn resolver_terms(host: usize, setting: Setting) -> ResolverTerms {
    match setting.resolver {
        Terms::Asked | Terms::Offered(_) if host == MOBILE => ResolverTerms::Ask,
        Terms::Unknown | Terms::Asked => ResolverTerms::Silent,
        Terms::Offered(server) => ResolverTerms::Offer(resolvers(server)),
    }
}

/// Returns what the mobile host does by itself.
pub(super) fn mobile_terms(setting: Setting) -> MobileTerms {
    MobileTerms {
        detours: setting.detours,
        keepalive: setting.detours,
        compares_gateways: false,
        gathers_copies: true,
    }
}

/// What both hosts know of resolvers.
#[derive(Clone, Copy)]
pub(crate) enum Terms {
    /// Nothing.
    Unknown,
    /// The mobile host asks a gateway of an earlier version.
    Asked,
    /// The gateway offers this one.
    Offered(&'static str),
}

impl Pair {
    /// A pair over a named link with these terms for the resolver.
    pub(crate) fn with_resolver(link: &str, seed: u64, resolver: Terms) -> Self {
        let setting = Setting {
            resolver,
            ..Setting::usual(seed)
        };
        Self::with(Link::named(link).expect("a link"), setting)
    }

    /// A pair over a named link whose mobile host may lead flows around the hop.
    pub(crate) fn with_detours(link: &str, seed: u64) -> Self {
        let setting = Setting {
            detours: true,
            ..Setting::usual(seed)
        };
        Self::with(Link::named(link).expect("a link"), setting)
    }
}
