//! The helper's part of a reload: reads the files, since the daemon may not, and adapts the system.

use std::collections::BTreeMap;
use std::path::PathBuf;

use edges::diversion::{Diversion, Networks};
use edges::undo::UndoLog;
use hosts::{ExitChange, Told};
use ipnet::IpNet;
use runtime::helper::{Charge, Claimed, Reload};
use runtime::{Changed, Exit, KeyClaim};
use serde::{Deserialize, Serialize};
use session::PresharedKey;

use super::exits;
use super::follow::Neighbours;
use super::gateway_wiring::Wiring;
use super::split;
use crate::config::gateway::GatewayConfig;
use crate::config::mobile::MobileConfig;
use crate::config::{ReadFiles, Source};
use crate::failure::Failure;
use crate::registry::{self, Follower};
use crate::state::{Members, store_claim, store_gateway_key, store_told};

/// What the helper reads for the daemon.
#[derive(Serialize, Deserialize)]
pub(super) struct Files {
    pub(super) text: String,
    /// Those that the text names; of the files of a gateway's hosts only those that have changed.
    pub(super) named: ReadFiles,
    /// Version of the files of a gateway's hosts.
    pub(super) version: u64,
}

/// What the helper knows.
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
    neighbours: Neighbours,
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
        let follow = present.as_ref().and_then(|system| system.wiring.follow());
        let lan = follow.and_then(|follow| follow.lan.as_deref());
        let is_of_site = |members: &Members| !members.config.gateways.is_empty();
        let neighbours = Neighbours::on(lan, members.as_ref().is_some_and(is_of_site));
        Self {
            path: charge.configuration.clone(),
            link: charge.link.clone(),
            members,
            present,
            next: None,
            installed: charge.installed.clone(),
            exits: Vec::new(),
            neighbours,
            has_claimed: false,
            follower,
        }
    }

    /// Returns the changes of a gateway to the system, with the exits of guests.
    fn wiring(&self, system: &System) -> Wiring {
        let mut wiring = system.wiring.clone();
        wiring.lead_out(&self.exits);
        wiring
    }

    /// Tells neighbours on a LAN which addresses are here since the last call, or of those in `anew`.
    fn tell_neighbours(&mut self, anew: &[IpNet]) {
        let present = self.present.as_ref();
        let present = present.filter(|_| self.neighbours.are_told());
        if let Some(wiring) = present.map(|present| self.wiring(present)) {
            self.neighbours.tell(wiring.proxies(), anew);
        }
    }

    /// Has packets of guests leave here, or no more, as far as possible.
    fn lead_guests_out(&mut self, undo: &mut UndoLog, exits: &[&Exit]) -> Changed {
        let Some(present) = &self.present else {
            return Changed::default();
        };
        let begins = |change| change == ExitChange::Begins;
        let terms = exits::Terms::of(&self.link, &present.wiring);
        let check = |network| {
            let terms = terms.as_ref().map_err(ToString::to_string)?;
            terms.check(network).map_err(|error| error.to_string())
        };
        let before = self.exits.clone();
        let mut changed = Changed::default();
        for Exit { networks, change } in exits {
            self.exits.retain(|known| !networks.contains(known));
            for network in networks.iter().filter(|_| begins(*change)) {
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
        let begun = exits.iter().filter(|exit| begins(exit.change));
        let begun = begun.flat_map(|exit| exit.networks.iter().copied());
        changed.ready = begun
            .filter(|network| self.exits.contains(network))
            .collect();
        changed
    }

    /// Adapts the system to a configuration.
    fn adapt(&self, undo: &mut UndoLog, system: &System) -> Result<(), Failure> {
        let wiring = self.wiring(system);
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
        self.neighbours.start();
        self.tell_neighbours(&[]);
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
        let stays = |exit: &&Exit| exit.change == ExitChange::Stays;
        let (own, of_guests): (Vec<_>, Vec<_>) = exits.iter().partition(stays);
        let changed = match of_guests[..] {
            [] => Changed::default(),
            _ => self.lead_guests_out(undo, &of_guests),
        };
        let own = own.iter().flat_map(|exit| &exit.networks);
        let anew: Vec<_> = own.chain(&changed.ready).copied().collect();
        self.tell_neighbours(&anew);
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
        self.tell_neighbours(&[]);
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
