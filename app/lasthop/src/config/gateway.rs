//! The configuration of a gateway.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use hosts::SplitTerms;
use ipnet::IpNet;
use scheduler::config::{Discipline, Monitor};
use serde::Deserialize;
use session::PublicKey;
use toml::Spanned;

use super::Source;
use super::caps::Caps;
use super::carrier::Carrier;
use super::shared::{Hop, Network, Snoop, Tun, state_folder};
use super::split::{Split, SplitTransport, Tcp};
use super::values::{Key, Listen, Name};
use crate::failure::Failure;

/// Configuration of a gateway.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GatewayConfig {
    /// Name of the instance, for its socket and rules.
    #[serde(default = "name")]
    pub(crate) name: Name,
    /// Address on which it receives from mobile hosts.
    listen: Option<Spanned<Listen>>,
    /// File of its private key.
    pub(crate) private_key_file: PathBuf,
    /// True if packets of mobile hosts leave with the address of the gateway (NAT).
    #[serde(default = "yes")]
    pub(crate) nat: bool,
    #[serde(default = "state_folder")]
    pub(crate) state_dir: PathBuf,
    pub(crate) tun: Tun,
    #[serde(default)]
    pub(crate) hop: Hop,
    #[serde(default)]
    pub(crate) air: Air,
    #[serde(default)]
    pub(crate) snoop: Snoop,
    #[serde(default)]
    pub(crate) split: Split,
    /// Limits of each mobile host.
    #[serde(default)]
    pub(crate) caps: Caps,
    /// The mobile hosts.
    #[serde(default)]
    pub(crate) peers: Vec<Mobile>,
}

/// The air between gateway and mobile hosts.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Air {
    /// True if all mobile hosts share one air.
    shared: bool,
    /// Scheduling discipline of a shared air.
    discipline: Option<Spanned<Discipline>>,
    /// Detection of fades on a shared air.
    monitor: Option<Spanned<Monitor>>,
}

impl Air {
    /// Returns the configuration of the scheduler, if the air is shared.
    pub(crate) fn sharing(&self) -> Option<scheduler::Config> {
        let usual = scheduler::Config::default();
        let discipline = self.discipline.as_ref().map(Spanned::get_ref);
        let monitor = self.monitor.as_ref().map(Spanned::get_ref);
        self.shared.then(|| scheduler::Config {
            discipline: discipline.copied().unwrap_or(usual.discipline),
            monitor: monitor.copied().unwrap_or(usual.monitor),
        })
    }

    /// Refuses settings that are only for simulations.
    fn check(&self, source: &Source) -> Result<(), Failure> {
        let persists = |given: &&Spanned<Discipline>| *given.get_ref() == Discipline::RoundRobin;
        if let Some(given) = self.discipline.as_ref().filter(persists) {
            let what = "it needs a link layer that sends one frame at a time; \
                        use \"round-robin-deferring\" or \"csdp-round-robin\"";
            return Err(source.wrong(Some(given.span()), what));
        }
        let Some(given) = &self.monitor else {
            return Ok(());
        };
        if *given.get_ref() == Monitor::Perfect {
            let what =
                "only a simulated channel tells its state; use `acknowledgements` or `probing`";
            return Err(source.wrong(Some(given.span()), what));
        }
        let config = scheduler::Config {
            monitor: *given.get_ref(),
            ..scheduler::Config::default()
        };
        let wrong = |error| source.wrong(Some(given.span()), error);
        config.check().map_err(wrong)
    }
}

impl Air {
    /// Refuses a weight without effect.
    fn check_weight(&self, mobile: &Mobile, source: &Source) -> Result<(), Failure> {
        let Some(weight) = &mobile.weight else {
            return Ok(());
        };
        let discipline = self.sharing().map(|sharing| sharing.discipline);
        let what = match discipline {
            _ if *weight.get_ref() == 1 => return Ok(()),
            _ if !WEIGHTS.contains(weight.get_ref()) => {
                "a weight lies between 1 and 1000; usual: 1, and 2 gets twice as much"
            }
            None => {
                "a weight is for mobile hosts on one air; set `shared = true` in `[air]`, or remove it"
            }
            Some(
                Discipline::Airtime | Discipline::CsdpRoundRobin | Discipline::RoundRobinDeferring,
            ) => return Ok(()),
            Some(_) => {
                "this discipline gives no shares; use \"airtime\", \"csdp-round-robin\" or \
                 \"round-robin-deferring\", or remove the weight"
            }
        };
        Err(source.wrong(Some(weight.span()), what))
    }
}

/// Permitted weights of a mobile host.
const WEIGHTS: RangeInclusive<u16> = 1..=1_000;

/// A mobile host in the configuration of its gateway.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mobile {
    pub(crate) name: Spanned<Name>,
    pub(crate) public_key: Spanned<Key>,
    pub(crate) preshared_key_file: Option<PathBuf>,
    /// Inner addresses that it may use.
    pub(crate) addresses: Spanned<Vec<Network>>,
    /// Handling of its TCP on the hop.
    #[serde(default)]
    pub(crate) tcp: Tcp,
    split_transport: Option<Spanned<SplitTransport>>,
    /// Its own limits, which override those for all.
    #[serde(default)]
    pub(crate) caps: Caps,
    /// Weight on a shared air.
    weight: Option<Spanned<u16>>,
}

