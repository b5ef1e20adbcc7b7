//! The mobile hosts of a gateway that have files of their own.

use std::collections::BTreeSet;
use std::fs::File;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use hosts::Decline;
use ipnet::IpNet;
use runtime::KeyClaim;
use runtime::helper::Claimed;
use session::PublicKey;

use super::files::{create_folder, lock, move_to, remove, replace};
use super::former::FormerKeys;
use crate::config::gateway::{GatewayConfig, Mobile};
use crate::config::values::Name;
use crate::config::{PEER_ENDING, Source};
use crate::daemon::unix_seconds;
use crate::failure::Failure;

/// First line of a file.
const HEAD: &str =
    "# A mobile host of this gateway; `lasthop invite`, `rename` and `revoke` write this file.\n";
/// File that is locked by those who change the folder.
const LOCK: &str = "lock";
/// Most addresses of a subnet that are tried for a new mobile host.
const TRIES: u32 = 1 << 20;

/// The configuration of a gateway with a folder of mobile hosts, to be changed.
pub(crate) struct Mobiles {
    pub(crate) config: GatewayConfig,
    pub(crate) source: Source,
    folder: PathBuf,
    former: FormerKeys,
    /// Held while this exists, so that nobody else changes the folder.
    _lock: File,
}

impl Mobiles {
    /// Reads the configuration of a gateway, after other changes of its folder are complete.
    pub(crate) fn load(path: &Path) -> Result<Self, Failure> {
        let source = Source::read(path)?;
        let Some(folder) = GatewayConfig::peers_folder(&source)? else {
            let what = "this gateway has no folder for invited mobile hosts; \
                        add `peers_folder = \"peers\"`, and restart it";
            return Err(source.wrong(None, what));
        };
        create_folder(&folder)?;
        let lock = lock(&folder.join(LOCK))?;
        let config = GatewayConfig::load(&source)?;
        let former = FormerKeys::read(&folder);
        Ok(Self {
            config,
            former,
            source,
            folder,
            _lock: lock,
        })
    }

    /// Returns the mobile host of this name.
    pub(crate) fn find(&self, name: &str) -> Option<&Mobile> {
        let mut peers = self.config.peers.iter();
        peers.find(|mobile| mobile.name.get_ref().0 == name)
    }

    /// Returns the mobile host of this name, if it has a file of its own.
    fn of_file(&self, name: &str) -> Result<&Mobile, Failure> {
        let Some(mobile) = self.find(name) else {
            return Err(Failure::setting(format!(
                "there is no mobile host '{name}' here; `lasthop peers` lists them"
            )));
        };
        if mobile.file().is_none() {
            let place = self.source.path().display();
            return Err(Failure::setting(format!(
                "'{name}' stands in {place}; change it there, and run `lasthop reload`"
            )));
        }
        Ok(mobile)
    }

    /// Stores an invitation for a mobile host of this name: a new one, or one that is known and keeps its key until a
    /// host joins. Returns its inner addresses with the lengths of their subnets.
    pub(crate) fn invite(
        &mut self,
        name: &str,
        key: PublicKey,
        expires: u32,
        settings: &toml::Table,
    ) -> Result<Vec<(IpAddr, u8)>, Failure> {
        Name::read(name).map_err(Failure::setting)?;
        let mut table = match self.find(name) {
            Some(_) => self.of_file(name)?.source(&self.source).parse()?,
            None => self.new_mobile()?,
        };
        let former = self.find(name).and_then(|known| known.invitation);
        let former = former.map(|open| open.public_key.0);
        table.extend(settings.clone());
        let mut invitation = toml::Table::new();
        invitation.insert("public_key".into(), key.to_string().into());
        invitation.insert("expires".into(), i64::from(expires).into());
        table.insert("invitation".into(), invitation.into());
        self.forget(former, Decline::Replaced)?;
        self.write(name, &table)?;
        let own: Vec<_> = self.config.tun.own().collect();
        let length = |address: IpAddr| {
            let mut subnets = own.iter().filter(|subnet| subnet.contains(&address));
            let host = IpNet::from(address).prefix_len();
            (address, subnets.next().map_or(host, IpNet::prefix_len))
        };
        let addresses = self.of_file(name)?.networks();
        Ok(addresses.map(|network| length(network.addr())).collect())
    }

    fn new_mobile(&self) -> Result<toml::Table, Failure> {
        let mut table = toml::Table::new();
        let addresses = self.free_addresses()?;
        let addresses = addresses.iter().map(|address| address.to_string().into());
        table.insert("addresses".into(), toml::Value::Array(addresses.collect()));
        Ok(table)
    }

