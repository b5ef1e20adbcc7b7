//! Reloading the configuration of a running daemon. The helper reads the files, since the daemon may not, and adapts
//! the system; the daemon checks what was read, and changes the peers of its host.

use std::collections::BTreeMap;
use std::path::PathBuf;

use edges::diversion::{Diversion, Networks};
use edges::undo::UndoLog;
use hosts::{ClaimRefusal, Input, OwnKeys, Resolvers, Told};
use ipnet::IpNet;
use runtime::helper::{Charge, Claimed, Reload};
use runtime::{Changed, Ended, Exit, KeyClaim, Reloaded, Reloader};
use serde::{Deserialize, Serialize};
use session::PresharedKey;
use units::Bytes;

use super::differences::differences;
use super::dns::Offer;
use super::exits;
use super::gateway::{Member, Wiring, members, memory_of_peers, unix_seconds};
use super::gateway_keys::{PublicKeys, refuse_own_key};
use super::privileges::Keeper;
use super::split;
use crate::config::entry::{Kind, Texts};
use crate::config::gateway::GatewayConfig;
use crate::config::mobile::MobileConfig;
use crate::config::{ReadFiles, Source};
use crate::failure::Failure;
use crate::registry::{self, Follower};
use crate::state::{Members, store_claim, store_gateway_key, store_told};

/// Sections and options that may change while a gateway runs.
const LIVE: [&str; 2] = ["caps", "peers"];

/// What the helper reads for the daemon.
#[derive(Serialize, Deserialize)]
struct Files {
    text: String,
    /// Those that the text names; of the files of a gateway's hosts only those that have changed.
    named: ReadFiles,
    /// Version of the files of a gateway's hosts.
    version: u64,
}

/// The helper's part.
pub(super) struct Reading {
    path: PathBuf,
    link: String,
    /// The hosts of a gateway, as they were read last.
    members: Option<Members>,
    /// What the system is adapted to, and what it is to be adapted to.
    present: Option<System>,
    next: Option<System>,
    installed: Option<Diversion>,
    /// Inner addresses of other gateways' mobile hosts, whose packets leave here.
    exits: Vec<IpNet>,
    /// True if a claim has read all files, for the reload that follows it.
    has_claimed: bool,
    /// What follows the registry, if the gateway has one, before it has begun.
    follower: Option<Follower>,
}

/// What the system of a gateway depends on.
struct System {
    wiring: Wiring,
    plan: Option<split::Plan>,
}

impl System {
    fn of(config: &GatewayConfig) -> Self {
        let wiring = Wiring::new(config);
        let plan = wiring.split(config);
        Self { wiring, plan }
    }
}

impl Reading {
    pub(super) fn new(charge: &Charge) -> Self {
        let source = Source::new(charge.configuration.clone(), charge.text.clone(), None);
        let connected = registry::connect(&source);
        let client = connected.as_ref().ok().cloned().flatten();
        let follower = client.zip(charge.sockets.first());
        let follower =
            follower.and_then(|(client, socket)| Follower::new(client, &source, socket).ok());
        let members = connected.and_then(|client| Members::watch(source, client));
        let members = members.ok();
        let present = members.as_ref().map(|members| System::of(&members.config));
        Self {
            path: charge.configuration.clone(),
            link: charge.link.clone(),
            members,
            present,
            next: None,
            installed: charge.installed.clone(),
            exits: Vec::new(),
            has_claimed: false,
            follower,
        }
    }

    /// Adapts the system to a configuration.
    fn adapt(&self, undo: &mut UndoLog, system: &System) -> Result<(), Failure> {
        let mut wiring = system.wiring.clone();
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
        let plan = system.plan.as_ref();
        let diversion = Diversion {
            instance: installed.instance.clone(),
            inner_link: installed.inner_link.clone(),
            port: installed.port,
            ..plan.map_or_else(none, split::Plan::diversion)
        };
        diversion.install().map_err(Failure::broken)
    }
}

impl Reload for Reading {
    fn begin(&mut self) {
        if let Some(Err(error)) = self.follower.take().map(Follower::start) {
            tracing::warn!("the registry is not followed: {error}");
        }
    }

