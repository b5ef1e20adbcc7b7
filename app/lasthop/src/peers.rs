//! `lasthop peers`, `revoke` and `rename`: the mobile hosts of a gateway, and the other gateways of its site.

use std::path::PathBuf;

use clap::Args;
use runtime::control::ask_status;
use serde_json::{Value, json};

use crate::config::Source;
use crate::config::entry::{Entry, Kind};
use crate::daemon::unix_seconds;
use crate::failure::Failure;
use crate::invite::{configuration, notify};
use crate::lifetime;
use crate::state::{Members, STATE, State};
use crate::status::ENDING;

/// The gateway that is meant.
#[derive(Debug, Args)]
pub(crate) struct Gateway {
    /// The configuration [default: that of `lasthop gateway up`]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of `lasthop gateway up`
    #[arg(long, value_name = "FOLDER", default_value = STATE)]
    state: PathBuf,
}

impl Gateway {
    /// Returns the configuration of the mobile host that is meant instead: a given one of such a host, or that of
    /// `lasthop join`, if this host is no gateway.
    pub(crate) fn mobile_instead(&self) -> Result<Option<PathBuf>, Failure> {
        if let Some(path) = &self.config {
            let is_mobile = Source::read(path)?.is_of_mobile()?;
            return Ok(is_mobile.then(|| path.clone()));
        }
        if State::of_gateway(&self.state)?.configuration().exists() {
            return Ok(None);
        }
        let path = State::of_mobile(&self.state)?.configuration();
        Ok(path.exists().then_some(path))
    }

    pub(crate) fn load(&self) -> Result<Members, Failure> {
        Members::load(&configuration(self.config.as_deref(), &self.state)?)
    }
}

/// List the mobile hosts of this gateway, and the other gateways of its site: names, addresses and states.
#[derive(Debug, Args)]
pub(crate) struct PeersArguments {
    /// Print them as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    gateway: Gateway,
}

/// Revoke a mobile host, or a gateway of the site: it is a stranger from now on, and its open invitation is worth
/// nothing. Others notice nothing.
#[derive(Debug, Args)]
pub(crate) struct RevokeArguments {
    /// Its name
    name: String,
    #[command(flatten)]
    gateway: Gateway,
}

/// Give a mobile host, or a gateway of the site, another name; it connects anew.
#[derive(Debug, Args)]
pub(crate) struct RenameArguments {
    /// Its name
    name: String,
    /// Its name from now on
    other: String,
    #[command(flatten)]
    gateway: Gateway,
}

/// Prints the hosts.
pub(crate) fn list(arguments: &PeersArguments) -> Result<(), Failure> {
    let members = arguments.gateway.load()?;
    for warning in members.warnings() {
        eprintln!("warning: {warning}");
    }
    let name = &members.config.name.0;
    let folder = members.source.file(&members.config.state_dir);
    let status = ask_status::<Value>(&folder.join(format!("{name}.{ENDING}")));
    let status = status.unwrap_or_default();
    let entries = members.config.entries();
    let rows: Vec<_> = entries.map(|entry| Row::of(&entry, &status)).collect();
    if arguments.json {
        let rows: Vec<_> = rows.iter().map(Row::json).collect();
        println!("{}", Value::Array(rows));
        return Ok(());
    }
    let width = rows
        .iter()
        .map(|row| row.name.len())
        .max()
        .unwrap_or_default();
    for row in &rows {
        let state = row.state_in_words();
        println!(
            "{:width$}  {state:30}  {}",
            row.name,
            row.addresses.join(" ")
        );
    }
    if rows.is_empty() {
        println!("No mobile host yet; `lasthop invite --name NAME` invites one.");
    }
    Ok(())
}

/// A host in the list.
struct Row {
    kind: Kind,
    name: String,
    state: String,
    addresses: Vec<String>,
}

impl Row {
    fn of(entry: &Entry<'_>, status: &Value) -> Self {
        let name = entry.name.to_owned();
        let peers = status["host"]["peers"].as_array();
        let known = peers.and_then(|peers| peers.iter().find(|peer| peer["name"] == *name));
        let invited = entry.invitation.map(|invited| invited.expires);
        let now = unix_seconds();
        let state = match (entry.key, known, invited) {
            (None, _, Some(expires)) if expires <= now => "invitation expired".into(),
            (None, _, Some(expires)) => {
                format!("invited, {} left", lifetime::in_words(expires - now))
            }
            (_, None, _) if status.is_null() => "joined (the gateway is off)".into(),
            (_, Some(peer), _) if peer["keys_age"].is_null() => "away".into(),
            (_, Some(peer), _) if peer["knows_former_key"] == true => {
                "connected, by the former key".into()
            }
            (_, Some(_), _) => "connected".into(),
            _ => "away".into(),
        };
        let addresses = entry.networks.iter().map(|network| match network {
            host if host.prefix_len() == host.max_prefix_len() => host.addr().to_string(),
            network => network.to_string(),
        });
        Self {
            kind: entry.kind,
            name,
            state,
            addresses: addresses.collect(),
        }
    }

    fn state_in_words(&self) -> String {
        match self.kind {
            Kind::Mobile => self.state.clone(),
            Kind::Gateway => format!("gateway: {}", self.state),
        }
    }

    fn json(&self) -> Value {
        let kind = match self.kind {
            Kind::Mobile => "mobile",
            Kind::Gateway => "gateway",
        };
        json!({ "name": self.name, "kind": kind, "state": self.state, "addresses": self.addresses })
    }
}

/// Revokes a host.
pub(crate) fn revoke(arguments: &RevokeArguments) -> Result<(), Failure> {
    let mut members = arguments.gateway.load()?;
    members.revoke(&arguments.name)?;
    notify(&members)?;
    eprintln!("{} is revoked.", arguments.name);
    Ok(())
}

/// Gives a host another name.
pub(crate) fn rename(arguments: &RenameArguments) -> Result<(), Failure> {
    let mut members = arguments.gateway.load()?;
    members.rename(&arguments.name, &arguments.other)?;
    notify(&members)?;
    eprintln!("{} is {} now.", arguments.name, arguments.other);
    Ok(())
}