    /// Returns a free address of each inner subnet of the gateway.
    fn free_addresses(&self) -> Result<Vec<IpAddr>, Failure> {
        let own: Vec<_> = self.config.tun.own().collect();
        let mut taken: BTreeSet<IpAddr> = own.iter().map(IpNet::addr).collect();
        let networks = self.config.peers.iter().flat_map(Mobile::networks);
        let (hosts, wider): (Vec<_>, Vec<_>) =
            networks.partition(|network| network.prefix_len() == network.max_prefix_len());
        taken.extend(hosts.iter().map(IpNet::addr));
        let free = |subnet: &IpNet| {
            let is_free = |address: &IpAddr| {
                !taken.contains(address) && !wider.iter().any(|network| network.contains(address))
            };
            let mut hosts = subnet.hosts().take(TRIES as usize).skip(1);
            hosts.find(is_free).ok_or_else(|| {
                let what = format!(
                    "the subnet {subnet} has no free address; revoke a mobile host, or widen the subnet"
                );
                self.source.wrong(Some(self.config.tun.addresses.span()), what)
            })
        };
        own.iter().map(free).collect()
    }

    /// Writes the file of a mobile host, unless the configuration would not be valid with it.
    fn write(&mut self, name: &str, table: &toml::Table) -> Result<(), Failure> {
        let text = format!("{HEAD}{}", toml::to_string(table).map_err(Failure::broken)?);
        let mut files = self.config.peer_files();
        files.peers.insert(file_of(name), text.clone());
        let (path, main) = (self.source.path().into(), self.source.text().into());
        let next = GatewayConfig::load(&Source::new(path, main, Some(files)))?;
        replace(&self.folder.join(file_of(name)), &text)?;
        self.config = next;
        Ok(())
    }

    /// Notes keys that count no more: their owners are told so.
    fn forget(
        &mut self,
        keys: impl IntoIterator<Item = PublicKey>,
        reason: Decline,
    ) -> Result<(), Failure> {
        self.former.note(&self.folder, keys, reason)
    }

    /// Removes a mobile host.
    pub(crate) fn revoke(&mut self, name: &str) -> Result<(), Failure> {
        let mobile = self.of_file(name)?;
        let invited = mobile.invitation.map(|open| open.public_key.0);
        let keys: Vec<_> = mobile.key().into_iter().chain(invited).collect();
        self.forget(keys, Decline::Revoked)?;
        remove(&self.folder.join(file_of(name)))
    }

    /// Gives a mobile host another name.
    pub(crate) fn rename(&self, name: &str, other: &str) -> Result<(), Failure> {
        self.of_file(name)?;
        let other = Name::read(other).map_err(Failure::setting)?.0;
        if self.find(&other).is_some() {
            return Err(Failure::setting(format!(
                "there is a mobile host '{other}' already; choose another name"
            )));
        }
        let path = |name: &str| self.folder.join(file_of(name));
        move_to(&path(name), &path(&other))
    }
}

/// Returns the name of the file of a mobile host.
fn file_of(name: &str) -> PathBuf {
    format!("{name}.{PEER_ENDING}").into()
}

/// Stores the key that an invited mobile host claims, or one in place of its own, in the configuration of a gateway at
/// `path`.
pub(crate) fn store_claim(path: &Path, claim: &KeyClaim) -> Result<Claimed, Failure> {
    let mut mobiles = Mobiles::load(path)?;
    let its_invitation = |mobile: &Mobile| {
        let invited = mobile.invitation;
        invited.filter(|invited| invited.public_key.0 == claim.of)
    };
    let may_claim =
        |mobile: &&Mobile| mobile.key() == Some(claim.of) || its_invitation(mobile).is_some();
    let Some(mobile) = mobiles.config.peers.iter().find(may_claim) else {
        let what = "no mobile host has this key any more: another has joined with the line, or it was revoked";
        return Err(Failure::setting(what));
    };
    let invitation = its_invitation(mobile);
    if invitation.is_some_and(|invited| invited.expires <= unix_seconds()) {
        return Ok(Claimed::Expired);
    }
    let name = mobile.name.get_ref().0.clone();
    let mut table: toml::Table = mobile.source(&mobiles.source).parse()?;
    let former: Vec<_> = mobile.key().into_iter().chain([claim.of]).collect();
    if invitation.is_some() {
        table.remove("invitation");
    }
    table.insert("public_key".into(), claim.key.to_string().into());
    mobiles.forget(former, Decline::Replaced)?;
    mobiles.write(&name, &table)?;
    Ok(Claimed::Stored)
}
