//! The hosts that a gateway knows and that have files of their own: its mobile hosts, and other gateways of its site.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hosts::Decline;
use ipnet::IpNet;
use runtime::KeyClaim;
use runtime::helper::Claimed;
use session::PublicKey;

use super::files::{create_folder, lock, try_lock};
use super::seen::SeenFiles;
use crate::config::entry::{Entry, Kind, Texts};
use crate::config::gateway::{GatewayConfig, Mobile};
use crate::config::values::Name;
use crate::config::{ReadFiles, Source};
use crate::daemon::unix_seconds;
use crate::failure::Failure;
use crate::registry::{self, Change, Client, Registry, file_of};

/// File that is locked by those who change the folders.
const LOCK: &str = "lock";
/// Most addresses of a subnet that are tried for a new mobile host.
const TRIES: u32 = 1 << 20;

/// The configuration of a gateway with folders of hosts, to be changed.
pub(crate) struct Members {
    pub(crate) config: GatewayConfig,
    pub(crate) source: Source,
    registry: Box<dyn Registry>,
    /// What is wrong with the hosts of the registry that this gateway does not take; or why nothing can be changed.
    refreshed: Result<Vec<Failure>, Failure>,
    /// The files, if they are looked at again.
    seen: SeenFiles,
    /// Number of the first addresses of each subnet that were taken, and stay so while this exists.
    taken: BTreeMap<IpNet, usize>,
    /// Held while this exists, so that nobody else changes the folders.
    _lock: Option<File>,
}

/// A host that is invited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Invitee<'a> {
    pub(crate) kind: Kind,
    pub(crate) name: &'a str,
    /// Key of its invitation, and the time of its expiry, in seconds since 1970-01-01 UTC.
    pub(crate) key: PublicKey,
    pub(crate) expires: u32,
}

impl Members {
    /// Reads the configuration of a gateway, after other changes of its folders are complete.
    pub(crate) fn load(path: &Path) -> Result<Self, Failure> {
        let source = Source::read(path)?;
        let lock = Self::lock(&source)?;
        let registry = registry::open(&source, registry::connect(&source)?)?;
        Self::open(source, registry, Some(lock))
    }

    /// Reads the configuration in `source` after its folders are up to date; nobody else changes them meanwhile.
    pub(crate) fn open(
        source: Source,
        mut registry: Box<dyn Registry>,
        lock: Option<File>,
    ) -> Result<Self, Failure> {
        let refreshed = registry.refresh();
        Ok(Self {
            config: GatewayConfig::load(&source)?,
            source,
            registry,
            refreshed,
            seen: SeenFiles::default(),
            taken: BTreeMap::new(),
            _lock: lock,
        })
    }

    /// Reads the files that the configuration of a gateway names, to look again later at those that change; `client`
    /// reaches its registry, if it has one.
    pub(crate) fn watch(source: Source, client: Option<Arc<Client>>) -> Result<Self, Failure> {
        let mut seen = SeenFiles::default();
        let look = seen.look(&source, unix_seconds())?;
        let files = ReadFiles {
            folders: look.changes.clone(),
            ..ReadFiles::default()
        };
        let (path, main) = (source.path().into(), source.text().into());
        let config = GatewayConfig::load(&Source::new(path, main, Some(files)))?;
        seen.note(look);
        Ok(Self {
            config,
            registry: registry::open(&source, client)?,
            refreshed: Ok(Vec::new()),
            source,
            seen,
            taken: BTreeMap::new(),
            _lock: None,
        })
    }

    /// Reads again what has changed since, in the registry too. While somebody else changes the folders they are up to
    /// date with that, and a reload that this one requests must not wait for him.
    pub(crate) fn renew(&mut self) -> Result<(), Failure> {
        // A folder that only its operator writes may be read-only.
        if self.registry.is_elsewhere() {
            let folders = GatewayConfig::folders_in(&self.source)?;
            let first = folders.values().next().filter(|folder| folder.exists());
            let lock = first.map(|folder| try_lock(&folder.join(LOCK)));
            if let Some(_lock) = lock.transpose()?.flatten() {
                self.refresh();
            }
        }
        self.look()
    }

