//! The options that all subcommands have.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use files::{BlockSize, Window};
use nfs::url::{Transport, UrlOptions};
use rpc::message::{GROUPS_MAX, Identity};
use runtime::files::SourcePort;
use serde::Deserialize;
use units::Duration;

use crate::client::ClientOptions;
use crate::client::values::{PolicyName, block, time, window};
use crate::config::Source;
use crate::failure::Failure;

/// A user and groups, by number.
#[derive(Debug, Clone)]
struct Caller(Identity);

impl FromStr for Caller {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("'{text}' is not UID:GID, or UID:GID,GID,... with up to 16 more groups");
        let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
        let (user, groups) = text.split_once(':').ok_or_else(wrong)?;
        let mut groups = groups.split(',').map(number);
        let group = groups.next().ok_or_else(wrong)??;
        let groups = groups.collect::<Result<Vec<_>, _>>()?;
        if groups.len() > GROUPS_MAX {
            return Err(wrong());
        }
        let user = number(user)?;
        Ok(Self(Identity {
            user,
            group,
            groups,
        }))
    }
}

/// The content of a configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Configuration {
    files: files::Config,
    calls: rpc::Config,
}

/// Options of the connection to a server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Access to the server")]
pub(super) struct Options {
    /// The retransmission policy of calls [default: adaptive]
    #[arg(long, value_enum, global = true)]
    policy: Option<PolicyName>,
    /// Bytes of one READ or WRITE: 1024 to 32768, such as '4 KiB' or 4096, or 'auto'
    #[arg(long, value_name = "SIZE", value_parser = block, global = true)]
    block: Option<BlockSize>,
    /// READs and WRITEs in flight at once, or 'auto'
    #[arg(long, value_name = "N", value_parser = window, global = true)]
    window: Option<Window>,
    /// Give up after the server is silent for this time, such as '1 min' [default: never]
    #[arg(long, value_name = "TIME", value_parser = time, global = true)]
    soft: Option<Duration>,
    /// The transport: udp, tcp, or auto (UDP if the server answers there, else TCP); a URL can set it too (?proto=)
    #[arg(long, value_name = "TRANSPORT", global = true)]
    proto: Option<Transport>,
    /// The user and groups of the calls [default: those of this process]
    #[arg(long, value_name = "UID:GID[,GID...]", global = true)]
    caller: Option<Caller>,
    /// The time limit of the first reply
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30 s", global = true)]
    connect_time: Duration,
    /// Call from any local port, even if a privileged one is permitted
    #[arg(long, global = true)]
    any_port: bool,
    /// The socket of a daemon or `lasthop emulate --signals` that reports fades and hand-offs [default: the mobile
    /// host's, if it runs]
    #[arg(long, value_name = "SOCKET", global = true)]
    signals: Option<PathBuf>,
    /// Ignore the signals of the daemon
    #[arg(long, global = true, conflicts_with = "signals")]
    no_signals: bool,
    /// A TOML file with the tables `files` and `calls`; the command line overrides it
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

impl Options {
    /// Returns the settings of the client.
    pub(super) fn client(&self) -> Result<ClientOptions, Failure> {
        let Configuration {
            mut files,
            mut calls,
        } = match &self.config {
            Some(path) => Source::read(path)?.parse()?,
            None => Configuration::default(),
        };
        files.block = self.block.unwrap_or(files.block);
        files.window = self.window.unwrap_or(files.window);
        files.patience = self.soft.or(files.patience);
        if let Some(policy) = self.policy {
            calls.retransmission = policy.into();
        }
        let usual = ClientOptions::default();
        let signals = self.signals.clone().or(usual.signals);
        Ok(ClientOptions {
            files,
            calls,
            caller: self.caller.clone().map(|Caller(identity)| identity),
            connect_time: self.connect_time,
            source_port: if self.any_port {
                SourcePort::Any
            } else {
                SourcePort::Reserved
            },
            signals: signals.filter(|_| !self.no_signals),
            url: UrlOptions {
                transport: self.proto,
                ..UrlOptions::default()
            },
        })
    }
}