    fn read(&mut self, since: u64) -> Result<String, String> {
        let mut read = || {
            let files = if let Some(members) = &mut self.members {
                // A claim has read all that has changed, just before.
                if !std::mem::take(&mut self.has_claimed) {
                    members.renew()?;
                }
                let files = ReadFiles {
                    secrets: secrets(&members.config, &members.source)?,
                    folders: members.changes_since(since),
                };
                self.next = Some(System::of(&members.config));
                Files {
                    text: members.source.text().into(),
                    named: files,
                    version: members.version(),
                }
            } else {
                let source = Source::read(&self.path)?;
                Files {
                    text: source.text().into(),
                    named: files_of_mobile(&source)?,
                    version: 0,
                }
            };
            serde_json::to_string(&files).map_err(Failure::broken)
        };
        read().map_err(|error: Failure| error.to_string())
    }

    fn claim(&mut self, claim: &KeyClaim) -> Result<Claimed, String> {
        let stored = match &mut self.members {
            Some(members) => {
                let stored = store_claim(members, claim);
                self.has_claimed = stored.is_ok();
                stored
            }
            None => store_gateway_key(&self.path, claim).map(|()| Claimed::Stored),
        };
        stored.map_err(|error| error.to_string())
    }

    fn lead_out(&mut self, undo: &mut UndoLog, exits: &[Exit]) -> Changed {
        let Some(present) = &self.present else {
            return Changed::default();
        };
        let terms = exits::Terms::of(&self.link, &present.wiring);
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
    let peers = config.mobiles();
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
    /// The configuration that was read last, also if it is not in force.
    config: GatewayConfig,
    /// Version of the files of its hosts; 0 is that of the start.
    version: u64,
    members: Vec<Member>,
    own_keys: PublicKeys,
    memory: Bytes,
    /// What it offers to them.
    resolvers: Resolvers,
    /// Versions of the inner addresses, and of those whose connections are split, if any are.
    versions: (bool, bool),
    split_versions: Option<(bool, bool)>,
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
    pub(super) fn gateway(
        config: GatewayConfig,
        source: Source,
        keys: &OwnKeys,
    ) -> Result<Self, Failure> {
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
            version: 0,
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
        let version = self.gateway.as_ref().map_or(0, |gateway| gateway.version);
        let files = keeper.read(version).map_err(Failure::setting)?;
        let mut files: Files = serde_json::from_str(&files).map_err(Failure::broken)?;
        let path = self.source.path().into();
        let changes = std::mem::take(&mut files.named.folders);
        let source = Source::new(path, files.text, Some(files.named));
        check_fixed(&self.source, &source)?;
        let reloaded = match &mut self.gateway {
            None => reload_mobile(&source)?,
            Some(gateway) => {
                gateway.renew(&source, changes, files.version)?;
                gateway.reload(keeper, &source)?
            }
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
    /// Takes the configuration in `source` with the changes of files since its version.
    fn renew(
        &mut self,
        source: &Source,
        mut changes: BTreeMap<Kind, Texts>,
        version: u64,
    ) -> Result<(), Failure> {
        if self.version == 0 {
            // All files were sent.
            for (kind, texts) in &mut changes {
                texts.gone = self.config.files(*kind).map(PathBuf::from).collect();
                texts.gone.retain(|name| !texts.hosts.contains_key(name));
            }
        }
        self.config.renew(source, &changes)?;
        self.version = version;
        Ok(())
    }

    /// Has the host and the system take what was read last.
    fn reload(&mut self, keeper: &Keeper, source: &Source) -> Result<Reloaded, Failure> {
        let config = &self.config;
        let members = members(config, source, &self.resolvers)?;
        let wiring = Wiring::new(config);
        let plan = wiring.split(config);
        // Without a place for a former key the keys stay.
        let keys = config.former_key_file().map(|_| config.keys(source));
        let keys = keys.transpose()?;
        let own_keys = keys.as_ref().map_or(self.own_keys, PublicKeys::of);
        refuse_own_key(config, own_keys, source)?;
        self.check(&wiring, plan.as_ref(), source)?;
        let memory = memory_of_peers(&members, config, plan.as_ref())?;
        keeper.apply().map_err(Failure::broken)?;
        let former = config.former_keys(unix_seconds()).into_iter().collect();
        let (mut inputs, report) = differences(&self.members, &members, &former);
        if memory != self.memory {
            // For a moment the memory suffices for both, so that the order of the changes does not matter.
            inputs.insert(0, Input::Memory(self.memory + memory));
        }
        inputs.push(Input::Memory(memory));
        if let Some(keys) = keys.filter(|_| own_keys != self.own_keys) {
            inputs.insert(0, Input::Keys(Box::new(keys)));
            self.own_keys = own_keys;
        }
        (self.members, self.memory) = (members, memory);
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
