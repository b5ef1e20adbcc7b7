//! The configuration of a gateway.

use std::collections::BTreeMap;
use std::net::{Ipv6Addr, SocketAddr};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};

use hosts::SplitTerms;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use scheduler::config::{Discipline, Monitor};
use serde::Deserialize;
use session::PublicKey;
use toml::Spanned;

use super::Source;
use super::caps::Caps;
use super::carrier::Carrier;
use super::dns::{Dns, SearchDomains};
use super::entry::Kind;
use super::follow::Follow;
use super::known::KnownMobiles;
use super::registry::RegistryConfig;
use super::shared::{Hop, Network, Snoop, Tun, state_folder};
use super::site::{FiledGateway, SiteGateway};
use super::split::{Split, SplitTransport, Tcp};
use super::values::{Key, Listen, Name, Remote};
use crate::failure::Failure;
use crate::state::FormerKeys;

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
    /// File of the private key before it. While the file exists, mobile hosts that know only that key may connect, and
    /// learn of the present one.
    pub(super) former_private_key_file: Option<PathBuf>,
    /// True if packets of mobile hosts leave with the address of the gateway (NAT).
    #[serde(default = "yes")]
    pub(crate) nat: bool,
    /// Networks that mobile hosts may reach through the gateway; without NAT their hosts may also begin connections to
    /// mobile hosts.
    #[serde(default = "all_networks")]
    networks: Vec<Network>,
    /// True if connections of mobile hosts that belong to another gateway of the site leave here, if they begin here.
    pub(super) local_breakout: Option<Spanned<bool>>,
    /// Inner addresses that follow mobile hosts of the site.
    pub(crate) follow: Option<Follow>,
    /// DNS servers that answer mobile hosts at the gateway's inner addresses.
    #[serde(default)]
    pub(crate) dns: Dns,
    /// Domains in which mobile hosts search short names.
    #[serde(default)]
    pub(crate) search_domains: SearchDomains,
    /// True if mobile hosts may not reach each other.
    #[serde(default = "yes")]
    pub(crate) isolate: bool,
    #[serde(default = "state_folder")]
    pub(crate) state_dir: PathBuf,
    /// Name or number of the user that the daemon becomes after its start.
    pub(crate) user: Option<String>,
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
    /// Folder of further mobile hosts, a file for each.
    pub(super) peers_folder: Option<PathBuf>,
    /// Its own name in its site.
    pub(super) site_name: Option<Spanned<Name>>,
    /// Folder of further gateways of its site, a file for each.
    pub(super) gateways_folder: Option<PathBuf>,
    /// Where the list of the hosts in these folders is kept, if they are copies.
    registry: Option<RegistryConfig>,
    /// The other gateways of its site; those with files of their own come last.
    #[serde(default)]
    pub(crate) gateways: Vec<SiteGateway>,
    /// Gateways with files of their own: those that have joined, and those that are invited.
    #[serde(skip)]
    pub(crate) filed_gateways: Vec<FiledGateway>,
    /// Addresses of the gateway for datagrams, for invitations.
    #[serde(default)]
    pub(crate) endpoints: Vec<Remote>,
    /// The mobile hosts without files of their own.
    #[serde(default)]
    pub(crate) peers: Vec<Mobile>,
    /// Those with files of their own, by name.
    #[serde(skip)]
    pub(super) filed_peers: BTreeMap<String, Mobile>,
    /// What belongs to one of all these alone.
    #[serde(skip)]
    pub(super) known: KnownMobiles,
    /// Keys that hosts with files of their own had.
    #[serde(skip)]
    pub(super) former: BTreeMap<Kind, FormerKeys>,
    /// Its text, without those of the files.
    #[serde(skip)]
    pub(super) main: String,
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
    /// Its name; in a file of its own, that of the file.
    #[serde(default = "no_name")]
    pub(crate) name: Spanned<Name>,
    /// Its key; until an invited host has joined, it has none.
    public_key: Option<Spanned<Key>>,
    /// Its invitation, until a host has joined with it.
    pub(crate) invitation: Option<Invited>,
    pub(crate) preshared_key_file: Option<PathBuf>,
    /// Inner addresses that it may use.
    pub(crate) addresses: Spanned<Vec<Network>>,
    /// Name of the gateway that is its home, if that is not this one.
    pub(crate) home: Option<Spanned<Name>>,
    /// Handling of its TCP on the hop.
    #[serde(default)]
    pub(crate) tcp: Tcp,
    split_transport: Option<Spanned<SplitTransport>>,
    /// Its own limits, which override those for all.
    #[serde(default)]
    pub(crate) caps: Caps,
    /// Weight on a shared air.
    weight: Option<Spanned<u16>>,
    /// Its own file, if it has one.
    #[serde(skip)]
    file: Option<Source>,
}

/// An invitation, as the gateway keeps it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Invited {
    /// Key of the invitation.
    pub(crate) public_key: Key,
    /// Time from which it is not accepted any more, in seconds since 1970-01-01 UTC.
    pub(crate) expires: u32,
}

impl GatewayConfig {
    /// Reads the configuration in `source`.
    pub(crate) fn load(source: &Source) -> Result<Self, Failure> {
        let mut config: Self = source.parse()?;
        config.main = source.text().into();
        config.load_folders(source)?;
        config.tun.check(source)?;
        config.air.check(source)?;
        config.check_listen(source)?;
        if let Some(registry) = &config.registry {
            registry.check(source)?;
        }
        config.check_keys(source)?;
        if config.split.lean {
            let what = "`lean` is for mobile hosts, whose gateway keeps the timers; remove it here";
            return Err(source.wrong(None, what));
        }
        config.check_site(source)?;
        if let Some(follow) = &config.follow {
            follow.check(config.nat, source)?;
        }
        let mut known = KnownMobiles::default();
        for peer in config.mobiles() {
            let source = peer.source(source);
            known.add(peer, source)?;
            config.check_mobile(peer, source)?;
        }
        config.known = known;
        Ok(config)
    }

