//! Reloading the configuration of a running daemon. The helper reads the files, since the daemon may not, and adapts
//! the system; the daemon checks what was read, and changes the peers of its host.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use edges::diversion::{Diversion, Networks};
use edges::undo::UndoLog;
use hosts::{ClaimRefusal, Decline, Input, OwnKeys, Resolvers, SitePart, Told};
use ipnet::IpNet;
use runtime::helper::{Charge, Claimed, Reload};
use runtime::{Changed, Ended, Exit, KeyClaim, Reloaded, Reloader};
use serde::{Deserialize, Serialize};
use session::{PresharedKey, PrivateKey, PublicKey};
use units::Bytes;

use super::dns::Offer;
use super::exits;
use super::gateway::{Member, Wiring, members, memory_of_peers, unix_seconds};
use super::privileges::Keeper;
use super::split;
use crate::config::gateway::GatewayConfig;
use crate::config::mobile::MobileConfig;
use crate::config::{ReadFiles, Source};
use crate::failure::Failure;
use crate::registry::{self, Client, Follower};
use crate::state::{refresh, store_claim, store_gateway_key, store_told};

/// Sections and options that may change while a gateway runs.
const LIVE: [&str; 2] = ["caps", "peers"];

/// What the helper reads for the daemon.
#[derive(Serialize, Deserialize)]
struct Files {
    text: String,
    files: ReadFiles,
}

/// The helper's part.
pub(super) struct Reading {
    path: PathBuf,
    link: String,
    /// Configuration to which the system is adapted, if it is a gateway's, and the one that was read last.
    present: Option<GatewayConfig>,
    next: Option<GatewayConfig>,
    installed: Option<Diversion>,
    /// Inner addresses of other gateways' mobile hosts, whose packets leave here.
    exits: Vec<IpNet>,
    /// Control socket of the daemon.
    socket: PathBuf,
    /// What reaches the registry, if the gateway has one.
    registry: Option<Arc<Client>>,
}

impl Reading {
    pub(super) fn new(charge: &Charge) -> Self {
        let source = Source::new(charge.configuration.clone(), charge.text.clone(), None);
        Self {
            path: charge.configuration.clone(),
            link: charge.link.clone(),
            present: GatewayConfig::load(&source).ok(),
            next: None,
            installed: charge.installed.clone(),
            exits: Vec::new(),
            socket: charge.sockets.first().cloned().unwrap_or_default(),
            registry: None,
        }
    }

    /// Follows the registry, if the gateway has one.
    fn follow(&mut self) -> Result<(), Failure> {
        let source = Source::read(&self.path)?;
        let Some(client) = registry::connect(&source)? else {
            return Ok(());
        };
        self.registry = Some(Arc::clone(&client));
        Follower::start(client, &source, self.socket.clone())
    }

    /// Adapts the system to a configuration.
    fn adapt(&self, undo: &mut UndoLog, config: &GatewayConfig) -> Result<(), Failure> {
        let mut wiring = Wiring::new(config);
        wiring.lead_out(&self.exits);
        wiring.adapt(undo, &self.link).map_err(Failure::broken)?;
        let Some(installed) = &self.installed else {
            return Ok(());
        };
        let none = || Diversion {
            from: Networks::default(),
            to: Networks::default(),
            except: Networks::default(),
            ..installed.clone()
        };
        let plan = wiring.split(config);
        let diversion = Diversion {
            instance: installed.instance.clone(),
            inner_link: installed.inner_link.clone(),
            port: installed.port,
            ..plan.map_or_else(none, |plan| plan.diversion())
        };
        diversion.install().map_err(Failure::broken)
    }
}

impl Reload for Reading {
    fn begin(&mut self) {
        if self.present.is_none() {
            return;
        }
        if let Err(error) = self.follow() {
            tracing::warn!("the registry is not followed: {error}");
        }
    }

    fn read(&mut self) -> Result<String, String> {
        let read = || {
            let source = Source::read(&self.path)?;
            if let Some(client) = &self.registry {
                refresh(&source, Some(client));
            }
            let (config, files) = if self.present.is_some() {
                let config = GatewayConfig::load(&source)?;
                let secrets = secrets(&config, &source)?;
                let folders = config.texts();
                (Some(config), ReadFiles { secrets, folders })
            } else {
                (None, files_of_mobile(&source)?)
            };
            let text = source.text().into();
            let files = serde_json::to_string(&Files { text, files });
            Ok((config, files.map_err(Failure::broken)?))
        };
        let (config, files) = read().map_err(|error: Failure| error.to_string())?;
        self.next = config;
        Ok(files)
    }

