//! A site: several gateways that serve each other's mobile hosts.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::PathBuf;

use hosts::GuestExits;
use ipnet::{IpNet, Ipv4Net};
use serde::Deserialize;
use session::PublicKey;
use toml::Spanned;
use wire::address::HopAddress;

use super::Source;
use super::carrier::{Carrier, Endpoint, Endpoints};
use super::gateway::{GatewayConfig, Invited, Mobile};
use super::mobile::MobileConfig;
use super::split::Tcp;
use super::values::{Key, Name, Network, Remote};
use crate::client::host_name;
use crate::failure::Failure;

/// A gateway of the site, in the configuration of another one or of a mobile host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SiteGateway {
    /// Its name.
    pub(crate) name: Spanned<Name>,
    public_key: Spanned<Key>,
    /// Its addresses; it is looked for at the others if it does not answer at the first one.
    endpoint: Spanned<Endpoints>,
    /// Its address for mobile hosts, if that is another one.
    mobile_endpoint: Option<Spanned<Remote>>,
    pub(crate) preshared_key_file: Option<PathBuf>,
    /// Its own file, if it has one.
    #[serde(skip)]
    file: Option<Source>,
}

impl SiteGateway {
    /// Returns its name.
    pub(crate) fn name(&self) -> &str {
        &self.name.get_ref().0
    }

    /// Returns its public key.
    pub(crate) fn key(&self) -> PublicKey {
        self.public_key.get_ref().0
    }

    /// Returns true if it has a file of its own.
    pub(super) fn is_filed(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the file in which it stands; `main` is the configuration of its host.
    fn source<'a>(&'a self, main: &'a Source) -> &'a Source {
        self.file.as_ref().unwrap_or(main)
    }

    /// Returns its addresses for datagrams, of which there is at least one; the first one is tried first.
    pub(crate) fn addresses(&self, source: &Source) -> Result<Vec<HopAddress>, Failure> {
        addresses_of(&self.endpoint, self.source(source))
    }

    /// Returns its address for mobile hosts, if that is another one.
    pub(crate) fn mobile_address(&self, source: &Source) -> Result<Option<SocketAddr>, Failure> {
        let endpoint = self.mobile_endpoint.as_ref();
        let source = self.source(source);
        let address = |endpoint: &Spanned<Remote>| {
            let address = endpoint.get_ref().text().parse();
            address.map_err(|_| no_address(endpoint.span(), source))
        };
        endpoint.map(address).transpose()
    }
}

/// Returns the addresses of a gateway, of which there is at least one.
fn addresses_of(
    endpoint: &Spanned<Endpoints>,
    source: &Source,
) -> Result<Vec<HopAddress>, Failure> {
    let Endpoints(all) = endpoint.get_ref();
    let address = |endpoint: &Endpoint| endpoint.text()?.parse().ok().map(HopAddress::Udp);
    let addresses: Option<_> = all.iter().map(address).collect();
    addresses.ok_or_else(|| no_address(endpoint.span(), source))
}

fn no_address(at: Range<usize>, source: &Source) -> Failure {
    let what =
        "gateways of a site are known by their addresses; write one like '198.51.100.2:51830'";
    source.wrong(Some(at), what)
}

/// A gateway of the site in a file of its own, in the folder of another one: it has joined, or is invited.
#[derive(Debug)]
pub(crate) struct FiledGateway {
    name: Name,
    content: GatewayFile,
    file: Source,
}

/// The content of such a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GatewayFile {
    endpoint: Spanned<Endpoints>,
    /// Its address for mobile hosts, if that is another one.
    mobile_endpoint: Option<Spanned<Remote>>,
    /// Its key; until it has joined, it has none.
    public_key: Option<Spanned<Key>>,
    /// Its invitation, until it has joined.
    invitation: Option<Invited>,
    /// Its inner addresses with their subnets, which no other gateway gets.
    #[serde(default)]
    addresses: Vec<Network>,
    preshared_key_file: Option<PathBuf>,
}

