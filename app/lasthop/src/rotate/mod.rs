//! `lasthop rotate`: replaces the key of a gateway while its mobile hosts stay connected, or that of a mobile host.

mod mobile;

use std::collections::BTreeSet;
use std::iter;

use clap::Args;
use hosts::Told;
use runtime::control::ask_status;
use serde_json::Value;
use session::{PrivateKey, PublicKey};

use crate::config::entry::{Entry, Kind};
use crate::config::site::SiteGateway;
use crate::daemon::unix_seconds;
use crate::failure::Failure;
use crate::invite::notify;
use crate::peers::Gateway;
use crate::state::{Members, load_told, remove};
use crate::status::ENDING;
use crate::{entropy, key_file};

const EXAMPLES: &str = "\
Examples:
  lasthop rotate            the gateway has another key from now on; nobody connects anew for it
  lasthop peers             who knows only the former key still
  lasthop rotate --finish   the former key is worth nothing any more

On a mobile host, `lasthop rotate` replaces its key at once: the gateway takes the next one and refuses the former one.
Connections go on, unless the gateway splits them.

Each mobile host, and each other gateway of the site, that connects learns of the present key. Open join lines work
until the end of the former key. Whoever has stolen the former key can also name a next one: after a theft end it at
once, and invite the mobile hosts again.";

/// Most keys that are made until one has the place of the present one.
const TRIES: usize = 1 << 20;

/// Replace the key of this host, a gateway or a mobile host, while it is connected.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// End the former key of this gateway: mobile hosts that know no other cannot connect any more
    #[arg(long)]
    finish: bool,
    /// With --finish: although some mobile hosts know only the former key
    #[arg(long, requires = "finish")]
    force: bool,
    #[command(flatten)]
    gateway: Gateway,
}

/// Replaces the key, or ends the former one.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(path) = arguments.gateway.mobile_instead()? {
        return if arguments.finish {
            let what = "only a gateway's former key is accepted until --finish ends it; this is a mobile host";
            Err(Failure::setting(what))
        } else {
            mobile::run(&path)
        };
    }
    let members = arguments.gateway.load()?;
    if arguments.finish {
        finish(&members, arguments.force)
    } else {
        begin(&members)
    }
}

fn begin(members: &Members) -> Result<(), Failure> {
    let (config, source) = (&members.config, &members.source);
    let Some(former) = config.former_key_file() else {
        let what = "this gateway has no place for its former key; add `former_private_key_file = \"former.key\"`, and \
                    restart it";
        return Err(source.wrong(None, what));
    };
    let keys = config.keys(source)?;
    let public = keys.key.public_key();
    // After an interruption between the two writes both files hold the same key.
    if let Some(key) = keys.former.filter(|key| key.public_key() != public) {
        let key = key.public_key();
        // The daemon has not heard of it if the last change was interrupted.
        notify(members)?;
        return Err(Failure::setting(format!(
            "mobile hosts may still know only {key}, the key before the present one; `lasthop peers` lists them, and \
             `lasthop rotate --finish` ends it"
        )));
    }
    refuse_open_lines(members)?;
    let next = next_key(&public, &gateways_of(members, public))?;
    key_file::write(&source.file(former), &keys.key.to_text(), true)?;
    key_file::write(
        &source.file(&config.private_key_file),
        &next.to_text(),
        true,
    )?;
    let is_running = notify(members)?;
    println!("{}", next.public_key());
    eprintln!(
        "This is the key of the gateway from now on. {}; `lasthop rotate --finish` ends the former key.",
        if is_running {
            "Those who are connected know it, and the others learn of it when they connect"
        } else {
            "The gateway is off; mobile hosts learn of the key when they connect"
        }
    );
    Ok(())
}

/// Returns the keys of the other gateways of the site that this one knows.
fn gateways_of(members: &Members, own: PublicKey) -> Vec<PublicKey> {
    let named = members.config.gateways.iter().map(SiteGateway::key);
    // What was told is only lost if the file is damaged.
    let told = load_told(&members.source).unwrap_or_default();
    let all = named.chain(told.iter().flat_map(Told::gateways));
    // They tell of this one, too.
    all.filter(|key| *key != own).collect()
}

/// Refuses to replace the key while a line for a gateway is open, which has the present one.
fn refuse_open_lines(members: &Members) -> Result<(), Failure> {
    let is_open = |entry: &Entry<'_>| {
        let expires = entry.invitation.map(|invited| invited.expires);
        entry.kind == Kind::Gateway && expires.is_some_and(|expires| expires > unix_seconds())
    };
    match members.config.entries().find(is_open) {
        None => Ok(()),
        Some(Entry { name, .. }) => Err(Failure::setting(format!(
            "the gateway '{name}' is invited by a line with the present key; have the line used, or end it with \
             `lasthop revoke {name}`, and run this again"
        ))),
    }
}

/// Returns a new key, which sorts among those of the other gateways as the present one: of two gateways the one with
/// the lower key begins handshakes, and that must not change while one of them knows the former key.
fn next_key(present: &PublicKey, others: &[PublicKey]) -> Result<PrivateKey, Failure> {
    let place = |key: &PublicKey| others.iter().filter(|other| *other < key).count();
    let new = || PrivateKey::generate(&mut entropy::fill);
    let next = iter::repeat_with(new)
        .take(TRIES)
        .find(|next| place(&next.public_key()) == place(present));
    next.ok_or_else(|| {
        let what = "found no key that sorts as the present one among those of the other gateways; try again";
        Failure::broken(what)
    })
}

fn finish(members: &Members, force: bool) -> Result<(), Failure> {
    let (config, source) = (&members.config, &members.source);
    let files = config.former_key_file().zip(config.ended_key_file());
    let former = config.keys(source)?.former;
    let (Some((path, ended)), Some(former)) = (files, former) else {
        let what = "no former key is accepted, so there is nothing to end; `lasthop rotate` makes a new key";
        return Err(Failure::setting(what));
    };
    let left = left_behind(members);
    if !left.is_empty() && !force {
        return Err(Failure::setting(format!(
            "not seen with the present key yet: {}; they could not connect any more, and would need lines again; \
             wait until they have connected, or add --force",
            left.join(", ")
        )));
    }
    key_file::write(&source.file(&ended), &former.to_text(), true)?;
    remove(&source.file(path))?;
    notify(members)?;
    eprintln!("The former key has ended. Mobile hosts that know no other are told so for 30 days.");
    Ok(())
}

/// Returns the mobile hosts and gateways that have not been seen to know the present key.
fn left_behind(members: &Members) -> Vec<String> {
    let name = &members.config.name.0;
    let folder = members.source.file(&members.config.state_dir);
    let status = ask_status::<Value>(&folder.join(format!("{name}.{ENDING}")));
    let status = status.unwrap_or_default();
    let peers = status["host"]["peers"].as_array();
    let knows = |name: &str| {
        let peer = peers.and_then(|peers| peers.iter().find(|peer| peer["name"] == name));
        peer.is_some_and(|peer| !peer["keys_age"].is_null() && peer["knows_former_key"] != true)
    };
    let joined = members.config.entries().filter(|entry| entry.key.is_some());
    let told = peers
        .into_iter()
        .flatten()
        .filter(|peer| peer["site"] == "gateway");
    let told = told.filter_map(|peer| peer["name"].as_str());
    let names: BTreeSet<_> = joined.map(|entry| entry.name).chain(told).collect();
    let left = names.into_iter().filter(|name| !knows(name));
    left.map(str::to_owned).collect()
}