    fn claim(&mut self, claim: &KeyClaim) -> Result<Claimed, String> {
        let stored = match self.present {
            Some(_) => store_claim(&self.path, self.registry.as_ref(), claim),
            None => store_gateway_key(&self.path, claim).map(|()| Claimed::Stored),
        };
        stored.map_err(|error| error.to_string())
    }

    fn lead_out(&mut self, undo: &mut UndoLog, exits: &[Exit]) -> Changed {
        let Some(present) = &self.present else {
            return Changed::default();
        };
        let terms = exits::Terms::of(&self.link, &Wiring::new(present));
        let check = |network| {
            let terms = terms.as_ref().map_err(ToString::to_string)?;
            terms.check(network).map_err(|error| error.to_string())
        };
        let before = self.exits.clone();
        let mut changed = Changed::default();
        for Exit { networks, begins } in exits {
            self.exits.retain(|known| !networks.contains(known));
            for network in networks.iter().filter(|_| *begins) {
                match check(network) {
                    Ok(()) => self.exits.push(*network),
                    Err(error) => changed.refused.push(wait(&format!("{network}: {error}"))),
                }
            }
        }
        if let Err(error) = self.adapt(undo, present) {
            changed.refused.push(wait(&error.to_string()));
            self.exits.retain(|network| before.contains(network));
            // The first error is the one to report.
            let _ = self.adapt(undo, present);
        }
        let begun = exits.iter().filter(|exit| exit.begins);
        let begun = begun.flat_map(|exit| exit.networks.iter().copied());
        changed.ready = begun
            .filter(|network| self.exits.contains(network))
            .collect();
        changed
    }

    fn store_told(&mut self, told: &[Told]) -> Result<(), String> {
        let stored = Source::read(&self.path).and_then(|source| store_told(&source, told));
        stored.map_err(|error| {
            format!(
                "what the gateways of the site have told is not kept for the next start: {error}"
            )
        })
    }

    fn apply(&mut self, undo: &mut UndoLog) -> Result<(), String> {
        let Some(next) = self.next.take() else {
            return Ok(());
        };
        if let Err(error) = self.adapt(undo, &next) {
            // The first error is the one to report.
            let _ = self
                .present
                .as_ref()
                .map(|present| self.adapt(undo, present));
            return Err(error.to_string());
        }
        self.present = Some(next);
        Ok(())
    }
}

/// Returns the message about mobile hosts of a silent gateway that may not leave here.
fn wait(why: &str) -> String {
    format!("connections of a silent gateway's mobile hosts wait for it: {why}")
}

/// Returns the files of a mobile host that may change while it runs.
fn files_of_mobile(source: &Source) -> Result<ReadFiles, Failure> {
    let config = MobileConfig::load(source)?;
    let next = config.next_key(source)?;
    let next = next.map(|key| (config.next_key_file(), key.to_text().to_string()));
    Ok(ReadFiles {
        secrets: next.into_iter().collect(),
        ..ReadFiles::default()
    })
}

/// Returns the keys and shared secrets that a gateway's configuration names, by their paths.
fn secrets(config: &GatewayConfig, source: &Source) -> Result<BTreeMap<PathBuf, String>, Failure> {
    let mut secrets = BTreeMap::new();
    let peers = config.peers.iter();
    let gateways = config.gateways.iter();
    let gateways = gateways.filter_map(|gateway| gateway.preshared_key_file.as_ref());
    for path in peers
        .filter_map(|peer| peer.preshared_key_file.as_ref())
        .chain(gateways)
    {
        let secret: PresharedKey = source.secret(path)?;
        secrets.insert(path.clone(), secret.to_text().to_string());
    }
    secrets.extend(config.texts_of_keys(source)?);
    Ok(secrets)
}

/// The daemon's part: the configuration that is in force.
pub(super) struct Present {
    source: Source,
    gateway: Option<Gateway>,
}

/// What a gateway has now, and what it had at its start.
struct Gateway {
    config: GatewayConfig,
    members: Vec<Member>,
    own_keys: PublicKeys,
    memory: Bytes,
    /// What it offers to them.
    resolvers: Resolvers,
    /// Versions of the inner addresses, and of those whose connections are split, if any are.
    versions: (bool, bool),
    split_versions: Option<(bool, bool)>,
}

/// Public keys of a gateway: the present one, the former one while that is accepted, and one that has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PublicKeys {
    present: PublicKey,
    former: Option<PublicKey>,
    ended: Option<PublicKey>,
}

impl PublicKeys {
    fn of(keys: &OwnKeys) -> Self {
        Self {
            present: keys.key.public_key(),
            former: keys.former.as_ref().map(PrivateKey::public_key),
            ended: keys.ended.as_ref().map(PrivateKey::public_key),
        }
    }
}

impl Present {
    /// Returns the configuration of a mobile host, whose peer stays.
    pub(super) fn mobile(source: Source) -> Self {
        Self {
            source,
            gateway: None,
        }
    }