impl FiledGateway {
    /// Reads a file.
    pub(super) fn load(file: Source) -> Result<Self, Failure> {
        let content: GatewayFile = file.parse()?;
        addresses_of(&content.endpoint, &file)?;
        if content.public_key.is_none() && content.invitation.is_none() {
            let what = "a gateway of the site needs a public key: `lasthop keygen --public FILE` prints it; or remove \
                        this file, and invite the gateway with `lasthop invite --gateway`";
            return Err(file.wrong(None, what));
        }
        Ok(Self {
            name: file.name_of_file()?,
            content,
            file,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name.0
    }

    pub(crate) fn file(&self) -> &Source {
        &self.file
    }

    /// Returns its public key, if it has joined.
    pub(crate) fn key(&self) -> Option<PublicKey> {
        let key = self.content.public_key.as_ref();
        key.map(|key| key.get_ref().0)
    }

    /// Returns its open invitation, if it has one.
    pub(crate) fn invitation(&self) -> Option<Invited> {
        self.content.invitation
    }

    /// Returns its inner addresses with their subnets, as far as they are known.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = IpNet> {
        self.content.addresses.iter().map(|Network(own)| *own)
    }

    /// Returns it as a gateway of the site, if it has joined.
    pub(super) fn admitted(&self) -> Option<SiteGateway> {
        Some(SiteGateway {
            name: Spanned::new(0..0, self.name.clone()),
            public_key: self.content.public_key.clone()?,
            endpoint: self.content.endpoint.clone(),
            mobile_endpoint: self.content.mobile_endpoint.clone(),
            preshared_key_file: self.content.preshared_key_file.clone(),
            file: Some(self.file.clone()),
        })
    }
}

/// Names and keys that belong to one host each.
#[derive(Default)]
struct Known<'a> {
    names: BTreeSet<&'a str>,
    keys: BTreeSet<PublicKey>,
}

impl<'a> Known<'a> {
    /// Adds gateways; refuses one whose name or key is known.
    fn add(&mut self, gateways: &'a [SiteGateway], main: &Source) -> Result<(), Failure> {
        for gateway in gateways {
            let source = gateway.source(main);
            gateway.addresses(source)?;
            gateway.mobile_address(source)?;
            if !self.names.insert(gateway.name()) {
                let what =
                    "there is a host of this name already; give each gateway a name of its own";
                return Err(source.wrong(Some(gateway.name.span()), what));
            }
            if !self.keys.insert(gateway.key()) {
                let what = "another host has this key; `lasthop keygen --public FILE` prints that of a gateway";
                return Err(source.wrong(Some(gateway.public_key.span()), what));
            }
        }
        Ok(())
    }

    /// Adds invitations of gateways; refuses one for a name that another host has, or with a key that is known.
    fn add_invited(&mut self, gateways: &'a [FiledGateway]) -> Result<(), Failure> {
        for gateway in gateways {
            if gateway.key().is_none() && !self.names.insert(gateway.name()) {
                let what =
                    "there is a host of this name already; give each gateway a name of its own";
                return Err(gateway.file.wrong(None, what));
            }
            let key = gateway.invitation().map(|open| open.public_key.0);
            if key.is_some_and(|key| !self.keys.insert(key)) {
                let what = "another host has the key of this invitation; make another one with `lasthop invite`";
                return Err(gateway.file.wrong(None, what));
            }
        }
        Ok(())
    }
}

impl GatewayConfig {
    fn breaks_out(&self) -> bool {
        self.local_breakout
            .as_ref()
            .is_some_and(|given| *given.get_ref())
    }

    /// Returns which flows of mobile hosts that belong to other gateways leave here: replies come here only if they go
    /// to this host's address.
    pub(crate) fn exits(&self) -> GuestExits {
        match self.nat {
            true if self.breaks_out() => GuestExits::ToInternet,
            true => GuestExits::OfSilentHome,
            false if self.follow.is_some() => GuestExits::Untranslated,
            false => GuestExits::None,
        }
    }

    /// Refuses to let connections leave here that would go nowhere.
    fn check_breakout(&self, source: &Source) -> Result<(), Failure> {
        let Some(given) = self.local_breakout.as_ref().filter(|_| self.breaks_out()) else {
            return Ok(());
        };
        let all = IpNet::from(Ipv4Net::default());
        let what = if !self.nat {
            "replies would go to the home of the mobile host; set `nat = true`, or remove this line"
        } else if !self.networks().any(|network| network == all) {
            "connections may go anywhere, and `networks` has only some of it; remove one of the two"
        } else {
            return Ok(());
        };
        Err(source.wrong(Some(given.span()), what))
    }

