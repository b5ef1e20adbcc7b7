//! What a host is made of.

use std::net::IpAddr;

use session::{PresharedKey, PrivateKey, PublicKey};
use units::{BitRate, Bytes};
use wire::address::HopAddress;

use crate::{BearerMtu, Caps, SplitTerms, StreamLimits, TcpTerms};

/// Which end of the hop a host stands at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It begins: it knows where its gateway is.
    Mobile,
    /// It waits for its mobiles.
    Gateway,
}

/// A host. It holds a secret and so has no `Debug`.
#[derive(Clone)]
pub struct Config {
    /// Which end.
    pub role: Role,
    /// This host's key.
    pub key: PrivateKey,
    /// Whom it speaks to.
    pub peers: Vec<Peer>,
    /// How long the packets of the bearer are at first, and may become: of IP, or the payload of a link's frames.
    pub bearer_mtu: BearerMtu,
    /// The rate of the hop from here, if it is not to be measured.
    pub rate: Option<BitRate>,
    /// How peers share one air; without it each is taken to have its own.
    pub shared_air: Option<scheduler::Config>,
    /// What the snoop protocol may keep for each peer, where TCP goes by it.
    pub snoop_cache: Bytes,
    /// What streams of each peer may take, where TCP is split; nothing where this host makes none.
    pub streams: Option<StreamLimits>,
    /// How TCP is split, where it is.
    pub split: Option<split::Config>,
}

/// A peer. It may hold a secret and so has no `Debug`.
#[derive(Clone)]
pub struct Peer {
    /// What the operator calls it.
    pub name: String,
    /// Who it is.
    pub public: PublicKey,
    /// What both share beside, if anything.
    pub preshared: Option<PresharedKey>,
    /// Where it is, if that is known: a mobile must know of its gateway.
    pub endpoint: Option<HopAddress>,
    /// The inner addresses that are its own: packets to them go to it, and it may send from no others.
    /// Each is an address and a prefix length in bits.
    pub prefixes: Vec<(IpAddr, u8)>,
    /// How TCP crosses the hop to it.
    pub tcp: TcpTerms,
    /// Whether streams cross the hop, where TCP is split.
    pub split: SplitTerms,
    /// What it may take of this host.
    pub caps: Caps,
    /// Its weight among those who share an air: by twice the weight it gets twice the share, where shares are given.
    pub weight: u16,
}