    /// Returns the configuration of a gateway with these keys.
    pub(super) fn gateway(source: Source, keys: &OwnKeys) -> Result<Self, Failure> {
        let config = GatewayConfig::load(&source)?;
        let own_keys = PublicKeys::of(keys);
        refuse_own_key(&config, own_keys, &source)?;
        let resolvers = Offer::of(&config).resolvers;
        let members = members(&config, &source, &resolvers)?;
        let wiring = Wiring::new(&config);
        let plan = wiring.split(&config);
        let gateway = Gateway {
            memory: memory_of_peers(&members, &config, plan.as_ref())?,
            own_keys,
            resolvers,
            versions: wiring.versions(),
            split_versions: plan.map(|plan| plan.diversion().versions()),
            members,
            config,
        };
        Ok(Self {
            source,
            gateway: Some(gateway),
        })
    }

    /// Returns the configuration.
    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the memory for all mobile hosts of a gateway, and them.
    pub(super) fn of_gateway(&self) -> Option<(Bytes, Vec<hosts::Peer>)> {
        let gateway = self.gateway.as_ref()?;
        let peers = gateway.members.iter().map(|member| member.peer.clone());
        Some((gateway.memory, peers.collect()))
    }

    /// Starts the thread that reloads.
    pub(super) fn start(mut self, keeper: Keeper) -> Result<Reloader, Failure> {
        let reload = move |claims: &[KeyClaim]| {
            let claims = claims.iter();
            Ended {
                refusals: claims.filter_map(|claim| store(&keeper, claim)).collect(),
                result: self.reload(&keeper).map_err(|error| error.to_string()),
            }
        };
        Reloader::start(reload)
            .map_err(|error| Failure::setting(format!("cannot start the reloader: {error}")))
    }

    /// Takes the configuration as it is now; changes nothing if that is not possible.
    fn reload(&mut self, keeper: &Keeper) -> Result<Reloaded, Failure> {
        let files = keeper.read().map_err(Failure::setting)?;
        let files: Files = serde_json::from_str(&files).map_err(Failure::broken)?;
        let path = self.source.path().into();
        let source = Source::new(path, files.text, Some(files.files));
        check_fixed(&self.source, &source)?;
        let reloaded = match &mut self.gateway {
            None => reload_mobile(&source)?,
            Some(gateway) => gateway.reload(keeper, &source)?,
        };
        self.source = source;
        Ok(reloaded)
    }
}

/// Has a mobile host claim its next key, if there is one; nothing else of it can change while it runs.
fn reload_mobile(source: &Source) -> Result<Reloaded, Failure> {
    let inputs = next_key(&MobileConfig::load(source)?, source)?;
    let report = match inputs[..] {
        [] => "nothing has changed",
        _ => "the next key is claimed at the gateway",
    };
    Ok(Reloaded {
        inputs,
        report: report.into(),
        ..Reloaded::default()
    })
}

/// Returns the input with the next key of a mobile host, if there is one.
pub(super) fn next_key(config: &MobileConfig, source: &Source) -> Result<Vec<Input>, Failure> {
    let input = |key| {
        Input::NextKey(Box::new(OwnKeys {
            key,
            former: None,
            ended: None,
        }))
    };
    let next = config.next_key(source)?;
    Ok(next.into_iter().map(input).collect())
}

/// Has a claimed key stored; returns the refusal if that is not possible.
fn store(keeper: &Keeper, claim: &KeyClaim) -> Option<Input> {
    let reason = match keeper.claim(claim) {
        Ok(Claimed::Stored) => return None,
        Ok(Claimed::Expired) => ClaimRefusal::Expired,
        Err(error) => {
            tracing::error!("cannot store the next key of a peer: {error}");
            ClaimRefusal::Failed
        }
    };
    let of = claim.of;
    Some(Input::ClaimRefused { of, reason })
}

impl Gateway {
    fn reload(&mut self, keeper: &Keeper, source: &Source) -> Result<Reloaded, Failure> {
        let config = GatewayConfig::load(source)?;
        let members = members(&config, source, &self.resolvers)?;
        let wiring = Wiring::new(&config);
        let plan = wiring.split(&config);
        // Without a place for a former key the keys stay.
        let keys = config.former_key_file().map(|_| config.keys(source));
        let keys = keys.transpose()?;
        let own_keys = keys.as_ref().map_or(self.own_keys, PublicKeys::of);
        refuse_own_key(&config, own_keys, source)?;
        self.check(&wiring, plan.as_ref(), source)?;
        let memory = memory_of_peers(&members, &config, plan.as_ref())?;
        keeper.apply().map_err(Failure::broken)?;
        let former = config.former_keys(unix_seconds()).into_iter().collect();
        let (mut inputs, report) = self.differences(&members, &former);
        if memory != self.memory {
            // For a moment the memory suffices for both, so that the order of the changes does not matter.
            inputs.insert(0, Input::Memory(self.memory + memory));
        }
        inputs.push(Input::Memory(memory));
        if let Some(keys) = keys.filter(|_| own_keys != self.own_keys) {
            inputs.insert(0, Input::Keys(Box::new(keys)));
            self.own_keys = own_keys;
        }
        (self.config, self.members, self.memory) = (config, members, memory);
        let destinations = plan.and_then(|plan| plan.destinations);
        Ok(Reloaded {
            inputs,
            destinations,
            report,
        })
    }