    /// Brings the folders, which nobody else changes meanwhile, up to date with the registry; tells the log what is
    /// wrong with that.
    fn refresh(&mut self) {
        self.refreshed = self.registry.refresh();
        registry::log(&self.refreshed);
    }

    /// Reads again the files that have changed since.
    fn look(&mut self) -> Result<(), Failure> {
        let source = Source::read(self.source.path())?;
        let look = self.seen.look(&source, unix_seconds())?;
        self.config.renew(&source, &look.changes)?;
        self.seen.note(look);
        self.source = source;
        Ok(())
    }

    /// Returns the version of the files, which is new after each change.
    pub(crate) fn version(&self) -> u64 {
        self.seen.version()
    }

    /// Returns the changes of the files since a version; since the first one, 0, those of all.
    pub(crate) fn changes_since(&mut self, version: u64) -> BTreeMap<Kind, Texts> {
        let mut changes = |kind| {
            let (names, gone) = self.seen.since(version, kind);
            let text = |name: PathBuf| {
                let text = self.config.text_in(kind, &name)?.to_owned();
                Some((name, text))
            };
            let texts = Texts {
                hosts: names.into_iter().filter_map(text).collect(),
                gone,
                former: self.config.former_of(kind).text().into(),
            };
            (kind, texts)
        };
        Kind::ALL.map(&mut changes).into()
    }

    /// Waits until nobody else changes the folders of a configuration, which exist then; nobody does until the file is
    /// dropped.
    fn lock(source: &Source) -> Result<File, Failure> {
        let folders = GatewayConfig::folders_in(source)?;
        let Some(first) = folders.values().next() else {
            return Err(Self::no_folder(source, Kind::Mobile));
        };
        folders
            .values()
            .try_for_each(|folder| create_folder(folder))?;
        lock(&first.join(LOCK))
    }

    /// Returns the error of a configuration without a folder for hosts of this kind.
    pub(crate) fn no_folder(source: &Source, kind: Kind) -> Failure {
        let what = match kind {
            Kind::Mobile => {
                "this gateway has no folder for invited mobile hosts; add `peers_folder = \"peers\"`, and restart it"
            }
            Kind::Gateway => {
                "this gateway has no folder for the other gateways of its site; add `gateways_folder = \"gateways\"` \
                 before the first section, and restart it"
            }
        };
        source.wrong(None, what)
    }

    /// Returns the folder of hosts of one kind.
    fn folder(&self, kind: Kind) -> Result<PathBuf, Failure> {
        let folder = self.config.folder(kind);
        let folder = folder.ok_or_else(|| Self::no_folder(&self.source, kind))?;
        Ok(self.source.file(folder))
    }

