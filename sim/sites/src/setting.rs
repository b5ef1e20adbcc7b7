//! The setting of a site, and the hosts in it.

use hosts::{
    Config, GuestExits, Host, Membership, MobileTerms, Peer, Role, SitePart, TcpMethod, TcpTerms,
};
use session::PresharedKey;
use units::{BitRate, Duration, Probability};
use wire::address::HopAddress;

use crate::build::{self, private_key};
use crate::{GATEWAY, MOBILE, splitting};

/// Gateways; the first one is the mobile host's home.
pub const NAMES: [&str; 4] = ["mobile", "home", "second", "third"];
/// Number of the home.
pub const HOME: usize = GATEWAY;
/// Port of the flow to the mobile host.
pub const DOWN: u16 = 1;
/// Port of the flow from it.
pub const UP: u16 = 2;

/// What happens to TCP on the hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tcp {
    /// It crosses from end to end, by this method.
    Whole(TcpMethod),
    /// It is split at both ends of the hop, with streams of MTCP between them.
    Split,
}

impl Tcp {
    /// Returns the method for packets of TCP: what is split is left alone otherwise.
    fn on_the_hop(self) -> TcpMethod {
        match self {
            Self::Whole(method) => method,
            Self::Split => TcpMethod::Plain,
        }
    }
}

/// Setting of a site.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Seed of all that is random.
    pub seed: u64,
    /// Rate of each hop.
    pub rate: BitRate,
    /// One-way delay of each hop.
    pub delay: Duration,
    /// Probability of a loss on each hop.
    pub loss: Probability,
    /// One-way delay between two gateways.
    pub wire: Duration,
    /// Most segments of a flow that are on their way, as of a sender of TCP; more than a fifth of a second at the
    /// hop's rate would be dropped at its queue.
    pub window: u64,
    /// Time that a datagram waits at the hop at most; one that would wait longer is lost.
    pub queue: Duration,
    /// True if only the home knows all others: these know it alone, and are told.
    pub is_told: bool,
    /// What the home chooses for TCP on the hop.
    pub tcp: Tcp,
    /// Which flows leave at gateways that are not the home.
    pub exits: GuestExits,
    /// What the mobile host does by itself.
    pub mobile: MobileTerms,
    /// True if the mobile host and its home share a secret, which no other gateway has.
    pub is_secret: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            seed: 1,
            rate: BitRate::from_megabits(20),
            delay: Duration::from_millis(10),
            loss: Probability::NEVER,
            wire: Duration::from_millis(5),
            window: 40,
            queue: Duration::MAX,
            is_told: false,
            tcp: Tcp::Whole(TcpMethod::Arq),
            exits: GuestExits::OfSilentHome,
            mobile: MobileTerms {
                gathers_copies: true,
                ..MobileTerms::default()
            },
            is_secret: false,
        }
    }
}

/// Returns the address of a host on the hop and between gateways.
pub(crate) fn address(host: usize) -> HopAddress {
    HopAddress::Udp(([10, 0, 0, host as u8], 5_000).into())
}

/// Returns the address of the machine that can take the place of a host's.
pub(crate) fn spare(host: usize) -> HopAddress {
    HopAddress::Udp(([10, 0, 1, host as u8], 5_000).into())
}

/// Returns the settings of a host as another one has them.
pub fn peer(of: usize, host: usize) -> Peer {
    let (networks, site): (&[_], _) = match (of, host) {
        (MOBILE, HOME) => (&[("0.0.0.0", 0)], SitePart::Home),
        (MOBILE, _) => (&[("0.0.0.0", 0)], SitePart::Gateway),
        (HOME, MOBILE) => (&[("10.9.0.2", 32)], SitePart::Alone),
        (_, MOBILE) => {
            let home = private_key(NAMES[HOME]).public_key();
            (&[("10.9.0.2", 32)], SitePart::Guest(home))
        }
        _ => (&[], SitePart::Gateway),
    };
    Peer {
        endpoint: (host != MOBILE).then(|| address(host)),
        membership: Membership {
            site,
            ..Membership::default()
        },
        // The gateway chooses.
        tcp: if of == MOBILE {
            TcpTerms::Follow
        } else {
            TcpTerms::Choose(TcpMethod::Arq)
        },
        ..build::peer(NAMES[host], networks)
    }
}

/// Returns a host in this setting whose first peer, the home or the mobile host, has this place if it is given.
pub(crate) fn host(index: usize, setting: &Setting, first: Option<SitePart>) -> Host {
    let is_known = |other: &usize| !setting.is_told || index == HOME || *other == HOME;
    let others = (0..NAMES.len()).filter(|other| *other != index);
    let others = others.filter(is_known);
    let mut peers: Vec<_> = others.map(|other| peer(index, other)).collect();
    let splits = setting.tcp == Tcp::Split && [HOME, MOBILE].contains(&index);
    if index == HOME {
        peers[0].tcp = TcpTerms::Choose(setting.tcp.on_the_hop());
    }
    if splits {
        peers[0].split = splitting::terms(index).1;
    }
    if setting.is_secret && [HOME, MOBILE].contains(&index) {
        peers[0].preshared = Some(PresharedKey::generate(&mut *build::entropy(1, "secret")));
    }
    let is_lone = setting.is_told && index == MOBILE;
    if let Some(site) = first.or(is_lone.then_some(SitePart::Alone)) {
        peers[0].membership.site = site;
    }
    let role = if index == MOBILE {
        Role::Mobile
    } else {
        Role::Gateway
    };
    let config = Config {
        mobile: setting.mobile,
        exits: setting.exits,
        streams: splits.then(|| splitting::terms(index).0),
        split: splits.then(|| splitting::config(index)),
        ..build::config(role, NAMES[index], peers)
    };
    build::host(config, build::entropy(setting.seed, NAMES[index]))
}