impl GatewayConfig {
    /// Reads the configuration in `source`.
    pub(crate) fn load(source: &Source) -> Result<Self, Failure> {
        let config: Self = source.parse()?;
        config.tun.check(source)?;
        config.air.check(source)?;
        config.check_listen(source)?;
        if config.split.lean {
            let what = "`lean` is for mobile hosts, whose gateway keeps the timers; remove it here";
            return Err(source.wrong(None, what));
        }
        let mut known = KnownMobiles::default();
        for peer in &config.peers {
            known.add(peer, source)?;
            if peer.caps.total().is_some() {
                let what = "`total` is the memory of the whole gateway; set it in [caps]";
                return Err(source.wrong(Some(peer.name.span()), what));
            }
            config.air.check_weight(peer, source)?;
            peer.check_transport(source)?;
            if peer.addresses.get_ref().is_empty() {
                let what = "a mobile needs an inner address; write one like [\"10.73.0.2\"]";
                return Err(source.wrong(Some(peer.addresses.span()), what));
            }
        }
        Ok(config)
    }
}

impl GatewayConfig {
    /// Returns the UDP address on which it receives from mobile hosts.
    pub(crate) fn listen(&self) -> SocketAddr {
        let usual = (Ipv6Addr::UNSPECIFIED, crate::daemon::PORT).into();
        self.listen
            .as_ref()
            .map_or(usual, |given| given.get_ref().0)
    }

    /// Refuses a port for a bearer without ports.
    fn check_listen(&self, source: &Source) -> Result<(), Failure> {
        match (self.hop.carrier(source)?, &self.listen) {
            (Carrier::Udp, _) | (Carrier::Ethernet { .. }, None) => Ok(()),
            (Carrier::Ethernet { .. }, Some(given)) => {
                let what =
                    "by Ethernet it listens at its interface and at no port; remove this line";
                Err(source.wrong(Some(given.span()), what))
            }
        }
    }
}

impl Mobile {
    /// Returns the transport of its split TCP across the hop.
    pub(crate) fn transport(&self) -> SplitTransport {
        let given = self.split_transport.as_ref().map(Spanned::get_ref);
        given.copied().unwrap_or_default()
    }

    /// Returns the streams that it may have across the hop.
    pub(crate) fn streams(&self) -> SplitTerms {
        let profile = self.transport().profile();
        match profile.filter(|_| self.tcp.scope().is_some()) {
            Some(profile) => SplitTerms::Choose(profile),
            None => SplitTerms::Never,
        }
    }

    /// Refuses settings that leave `auto` no choice.
    fn check_transport(&self, source: &Source) -> Result<(), Failure> {
        match &self.split_transport {
            Some(given)
                if self.tcp == Tcp::Auto && self.transport() == SplitTransport::KernelTcp =>
            {
                let what = "`tcp = \"auto\"` chooses between the link repair and MTCP; \
                            use \"mtcp-wide\" or \"mtcp\", or remove this line";
                Err(source.wrong(Some(given.span()), what))
            }
            _ => Ok(()),
        }
    }

    /// Returns its weight on a shared air.
    pub(crate) fn weight(&self) -> u16 {
        self.weight.as_ref().map_or(1, |weight| *weight.get_ref())
    }

    /// Returns the inner addresses that it may use.
    pub(crate) fn networks(&self) -> impl Iterator<Item = IpNet> {
        self.addresses
            .get_ref()
            .iter()
            .map(|Network(network)| network.trunc())
    }
}

/// Mobile hosts by what belongs to one of them alone, with the name of each.
#[derive(Default)]
struct KnownMobiles<'a> {
    names: BTreeSet<&'a str>,
    keys: BTreeMap<PublicKey, &'a str>,
    networks: BTreeMap<IpNet, &'a str>,
}

impl<'a> KnownMobiles<'a> {
    /// Adds a mobile host; refuses one that has a name, key or address in common with another.
    fn add(&mut self, mobile: &'a Mobile, source: &Source) -> Result<(), Failure> {
        let Name(name) = mobile.name.get_ref();
        if !self.names.insert(name) {
            let what =
                format!("there is a peer named '{name}' already; give this one another name");
            return Err(source.wrong(Some(mobile.name.span()), what));
        }
        let key = mobile.public_key.get_ref().0;
        if let Some(name) = self.keys.insert(key, name) {
            let what =
                format!("peer '{name}' has this key too; each mobile needs a key of its own");
            return Err(source.wrong(Some(mobile.public_key.span()), what));
        }
        for network in mobile.networks() {
            let other = self.networks.insert(network, name);
            if let Some(other) = other.filter(|other| other != name) {
                let what =
                    format!("peer '{other}' has {network} too; an inner address belongs to one");
                return Err(source.wrong(Some(mobile.addresses.span()), what));
            }
        }
        Ok(())
    }
}

fn name() -> Name {
    Name("gateway".into())
}

fn yes() -> bool {
    true
}