    /// Returns the host of this name.
    pub(crate) fn find(&self, name: &str) -> Option<Entry<'_>> {
        self.config.entry_named(name)
    }

    /// Returns the host of this name and its file, if it has one of its own.
    fn of_file(&self, name: &str) -> Result<(Entry<'_>, &Source), Failure> {
        let Some(entry) = self.find(name) else {
            return Err(Failure::setting(format!(
                "there is no mobile host '{name}' here, and no gateway; `lasthop peers` lists them"
            )));
        };
        let Some(file) = entry.file else {
            let place = self.source.path().display();
            return Err(Failure::setting(format!(
                "'{name}' stands in {place}; change it there, and run `lasthop reload`"
            )));
        };
        Ok((entry, file))
    }

    /// Stores an invitation for a host: a new one, or one that is known and keeps its key until a host joins. Returns
    /// its inner addresses with the lengths of their subnets.
    pub(crate) fn invite(
        &mut self,
        invitee: Invitee<'_>,
        settings: &toml::Table,
    ) -> Result<Vec<(IpAddr, u8)>, Failure> {
        let Invitee { kind, name, .. } = invitee;
        Name::read(name).map_err(Failure::setting)?;
        // Also if nothing is there yet.
        self.folder(kind)?;
        self.refuse_other_kind(invitee)?;
        let mut table = match (self.find(name), kind) {
            (Some(_), _) => self.of_file(name)?.1.parse()?,
            (None, Kind::Mobile) => self.new_mobile()?,
            (None, Kind::Gateway) => toml::Table::new(),
        };
        let former = self.find(name).and_then(|known| known.invitation);
        let former = former.map(|open| open.public_key.0);
        table.extend(settings.clone());
        let mut invitation = toml::Table::new();
        invitation.insert("public_key".into(), invitee.key.to_string().into());
        invitation.insert("expires".into(), i64::from(invitee.expires).into());
        table.insert("invitation".into(), invitation.into());
        self.forget(kind, former, Decline::Replaced)?;
        self.write(kind, name, &table)?;
        let (entry, _) = self.of_file(name)?;
        let networks = entry.networks.iter();
        Ok(match kind {
            Kind::Mobile => networks.map(|host| self.in_subnet(host.addr())).collect(),
            Kind::Gateway => networks.map(|own| (own.addr(), own.prefix_len())).collect(),
        })
    }

    /// Refuses to invite a host under the name of one of the other kind, or of this gateway.
    fn refuse_other_kind(&self, invitee: Invitee<'_>) -> Result<(), Failure> {
        let Invitee { kind, name, .. } = invitee;
        let what = match self.find(name).map(|known| known.kind) {
            None if kind == Kind::Gateway && name == self.config.site_name() => {
                "the name of this gateway itself (`site_name` in its configuration)"
            }
            Some(Kind::Gateway) if kind == Kind::Mobile => "a gateway of the site",
            Some(Kind::Mobile) if kind == Kind::Gateway => "a mobile host",
            Some(_) | None => return Ok(()),
        };
        Err(Failure::setting(format!(
            "'{name}' is {what}; choose another name"
        )))
    }

    /// Returns an inner address of a mobile host with the length of its subnet.
    fn in_subnet(&self, address: IpAddr) -> (IpAddr, u8) {
        let mut subnets = self.config.tun.own().filter(|own| own.contains(&address));
        let host = IpNet::from(address).prefix_len();
        let subnet = subnets.next();
        (address, subnet.map_or(host, |subnet| subnet.prefix_len()))
    }

    /// Stores another gateway of the site with its key, in place of what was known of it.
    pub(crate) fn admit_gateway(
        &mut self,
        name: &str,
        key: PublicKey,
        endpoint: &str,
    ) -> Result<(), Failure> {
        let known = self.find(name).map(|known| (known.kind, known.key));
        match known {
            None => {}
            Some((Kind::Gateway, Some(its))) if its == key => {}
            Some(_) => {
                return Err(Failure::setting(format!(
                    "this gateway knows another host by the name '{name}', which is that of the gateway that invites; \
                     `lasthop peers` lists it; give it another name with `lasthop rename`, or remove it with \
                     `lasthop revoke`, and run this again"
                )));
            }
        }
        if self.find(name).is_some_and(|known| known.file.is_none()) {
            // It stands in the configuration itself.
            return Ok(());
        }
        let mut table = toml::Table::new();
        table.insert("endpoint".into(), endpoint.into());
        table.insert("public_key".into(), key.to_string().into());
        self.write(Kind::Gateway, name, &table)
    }

    /// Returns the inner networks that belong to somebody: to this gateway, its mobile hosts, and other gateways.
    pub(crate) fn taken(&self) -> Vec<IpNet> {
        let entries = self.config.entries();
        let networks = entries.flat_map(|entry| entry.networks);
        self.config.tun.own().chain(networks).collect()
    }

    fn new_mobile(&mut self) -> Result<toml::Table, Failure> {
        let mut table = toml::Table::new();
        let addresses = self.free_addresses()?;
        let addresses = addresses.iter().map(|address| address.to_string().into());
        table.insert("addresses".into(), toml::Value::Array(addresses.collect()));
        Ok(table)
    }

    /// Returns a free address of each inner subnet of the gateway.
    fn free_addresses(&mut self) -> Result<Vec<IpAddr>, Failure> {
        let own: Vec<_> = self.config.tun.own().collect();
        let is_taken = |address: &IpAddr| {
            own.iter().any(|own| own.addr() == *address) || self.config.has_address(*address)
        };
        let mut free = Vec::new();
        for subnet in &own {
            // The first one is the network's.
            let first = self.taken.entry(*subnet).or_insert(1);
            let hosts = subnet.hosts().take(TRIES as usize).skip(*first);
            let mut hosts = hosts.inspect(|_| *first += 1);
            let Some(address) = hosts.find(|address| !is_taken(address)) else {
                let what = format!(
                    "the subnet {subnet} has no free address; revoke a mobile host, or widen the subnet"
                );
                let place = self.config.tun.addresses.span();
                return Err(self.source.wrong(Some(place), what));
            };
            // It may remain free.
            *first -= 1;
            free.push(address);
        }
        Ok(free)
    }

    /// Writes the file of a host, unless the configuration would not be valid with it.
    fn write(&mut self, kind: Kind, name: &str, table: &toml::Table) -> Result<(), Failure> {
        let table = toml::to_string(table).map_err(Failure::broken)?;
        let text = format!("{}{table}", head(kind));
        let hosts = [(file_of(name), text.clone())].into();
        let changed = Texts {
            hosts,
            gone: BTreeSet::new(),
            former: self.config.former_of(kind).text().into(),
        };
        self.config.renew(&self.source, &[(kind, changed)].into())?;
        // Also if it cannot be written.
        self.seen.change(kind, file_of(name).into());
        let name = name.into();
        self.change(&Change::Put { kind, name, text })
    }

    /// Makes a change in the registry and in the folders.
    fn change(&mut self, change: &Change) -> Result<(), Failure> {
        std::mem::replace(&mut self.refreshed, Ok(Vec::new()))?;
        self.registry.commit(change)
    }

    /// Returns what is wrong with the registry, for the user.
    pub(crate) fn warnings(&self) -> Vec<String> {
        registry::warnings(&self.refreshed)
    }

    /// Notes keys that count no more: their owners are told so.
    fn forget(
        &mut self,
        kind: Kind,
        keys: impl IntoIterator<Item = PublicKey>,
        reason: Decline,
    ) -> Result<(), Failure> {
        let folder = self.folder(kind)?;
        self.config.former_of(kind).note(&folder, keys, reason)
    }

    /// Removes a host.
    pub(crate) fn revoke(&mut self, name: &str) -> Result<(), Failure> {
        let (entry, _) = self.of_file(name)?;
        self.refuse_home(&entry)?;
        let invited = entry.invitation.map(|open| open.public_key.0);
        let keys: Vec<_> = entry.key.into_iter().chain(invited).collect();
        let (kind, name) = (entry.kind, name.into());
        self.forget(kind, keys, Decline::Revoked)?;
        self.change(&Change::Remove { kind, name })
    }

    /// Gives a host another name.
    pub(crate) fn rename(&mut self, name: &str, other: &str) -> Result<(), Failure> {
        let (entry, _) = self.of_file(name)?;
        self.refuse_home(&entry)?;
        let other = Name::read(other).map_err(Failure::setting)?.0;
        if let Some(known) = self.find(&other) {
            let what = match known.kind {
                Kind::Mobile => "mobile host",
                Kind::Gateway => "gateway",
            };
            return Err(Failure::setting(format!(
                "there is a {what} '{other}' already; choose another name"
            )));
        }
        if entry.kind == Kind::Gateway && other == self.config.site_name() {
            return Err(Failure::setting(format!(
                "'{other}' is the name of this gateway itself (`site_name` in its configuration); choose another name"
            )));
        }
        let (kind, name) = (entry.kind, name.into());
        self.change(&Change::Rename { kind, name, other })
    }

    /// Refuses to take its name from a gateway to which mobile hosts belong.
    fn refuse_home(&self, entry: &Entry<'_>) -> Result<(), Failure> {
        let is_home = |mobile: &&Mobile| {
            let home = mobile.home.as_ref();
            entry.kind == Kind::Gateway && home.is_some_and(|home| home.get_ref().0 == entry.name)
        };
        let mut guests = self.config.mobiles();
        match guests.find(is_home) {
            None => Ok(()),
            Some(guest) => {
                let (name, guest) = (entry.name, &guest.name.get_ref().0);
                Err(Failure::setting(format!(
                    "'{name}' is the home of the mobile host '{guest}' here (`home`); revoke that one, or change its \
                     home, first"
                )))
            }
        }
    }
}