    /// Refuses gateways and homes that do not fit.
    pub(super) fn check_site(&self, source: &Source) -> Result<(), Failure> {
        let peers = self.mobiles();
        let mut known = Known {
            names: peers
                .clone()
                .map(|peer| peer.name.get_ref().0.as_str())
                .collect(),
            keys: peers.filter_map(Mobile::key).collect(),
        };
        known.add(&self.gateways, source)?;
        known.add_invited(&self.filed_gateways)?;
        if let Some(own) = &self.site_name
            && known.names.contains(own.get_ref().0.as_str())
        {
            let what =
                "another host has this name; give this gateway a name of its own in the site";
            return Err(source.wrong(Some(own.span()), what));
        }
        if self.air.sharing().is_some() {
            self.check_alone(source)?;
        }
        self.check_breakout(source)?;
        self.mobiles()
            .try_for_each(|peer| self.check_home(peer, peer.source(source)))
    }

    /// Refuses other gateways beside a shared air, also those that are only invited.
    fn check_alone(&self, source: &Source) -> Result<(), Failure> {
        let what = "a shared air is for a gateway alone; remove `shared = true`, or [[gateways]]";
        if let Some(gateway) = self.gateways.iter().find(|gateway| !gateway.is_filed()) {
            return Err(source.wrong(Some(gateway.name.span()), what));
        }
        match self.filed_gateways.first() {
            None => Ok(()),
            Some(gateway) => {
                let what = "a shared air is for a gateway alone; remove `shared = true`, or run `lasthop revoke`";
                Err(gateway.file.wrong(None, what))
            }
        }
    }

    /// Returns its own name in its site: the given one, else that of the host, if it is a valid one.
    pub(crate) fn site_name(&self) -> String {
        if let Some(own) = &self.site_name {
            return own.get_ref().0.clone();
        }
        let host = host_name();
        let host = Name::read(host.split('.').next().unwrap_or_default());
        host.map_or_else(|_| "gateway".into(), |Name(name)| name)
    }

    /// Refuses a mobile host in `source` whose home does not fit.
    pub(super) fn check_home(&self, peer: &Mobile, source: &Source) -> Result<(), Failure> {
        let is_known = |home: &Name| self.gateways.iter().any(|its| its.name() == home.0);
        if let Some(home) = peer.home.as_ref().filter(|home| !is_known(home.get_ref())) {
            let what = "this names no other gateway; write its [[gateways]] section, or remove the line if the home of \
                        the mobile host is this gateway";
            return Err(source.wrong(Some(home.span()), what));
        }
        if peer.home.is_some() && peer.tcp != Tcp::Arq {
            let what = "the home of a mobile host chooses `tcp`; remove this line, or `home`";
            return Err(source.wrong(Some(peer.name.span()), what));
        }
        Ok(())
    }

    /// Returns the mobile hosts with their home here.
    pub(crate) fn residents(&self) -> impl Iterator<Item = &Mobile> {
        self.mobiles().filter(|peer| peer.home.is_none())
    }

    /// Returns the key of the home of a mobile host, if that is another gateway.
    pub(crate) fn home_of(&self, mobile: &Mobile) -> Option<PublicKey> {
        let home = mobile.home.as_ref()?.get_ref();
        let mut gateways = self.gateways.iter();
        gateways
            .find(|its| its.name() == home.0)
            .map(SiteGateway::key)
    }
}

impl MobileConfig {
    /// Refuses gateways of its site that do not fit.
    pub(super) fn check_site(&self, source: &Source) -> Result<(), Failure> {
        let Some(first) = self.gateways.first() else {
            return Ok(());
        };
        let mut known = Known {
            names: [self.gateway_name()].into(),
            keys: self.gateway_key(source).into_iter().collect(),
        };
        known.add(&self.gateways, source)?;
        if self.hop.carrier(source)? != Carrier::Udp {
            let what = "the gateways of a site are reached by UDP; remove `bearer = \"ethernet\"`, or this section";
            return Err(source.wrong(Some(first.name.span()), what));
        }
        Ok(())
    }
}