    /// Refuses what needs more than a running gateway can change.
    fn check(
        &self,
        wiring: &Wiring,
        plan: Option<&split::Plan>,
        source: &Source,
    ) -> Result<(), Failure> {
        let exceeds = |(ipv4, ipv6): (bool, bool), known: (bool, bool)| {
            (ipv4 && !known.0) || (ipv6 && !known.1)
        };
        let what = match plan.map(|plan| plan.diversion().versions()) {
            _ if exceeds(wiring.versions(), self.versions) => {
                "inner addresses of another IP version than at its start; restart the gateway for them"
            }
            Some(_) if self.split_versions.is_none() => {
                "the first mobile host whose TCP is split; restart the gateway for it"
            }
            Some(versions)
                if self
                    .split_versions
                    .is_some_and(|known| exceeds(versions, known)) =>
            {
                "the first mobile host whose TCP over this IP version is split; restart the gateway for it"
            }
            Some(_) | None => return Ok(()),
        };
        Err(source.wrong(None, what))
    }

    /// Returns the inputs that lead to these mobile hosts, and a report of them.
    fn differences(
        &self,
        members: &[Member],
        former: &BTreeMap<PublicKey, Decline>,
    ) -> (Vec<Input>, String) {
        let by_key = |members: &[Member]| -> BTreeMap<PublicKey, Member> {
            let members = members.iter().cloned();
            members.map(|member| (member.peer.public, member)).collect()
        };
        let (present, next) = (by_key(&self.members), by_key(members));
        let gone: Vec<_> = present
            .iter()
            .filter(|(key, _)| !next.contains_key(key))
            .collect();
        let names: BTreeSet<_> = next.values().map(|member| &member.peer.name).collect();
        let revoke = |key: &PublicKey, member: &Member| {
            // A gateway whose next key was stored, and that was removed since, has none in its place.
            let is_gateway = member.peer.membership.site == SitePart::Gateway;
            let is_gone = is_gateway && !names.contains(&member.peer.name);
            let reason = former.get(key).copied().filter(|_| !is_gone);
            Input::Revoke(*key, reason.unwrap_or(Decline::Revoked))
        };
        let mut inputs: Vec<_> = gone
            .iter()
            .map(|(key, member)| revoke(key, member))
            .collect();
        let (mut added, mut changed) = (0, 0);
        for member in members {
            match present.get(&member.peer.public) {
                Some(known) if known == member => continue,
                Some(_) => changed += 1,
                None => added += 1,
            }
            inputs.push(Input::Admit {
                peer: Box::new(member.peer.clone()),
                scope: member.scope,
            });
        }
        let revoked = gone.len();
        let report = format!("{added} peers added, {changed} changed, {revoked} revoked");
        (inputs, report)
    }
}

/// Refuses a mobile host with the gateway's key.
fn refuse_own_key(
    config: &GatewayConfig,
    own_keys: PublicKeys,
    source: &Source,
) -> Result<(), Failure> {
    let mut peers = config.peers.iter();
    let own = [Some(own_keys.present), own_keys.former, own_keys.ended];
    match peers.find(|mobile| mobile.key().is_some() && own.contains(&mobile.key())) {
        None => Ok(()),
        Some(mobile) => {
            let what = "this is the gateway's own key; give the mobile host's";
            let place = mobile.place_of_key();
            Err(mobile.source(source).wrong(place, what))
        }
    }
}

/// Refuses a configuration with another value of an option that cannot change while the daemon runs.
fn check_fixed(present: &Source, next: &Source) -> Result<(), Failure> {
    let (old, new): (toml::Table, toml::Table) = (present.parse()?, next.parse()?);
    let is_live = |key: &str| LIVE.contains(&key) && !new.contains_key("gateway");
    let mut keys = old.keys().chain(new.keys());
    let fixed = keys.find(|key| !is_live(key) && old.get(*key) != new.get(*key));
    let Some(key) = fixed else {
        return Ok(());
    };
    let what =
        format!("`{key}` cannot change while the daemon runs; restart it, or undo this change");
    Err(next.wrong(next.place_of(key), what))
}