/// Brings the folders of a gateway that starts up to date with its registry, if it has one; if that does not answer,
/// they stay as they are.
///
/// # Errors
/// The registry of the configuration in `source` is wrong.
pub(crate) fn refresh(source: &Source) -> Result<(), Failure> {
    if let Some(client) = registry::connect(source)? {
        let _lock = Members::lock(source)?;
        registry::log(&registry::open(source, Some(client))?.refresh());
    }
    Ok(())
}

/// Returns the first line of a file.
fn head(kind: Kind) -> &'static str {
    match kind {
        Kind::Mobile => {
            "# A mobile host of this gateway; `lasthop invite`, `rename` and `revoke` write this file.\n"
        }
        Kind::Gateway => {
            "# A gateway of the site; `lasthop invite`, `gateway up --site`, `rename` and `revoke` write this file.\n"
        }
    }
}

/// Returns the error about a gateway whose key stands in a configuration that only its operator changes.
pub(super) fn another_key(gateway: &str, path: &Path, claim: &KeyClaim) -> Failure {
    let (path, key) = (path.display(), claim.key);
    Failure::setting(format!(
        "the gateway '{gateway}' has another key now; write `public_key = \"{key}\"` into {path} before its operator \
         ends the former one"
    ))
}

/// Stores the key that an invited host claims, or a mobile host or another gateway one in place of its own, in the
/// configuration of a gateway.
pub(crate) fn store_claim(members: &mut Members, claim: &KeyClaim) -> Result<Claimed, Failure> {
    let path = members.source.path().to_path_buf();
    let _lock = Members::lock(&Source::read(&path)?)?;
    members.refresh();
    members.look()?;
    let Some(entry) = members.config.entry_with(&claim.of) else {
        let what =
            "no host has this key any more: another has joined with the line, or it was revoked";
        return Err(Failure::setting(what));
    };
    let invitation = entry.invitation;
    let invitation = invitation.filter(|invited| invited.public_key.0 == claim.of);
    if invitation.is_some_and(|invited| invited.expires <= unix_seconds()) {
        return Ok(Claimed::Expired);
    }
    let (kind, name) = (entry.kind, entry.name.to_owned());
    if kind == Kind::Gateway && entry.file.is_none() {
        return Err(another_key(&name, &path, claim));
    }
    let mut table: toml::Table = entry.file.unwrap_or(&members.source).parse()?;
    let former: Vec<_> = entry.key.into_iter().chain([claim.of]).collect();
    if invitation.is_some() {
        table.remove("invitation");
    }
    table.insert("public_key".into(), claim.key.to_string().into());
    members.forget(kind, former, Decline::Replaced)?;
    members.write(kind, &name, &table)?;
    Ok(Claimed::Stored)
}
