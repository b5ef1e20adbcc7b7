//! Hosts that a gateway knows, of either kind: its mobile hosts, and the other gateways of its site.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use hosts::Decline;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use session::PublicKey;

use super::Source;
use super::gateway::{GatewayConfig, Invited, Mobile};
use super::site::{FiledGateway, SiteGateway};
use crate::failure::Failure;
use crate::state::FormerKeys;

/// Kind of a host that a gateway knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// A mobile host.
    Mobile,
    /// Another gateway of its site.
    Gateway,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::Mobile, Self::Gateway];

    /// Returns the option of a gateway that names the folder with files of such hosts.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::Mobile => "peers_folder",
            Self::Gateway => "gateways_folder",
        }
    }
}

/// Texts of the files in a folder of hosts: of all, or of those that have changed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Texts {
    /// Those of hosts by the names of the files.
    pub(crate) hosts: BTreeMap<PathBuf, String>,
    /// The names of files that are there no more.
    #[serde(default)]
    pub(crate) gone: BTreeSet<PathBuf>,
    /// That of the hosts' former keys.
    pub(crate) former: String,
}

impl Texts {
    /// Takes changes.
    pub(super) fn change(&mut self, changed: &Self) {
        self.hosts.retain(|name, _| !changed.gone.contains(name));
        self.hosts.extend(changed.hosts.clone());
        self.former.clone_from(&changed.former);
    }
}

/// A host that a gateway knows.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    pub(crate) kind: Kind,
    pub(crate) name: &'a str,
    /// Its own file, if it has one.
    pub(crate) file: Option<&'a Source>,
    /// Its key, if it has joined.
    pub(crate) key: Option<PublicKey>,
    /// Its open invitation, if it has one.
    pub(crate) invitation: Option<Invited>,
    /// Inner addresses of a mobile host, or those of a gateway with their subnets, as far as they are known.
    pub(crate) networks: Vec<IpNet>,
}

impl<'a> From<&'a Mobile> for Entry<'a> {
    fn from(mobile: &'a Mobile) -> Self {
        Self {
            kind: Kind::Mobile,
            name: &mobile.name.get_ref().0,
            file: mobile.file(),
            key: mobile.key(),
            invitation: mobile.invitation,
            networks: mobile.networks().collect(),
        }
    }
}

impl<'a> From<&'a FiledGateway> for Entry<'a> {
    fn from(gateway: &'a FiledGateway) -> Self {
        Self {
            kind: Kind::Gateway,
            name: gateway.name(),
            file: Some(gateway.file()),
            key: gateway.key(),
            invitation: gateway.invitation(),
            networks: gateway.addresses().collect(),
        }
    }
}

impl<'a> From<&'a SiteGateway> for Entry<'a> {
    fn from(gateway: &'a SiteGateway) -> Self {
        Self {
            kind: Kind::Gateway,
            name: gateway.name(),
            file: None,
            key: Some(gateway.key()),
            invitation: None,
            networks: Vec::new(),
        }
    }
}

impl GatewayConfig {
    /// Returns the folders of hosts that the configuration in `source` names.
    pub(crate) fn folders_in(source: &Source) -> Result<BTreeMap<Kind, PathBuf>, Failure> {
        let table = source.top()?;
        let folder = |kind: Kind| {
            let folder = table.get(kind.option()).and_then(toml::Value::as_str)?;
            Some((kind, source.file(Path::new(folder))))
        };
        Ok(Kind::ALL.into_iter().filter_map(folder).collect())
    }

    /// Returns the name of the folder of hosts of one kind, if it has one.
    pub(crate) fn folder(&self, kind: Kind) -> Option<&Path> {
        let folder = match kind {
            Kind::Mobile => &self.peers_folder,
            Kind::Gateway => &self.gateways_folder,
        };
        folder.as_deref()
    }

    /// Returns all hosts that it knows or has invited: first the mobile hosts.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.mobiles()
            .map(Entry::from)
            .chain(self.gateway_entries())
    }

    /// Returns those of them that are gateways.
    fn gateway_entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let by_hand = self.gateways.iter().filter(|gateway| !gateway.is_filed());
        by_hand
            .map(Entry::from)
            .chain(self.filed_gateways.iter().map(Entry::from))
    }

    /// Returns the host of this name.
    pub(crate) fn entry_named(&self, name: &str) -> Option<Entry<'_>> {
        let mut by_hand = self.peers.iter();
        let mobile = self.filed_peers.get(name);
        let mobile = mobile.or_else(|| by_hand.find(|mobile| mobile.name.get_ref().0 == name));
        let mut gateways = self.gateway_entries();
        mobile
            .map(Entry::from)
            .or_else(|| gateways.find(|entry| entry.name == name))
    }

    /// Returns the host that has this key, or an invitation with it.
    pub(crate) fn entry_with(&self, key: &PublicKey) -> Option<Entry<'_>> {
        let is_it = |entry: &Entry<'_>| {
            let invited = entry.invitation.map(|invited| invited.public_key.0);
            entry.key == Some(*key) || invited == Some(*key)
        };
        match self.known.with_key(key) {
            Some(name) => self.entry_named(name),
            None => self.gateway_entries().find(is_it),
        }
    }

    /// Returns true if an inner address belongs to a mobile host.
    pub(crate) fn has_address(&self, address: IpAddr) -> bool {
        self.known.has_address(address)
    }

    /// Returns the texts of the files of its hosts, by the kind of these.
    pub(crate) fn texts(&self) -> BTreeMap<Kind, Texts> {
        let texts = |kind| {
            let mut texts = Texts::default();
            let entries = self.entries().filter(|entry| entry.kind == kind);
            for file in entries.filter_map(|entry| entry.file) {
                let name = file.path().file_name().unwrap_or_default();
                texts.hosts.insert(name.into(), file.text().into());
            }
            let former = self.former.get(&kind);
            texts.former = former.map_or_else(String::new, |former| former.text().into());
            (kind, texts)
        };
        Kind::ALL.map(texts).into()
    }

    /// Returns the keys that its hosts of one kind had.
    pub(crate) fn former_of(&mut self, kind: Kind) -> &mut FormerKeys {
        self.former.entry(kind).or_default()
    }

    /// Returns the keys that its hosts had, and why they count no more at this time, in seconds since 1970-01-01 UTC.
    pub(crate) fn former_keys(&self, now: u32) -> Vec<(PublicKey, Decline)> {
        let former = self.former.values();
        let mut former: Vec<_> = former.flat_map(|former| former.at(now)).collect();
        let gateways = self.filed_gateways.iter();
        let invited = gateways.filter_map(FiledGateway::invitation);
        let open = self.mobiles().filter_map(|mobile| mobile.invitation);
        let over = open.chain(invited).filter(|open| open.expires <= now);
        former.extend(over.map(|over| (over.public_key.0, Decline::Expired)));
        let counts = |key: &PublicKey| {
            self.entry_with(key).is_some_and(|entry| {
                let open = entry.invitation.filter(|open| open.expires > now);
                entry.key == Some(*key) || open.is_some_and(|open| open.public_key.0 == *key)
            })
        };
        former.retain(|(key, _)| !counts(key));
        former
    }
}