    /// Returns all mobile hosts; those with files of their own come last.
    pub(crate) fn mobiles(&self) -> impl Iterator<Item = &Mobile> + Clone {
        self.peers.iter().chain(self.filed_peers.values())
    }

    /// Refuses settings of a mobile host in `source` that do not fit, whatever the other hosts have.
    pub(super) fn check_mobile(&self, peer: &Mobile, source: &Source) -> Result<(), Failure> {
        peer.check_key(source)?;
        if peer.caps.total().is_some() {
            let what = "`total` is the memory of the whole gateway; set it in [caps]";
            return Err(source.wrong(Some(peer.name.span()), what));
        }
        self.air.check_weight(peer, source)?;
        peer.check_transport(source)?;
        if peer.addresses.get_ref().is_empty() {
            let what = "a mobile needs an inner address; write one like [\"10.73.0.2\"]";
            return Err(source.wrong(Some(peer.addresses.span()), what));
        }
        Ok(())
    }

    /// Adds the hosts that have files of their own.
    fn load_folders(&mut self, source: &Source) -> Result<(), Failure> {
        let folders = Kind::ALL.map(|kind| (kind, self.folder(kind).map(Path::to_path_buf)));
        for (kind, folder) in folders {
            let Some(folder) = folder else {
                continue;
            };
            let files = source.files_in(kind, &folder)?.into_iter();
            match kind {
                Kind::Mobile => {
                    let mobiles = files.map(Mobile::load);
                    let named = |mobile: Mobile| (mobile.name.get_ref().0.clone(), mobile);
                    let named = mobiles.map(|mobile| mobile.map(named));
                    self.filed_peers = named.collect::<Result<_, _>>()?;
                }
                Kind::Gateway => {
                    let gateways = files.map(FiledGateway::load);
                    self.filed_gateways = gateways.collect::<Result<_, _>>()?;
                }
            }
            self.former.insert(kind, source.former_keys(kind, &folder));
        }
        let admitted = self
            .filed_gateways
            .iter()
            .filter_map(FiledGateway::admitted);
        self.gateways.extend(admitted);
        Ok(())
    }

    /// Returns the UDP address on which it receives from mobile hosts.
    pub(crate) fn listen(&self) -> SocketAddr {
        let usual = (Ipv6Addr::UNSPECIFIED, crate::daemon::PORT).into();
        self.listen
            .as_ref()
            .map_or(usual, |given| given.get_ref().0)
    }

    /// Returns the networks that mobile hosts may reach through the gateway.
    pub(crate) fn networks(&self) -> impl Iterator<Item = IpNet> {
        self.networks.iter().map(|Network(network)| network.trunc())
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
    /// Reads a mobile host in a file of its own.
    pub(super) fn load(source: Source) -> Result<Self, Failure> {
        let mobile: Self = source.parse()?;
        if mobile.name != no_name() {
            let what = "the name of this peer is that of its file; remove this line, or run `lasthop rename`";
            return Err(source.wrong(Some(mobile.name.span()), what));
        }
        Ok(Self {
            name: Spanned::new(0..0, source.name_of_file()?),
            file: Some(source),
            ..mobile
        })
    }

    /// Returns the file in which it stands; `main` is the configuration of its gateway.
    pub(crate) fn source<'a>(&'a self, main: &'a Source) -> &'a Source {
        self.file.as_ref().unwrap_or(main)
    }

    /// Returns its own file, if it has one.
    pub(crate) fn file(&self) -> Option<&Source> {
        self.file.as_ref()
    }

    /// Returns its public key, if a host has joined.
    pub(crate) fn key(&self) -> Option<PublicKey> {
        self.public_key.as_ref().map(|key| key.get_ref().0)
    }

    /// Returns its public key, and that of its open invitation.
    pub(super) fn keys(&self) -> impl Iterator<Item = PublicKey> {
        let invited = self.invitation.map(|invited| invited.public_key.0);
        self.key().into_iter().chain(invited)
    }

    /// Returns the place of its public key.
    pub(crate) fn place_of_key(&self) -> Option<Range<usize>> {
        self.public_key.as_ref().map(Spanned::span)
    }

    /// Refuses a mobile host without a name, or that can never connect.
    fn check_key(&self, source: &Source) -> Result<(), Failure> {
        if self.name == no_name() {
            let what = "a peer needs a name; write one like `name = \"tablet7\"`";
            return Err(source.wrong(Some(self.addresses.span()), what));
        }
        let what = match (&self.public_key, &self.invitation, &self.file) {
            (None, None, _) => {
                "a peer needs a public key: `lasthop keygen --public FILE` prints that of a mobile host"
            }
            (_, Some(_), None) => {
                "invitations stand in files of their own; make one with `lasthop invite`"
            }
            _ => return Ok(()),
        };
        Err(source.wrong(Some(self.name.span()), what))
    }

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

fn no_name() -> Spanned<Name> {
    Spanned::new(0..0, Name(String::new()))
}

fn name() -> Name {
    Name("gateway".into())
}

fn all_networks() -> Vec<Network> {
    let all: [IpNet; 2] = [Ipv4Net::default().into(), Ipv6Net::default().into()];
    all.map(Network).into()
}

fn yes() -> bool {
    true
}
