//! `lasthop peers`, `revoke` and `rename`: the mobile hosts of a gateway.

use std::path::PathBuf;

use clap::Args;
use runtime::control::ask_status;
use serde_json::{Value, json};

use crate::config::Source;
use crate::config::gateway::Mobile;
use crate::daemon::unix_seconds;
use crate::failure::Failure;
use crate::invite::{configuration, notify};
use crate::lifetime;
use crate::state::{Mobiles, STATE, State};
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

    pub(crate) fn load(&self) -> Result<Mobiles, Failure> {
        Mobiles::load(&configuration(self.config.as_deref(), &self.state)?)
    }
}

/// List the mobile hosts of this gateway: their names, addresses and states.
#[derive(Debug, Args)]
pub(crate) struct PeersArguments {
    /// Print them as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    gateway: Gateway,
}

/// Revoke a mobile host: it is a stranger from now on, and its open invitation is worth nothing. Others notice nothing.
#[derive(Debug, Args)]
pub(crate) struct RevokeArguments {
    /// Its name
    name: String,
    #[command(flatten)]
    gateway: Gateway,
}

/// Give a mobile host another name; it connects anew.
#[derive(Debug, Args)]
pub(crate) struct RenameArguments {
    /// Its name
    name: String,
    /// Its name from now on
    other: String,
    #[command(flatten)]
    gateway: Gateway,
}

/// Prints the mobile hosts.
pub(crate) fn list(arguments: &PeersArguments) -> Result<(), Failure> {
    let mobiles = arguments.gateway.load()?;
    let name = &mobiles.config.name.0;
    let folder = mobiles.source.file(&mobiles.config.state_dir);
    let status = ask_status::<Value>(&folder.join(format!("{name}.{ENDING}")));
    let status = status.unwrap_or_default();
    let rows: Vec<_> = mobiles
        .config
        .peers
        .iter()
        .map(|mobile| Row::of(mobile, &status))
        .collect();
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
    for Row {
        name,
        state,
        addresses,
    } in &rows
    {
        println!("{name:width$}  {:30}  {}", state, addresses.join(" "));
    }
    if rows.is_empty() {
        println!("No mobile host yet; `lasthop invite --name NAME` invites one.");
    }
    Ok(())
}

/// A mobile host in the list.
struct Row {
    name: String,
    state: String,
    addresses: Vec<String>,
}

impl Row {
    fn of(mobile: &Mobile, status: &Value) -> Self {
        let name = mobile.name.get_ref().0.clone();
        let peers = status["host"]["peers"].as_array();
        let known = peers.and_then(|peers| peers.iter().find(|peer| peer["name"] == *name));
        let invited = mobile.invitation.map(|invited| invited.expires);
        let now = unix_seconds();
        let state = match (mobile.key(), known, invited) {
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
        let addresses = mobile.networks().map(|network| match network {
            host if host.prefix_len() == host.max_prefix_len() => host.addr().to_string(),
            network => network.to_string(),
        });
        Self {
            name,
            state,
            addresses: addresses.collect(),
        }
    }

    fn json(&self) -> Value {
        json!({ "name": self.name, "state": self.state, "addresses": self.addresses })
    }
}

/// Revokes a mobile host.
pub(crate) fn revoke(arguments: &RevokeArguments) -> Result<(), Failure> {
    let mut mobiles = arguments.gateway.load()?;
    mobiles.revoke(&arguments.name)?;
    notify(&mobiles)?;
    eprintln!("{} is revoked.", arguments.name);
    Ok(())
}

/// Gives a mobile host another name.
pub(crate) fn rename(arguments: &RenameArguments) -> Result<(), Failure> {
    let mobiles = arguments.gateway.load()?;
    mobiles.rename(&arguments.name, &arguments.other)?;
    notify(&mobiles)?;
    eprintln!("{} is {} now.", arguments.name, arguments.other);
    Ok(())
}
