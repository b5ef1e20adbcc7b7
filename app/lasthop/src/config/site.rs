//! A site: several gateways that serve each other's mobile hosts.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;
use session::PublicKey;
use toml::Spanned;
use wire::address::HopAddress;

use super::Source;
use super::carrier::Carrier;
use super::gateway::{GatewayConfig, Mobile};
use super::mobile::MobileConfig;
use super::split::Tcp;
use super::values::{Key, Name, Remote};
use crate::failure::Failure;

/// A gateway of the site, in the configuration of another one or of a mobile host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SiteGateway {
    /// Its name.
    pub(crate) name: Spanned<Name>,
    public_key: Spanned<Key>,
    endpoint: Spanned<Remote>,
    /// Its address for mobile hosts, if that is another one.
    mobile_endpoint: Option<Spanned<Remote>>,
    pub(crate) preshared_key_file: Option<PathBuf>,
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

    /// Returns its address for datagrams.
    pub(crate) fn address(&self, source: &Source) -> Result<HopAddress, Failure> {
        address(&self.endpoint, source).map(HopAddress::Udp)
    }

    /// Returns its address for mobile hosts, if that is another one.
    pub(crate) fn mobile_address(&self, source: &Source) -> Result<Option<SocketAddr>, Failure> {
        let endpoint = self.mobile_endpoint.as_ref();
        endpoint
            .map(|endpoint| address(endpoint, source))
            .transpose()
    }
}

fn address(endpoint: &Spanned<Remote>, source: &Source) -> Result<SocketAddr, Failure> {
    endpoint.get_ref().text().parse().map_err(|_| {
        let what =
            "gateways of a site are known by their addresses; write one like '198.51.100.2:51830'";
        source.wrong(Some(endpoint.span()), what)
    })
}

/// Names and keys that belong to one host each.
#[derive(Default)]
struct Known<'a> {
    names: BTreeSet<&'a str>,
    keys: BTreeSet<PublicKey>,
}

impl<'a> Known<'a> {
    /// Adds gateways; refuses one whose name or key is known.
    fn add(&mut self, gateways: &'a [SiteGateway], source: &Source) -> Result<(), Failure> {
        for gateway in gateways {
            gateway.address(source)?;
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
}

impl GatewayConfig {
    /// Returns true if this gateway is one of several.
    pub(crate) fn is_of_site(&self) -> bool {
        !self.gateways.is_empty()
    }

    /// Refuses gateways and homes that do not fit.
    pub(super) fn check_site(&self, source: &Source) -> Result<(), Failure> {
        let peers = self.peers.iter();
        let mut known = Known {
            names: peers
                .clone()
                .map(|peer| peer.name.get_ref().0.as_str())
                .collect(),
            keys: peers.filter_map(Mobile::key).collect(),
        };
        known.add(&self.gateways, source)?;
        if self.is_of_site() && self.air.sharing().is_some() {
            let what =
                "a shared air is for a gateway alone; remove `shared = true`, or [[gateways]]";
            return Err(source.wrong(Some(self.gateways[0].name.span()), what));
        }
        self.peers
            .iter()
            .try_for_each(|peer| self.check_home(peer, peer.source(source)))
    }

    fn check_home(&self, peer: &Mobile, source: &Source) -> Result<(), Failure> {
        let is_known = |home: &Name| self.gateways.iter().any(|its| its.name() == home.0);
        if let Some(home) = peer.home.as_ref().filter(|home| !is_known(home.get_ref())) {
            let what = "this names no other gateway; write its [[gateways]] section, or remove the line if the home of \
                        the mobile host is this gateway";
            return Err(source.wrong(Some(home.span()), what));
        }
        if self.is_of_site() && peer.tcp != Tcp::Arq {
            let what =
                "in a site with several gateways `tcp` is \"arq\": other states do not move yet";
            return Err(source.wrong(Some(peer.name.span()), what));
        }
        Ok(())
    }

    /// Returns the mobile hosts with their home here.
    pub(crate) fn residents(&self) -> impl Iterator<Item = &Mobile> {
        self.peers.iter().filter(|peer| peer.home.is_none())
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
