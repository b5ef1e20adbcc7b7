//! The configuration of a host.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use session::{PresharedKey, PrivateKey, PublicKey};
use units::{BitRate, Bytes};
use wire::address::HopAddress;

use crate::{BearerMtu, Caps, ResolverTerms, SitePart, SplitTerms, StreamLimits, TcpTerms};
use crate::{TcpMethod, caps, leases};

/// End of the hop that a host stands at.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It initiates the connection: it has the address of its gateway.
    Mobile,
    /// It waits for its mobile hosts.
    Gateway,
}

/// Configuration of a host. It holds a secret and so has no `Debug`.
#[derive(Clone)]
pub struct Config {
    /// End of the hop.
    pub role: Role,
    /// This host's key.
    pub key: PrivateKey,
    /// Its peers.
    pub peers: Vec<Peer>,
    /// First and largest length of the bearer's packets: of IP, or the payload of a link's frames.
    pub bearer_mtu: BearerMtu,
    /// Rate of the hop from here, if it is not to be measured.
    pub rate: Option<BitRate>,
    /// Scheduler of the air that the peers share; without it each peer has an air of its own.
    pub shared_air: Option<scheduler::Config>,
    /// Limit on snoop's cache for each peer, if TCP uses it.
    pub snoop_cache: Bytes,
    /// Most memory for all peers together, which share it; `None` if each may use all of its [`Caps::memory`].
    pub memory: Option<Bytes>,
    /// Limits on the streams of each peer, if TCP is split; `None` if this host makes no streams.
    pub streams: Option<StreamLimits>,
    /// Configuration of the splitter, if TCP is split.
    pub split: Option<split::Config>,
    /// What a mobile host does by itself; a gateway does none of it.
    pub mobile: MobileTerms,
    /// Which flows of its guests leave at this host, a gateway.
    pub exits: GuestExits,
}

/// Which flows of a mobile host leave at a gateway that serves it and is not its home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GuestExits {
    /// None.
    #[default]
    None,
    /// Those that begin while its home is silent: the gateway stands in for that. It has to translate addresses, so
    /// that replies come here.
    OfSilentHome,
    /// Those, and all flows to the Internet that begin there.
    ToInternet,
    /// All, while its home is silent. It may not translate addresses: packets to that of the mobile host come to the
    /// gateway that has announced it last.
    Untranslated,
}

/// What a mobile host does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MobileTerms {
    /// It announces when new flows should go around a hop that is down
    /// ([`EventKind::DetourBegan`](crate::EventKind::DetourBegan)).
    pub detours: bool,
    /// While it is idle, it keeps the bindings of NATs on the way, as far as they need it.
    pub keepalive: bool,
    /// While it has traffic, it compares the gateways of its site, and moves to a better one.
    pub compares_gateways: bool,
    /// Before it leaves its gateway for a far one, its home sends that copies of what is on its way, so that a download
    /// stalls for a round trip of the hop, however far the two gateways are from each other.
    pub gathers_copies: bool,
}

impl Config {
    /// Returns the least [`Config::memory`]: a floor for each peer, with the buffers of snoop and of streams where
    /// they may be used.
    pub fn memory_least(&self) -> Bytes {
        memory_least(&self.peers, self.streams, self.snoop_cache)
    }
}

/// Returns the least [`Config::memory`] with these peers, limits on the streams of each, and limit on snoop's cache.
pub fn memory_least<'a>(
    peers: impl IntoIterator<Item = &'a Peer>,
    streams: Option<StreamLimits>,
    snoop_cache: Bytes,
) -> Bytes {
    let streams = streams.map_or(Bytes::ZERO, StreamLimits::memory_most);
    let each = peers
        .into_iter()
        .map(|peer| peer.memory_least(streams, snoop_cache));
    each.fold(Bytes::ZERO, |sum, peer| sum + peer)
}

/// Configuration of a peer. Its public key is its identity. It may hold a secret, which `Debug` does not show.
#[derive(Clone, PartialEq, Eq)]
pub struct Peer {
    /// Name that the operator gave it.
    pub name: String,
    /// Its public key.
    pub public: PublicKey,
    /// Key that both share in addition, if any.
    pub preshared: Option<PresharedKey>,
    /// Its address, if that is known: a mobile host needs that of its gateway.
    pub endpoint: Option<HopAddress>,
    /// Port at which it takes TLS where UDP does not get through, if it does: for a mobile host's gateway.
    pub tls_port: Option<u16>,
    /// Prefixes of its inner addresses: packets to them go to it, and it may send from no others. Each is an address
    /// and a prefix length in bits.
    pub prefixes: Vec<(IpAddr, u8)>,
    /// Terms for TCP on the hop to it.
    pub tcp: TcpTerms,
    /// Terms for streams on the hop to it, if TCP is split.
    pub split: SplitTerms,
    /// Terms for the resolver of the hop to it.
    pub resolver: ResolverTerms,
    /// Limits on its use of this host.
    pub caps: Caps,
    /// What it is to this host.
    pub membership: Membership,
    /// Its weight among the peers that share an air: twice the weight gives twice the share, if shares are given.
    pub weight: u16,
}

/// What a peer is to a host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Membership {
    /// True if it may replace its key by another one ([`Output::Claim`](crate::Output::Claim)).
    pub may_claim: bool,
    /// Its place in the site of this host.
    pub site: SitePart,
    /// Address at which mobile hosts reach it, a gateway of the site, if that is not its endpoint.
    pub for_mobiles: Option<SocketAddr>,
    /// Other addresses of a gateway of the site, where it is looked for if it does not answer.
    pub elsewhere: Box<[HopAddress]>,
}

impl Peer {
    /// Returns the memory that it needs at least, if its streams and snoop's cache may hold this much.
    pub(crate) fn memory_least(&self, streams: Bytes, snoop_cache: Bytes) -> Bytes {
        let method = match self.tcp {
            TcpTerms::Choose(method) => method,
            TcpTerms::Follow => TcpMethod::Snoop,
        };
        let streams = match self.split {
            SplitTerms::Never => Bytes::ZERO,
            SplitTerms::Choose(_) | SplitTerms::Follow => streams,
        };
        leases::FLOOR + caps::BESIDE + method.memory_most(snoop_cache) + streams
    }

    /// Returns true if these settings can take the place of `former` ones while the peer is connected. The others are
    /// agreed on in the handshake, or shape what exists since then.
    pub(crate) fn continues(&self, former: &Self) -> bool {
        let as_before = Self {
            membership: Membership {
                elsewhere: former.membership.elsewhere.clone(),
                ..self.membership.clone()
            },
            prefixes: former.prefixes.clone(),
            resolver: former.resolver.clone(),
            weight: former.weight,
            ..self.clone()
        };
        as_before == *former
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, public) = (&self.name, &self.public);
        write!(formatter, "Peer {{ name: {name:?}, public: {public}, .. }}")
    }
}
