//! Reloading the configuration of a running daemon: checks what the helper has read, and changes the peers of its host.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hosts::{ClaimRefusal, Input, OwnKeys, Resolvers};
use runtime::helper::Claimed;
use runtime::{Ended, KeyClaim, Reloaded, Reloader};
use units::Bytes;

use super::differences::differences;
use super::dns::Offer;
use super::gateway::{Member, members, memory_of_peers, unix_seconds};
use super::gateway_keys::{PublicKeys, refuse_own_key};
use super::gateway_wiring::Wiring;
use super::privileges::Keeper;
use super::reading::Files;
use super::split;
use crate::config::Source;
use crate::config::entry::{Kind, Texts};
use crate::config::gateway::GatewayConfig;
use crate::config::mobile::MobileConfig;
use crate::failure::Failure;

/// Sections and options that may change while a gateway runs.
const LIVE: [&str; 2] = ["caps", "peers"];

/// The configuration that is in force.
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

    /// Returns true for a gateway that answers its neighbours on a LAN for mobile hosts.
    pub(super) fn has_lease(&self) -> bool {
        let follow = |gateway: &Gateway| Some(gateway.config.follow.as_ref()?.lan.is_some());
        self.gateway.as_ref().and_then(follow).unwrap_or_default()
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
