//! Hosts that a gateway knows, of either kind: its mobile hosts, and the other gateways of its site.

use std::collections::{BTreeMap, BTreeSet};
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

/// Texts of the files in a folder of hosts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Texts {
    /// Those of hosts by the names of the files.
    pub(crate) hosts: BTreeMap<PathBuf, String>,
    /// That of the hosts' former keys.
    pub(crate) former: String,
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
        let table: toml::Table = source.parse()?;
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
        let by_hand = self.gateways.iter().filter(|gateway| !gateway.is_filed());
        let mobiles = self.peers.iter().map(Entry::from);
        mobiles
            .chain(by_hand.map(Entry::from))
            .chain(self.filed_gateways.iter().map(Entry::from))
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
        let open = self.entries().filter_map(|entry| entry.invitation);
        let (over, valid): (Vec<_>, Vec<_>) = open.partition(|open| open.expires <= now);
        let over = over
            .iter()
            .map(|over| (over.public_key.0, Decline::Expired));
        former.extend(over);
        let valid = valid.iter().map(|open| open.public_key.0);
        let keys = self.entries().filter_map(|entry| entry.key);
        let present: BTreeSet<_> = keys.chain(valid).collect();
        former.retain(|(key, _)| !present.contains(key));
        former
    }
}
