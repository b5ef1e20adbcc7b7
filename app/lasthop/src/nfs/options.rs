//! What all subcommands understand.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use files::{BlockSize, Window};
use rpc::message::{Credentials, Identity, SystemCredentials};
use rpc::{Adaptive, Exponential, HybridLinear, Linear, Policy};
use runtime::files::{ConnectOptions, SourcePort, Transport};
use runtime::signals::ENDING;
use serde::Deserialize;
use units::{Bytes, Duration};

use crate::config::Source;
use crate::entropy;
use crate::failure::Failure;

/// The most groups that a call can tell of, beside the first.
const GROUPS_MAX: usize = 16;

/// Which rule says when a call is sent again.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PolicyName {
    /// The classic client's doubling
    Exponential,
    /// A constant more each time
    Linear,
    /// A constant more a few times, then doubling
    HybridLinear,
    /// By measured round trips and what the hop reports
    Adaptive,
}

impl From<PolicyName> for Policy {
    fn from(name: PolicyName) -> Self {
        match name {
            PolicyName::Exponential => Self::Exponential(Exponential::default()),
            PolicyName::Linear => Self::Linear(Linear::default()),
            PolicyName::HybridLinear => Self::HybridLinear(HybridLinear::default()),
            PolicyName::Adaptive => Self::Adaptive(Adaptive::default()),
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Proto {
    /// UDP if the server answers there, else TCP
    Auto,
    Udp,
    Tcp,
}

/// A user and groups, by number.
#[derive(Debug, Clone)]
struct Caller(Identity);

impl FromStr for Caller {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("'{text}' is not UID:GID, or UID:GID,GID,... with up to 16 groups more");
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

fn block(text: &str) -> Result<BlockSize, String> {
    if text == "auto" {
        return Ok(BlockSize::Auto);
    }
    let bytes = match text.parse::<u64>() {
        Ok(bytes) => bytes,
        Err(_) => text.parse::<Bytes>().map_err(|e| e.to_string())?.get(),
    };
    let size = u32::try_from(bytes)
        .ok()
        .filter(|size| (files::BLOCK_MIN..=files::BLOCK_MAX).contains(size));
    size.map(BlockSize::Fixed)
        .ok_or_else(|| "a block has 1024 to 32768 bytes, or 'auto'".into())
}

fn window(text: &str) -> Result<Window, String> {
    match (text, text.parse()) {
        ("auto", _) => Ok(Window::Auto),
        (_, Ok(blocks)) if (1..=1_024).contains(&blocks) => Ok(Window::Fixed(blocks)),
        _ => Err("a window has 1 to 1024 blocks, or 'auto'".into()),
    }
}

/// What a configuration file can say.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Configuration {
    files: files::Config,
    calls: rpc::Config,
}

/// How the server is reached and asked.
#[derive(Debug, Args)]
#[command(next_help_heading = "How the server is reached and asked")]
pub(super) struct Options {
    /// When a call is sent again [default: adaptive]
    #[arg(long, value_enum, global = true)]
    policy: Option<PolicyName>,
    /// Bytes of one READ or WRITE: 1024 to 32768, such as '4 KiB' or 4096, or 'auto'
    #[arg(long, value_name = "SIZE", value_parser = block, global = true)]
    block: Option<BlockSize>,
    /// READs and WRITEs on their way at once, or 'auto'
    #[arg(long, value_name = "N", value_parser = window, global = true)]
    window: Option<Window>,
    /// Give up when the server is silent for so long, such as '1 min' [default: never]
    #[arg(long, value_name = "TIME", global = true)]
    soft: Option<Duration>,
    /// The transport; an address can say it too (?proto=)
    #[arg(long, value_enum, global = true)]
    proto: Option<Proto>,
    /// In whose name [default: this process's user and groups]
    #[arg(long, value_name = "UID:GID[,GID...]", global = true)]
    caller: Option<Caller>,
    /// How long the server may take to answer at all
    #[arg(long, value_name = "TIME", default_value = "30 s", global = true)]
    connect_time: Duration,
    /// Call from any local port, not from a privileged one where that is permitted
    #[arg(long, global = true)]
    any_port: bool,
    /// Where a daemon tells of fades and hand-offs, or `lasthop emulate --signals` [default: the mobile host's, if it
    /// runs]
    #[arg(long, value_name = "SOCKET", global = true)]
    signals: Option<PathBuf>,
    /// Do not listen to the daemon of the hop
    #[arg(long, global = true, conflicts_with = "signals")]
    no_signals: bool,
    /// A TOML file with the tables `files` and `calls`; what is said here comes before it
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

impl Options {
    /// How connections are made.
    pub(super) fn connect_options(&self) -> Result<ConnectOptions, Failure> {
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
        files.check().map_err(Failure::setting)?;
        calls.check().map_err(Failure::setting)?;
        let mut seed = [0; 8];
        entropy::fill(&mut seed);
        Ok(ConnectOptions {
            files,
            calls,
            caller: Arc::new(self.credentials()?),
            time: self.connect_time,
            source_port: if self.any_port {
                SourcePort::Any
            } else {
                SourcePort::Reserved
            },
            seed: u64::from_le_bytes(seed),
        })
    }

    /// The transport, if the command line says it.
    pub(super) fn transport(&self) -> Option<Transport> {
        self.proto.map(|proto| match proto {
            Proto::Auto => Transport::Auto,
            Proto::Udp => Transport::Udp,
            Proto::Tcp => Transport::Tcp,
        })
    }

    /// Where signals are told, unless nobody is to listen.
    pub(super) fn signals(&self) -> Option<PathBuf> {
        let usual = || Path::new(edges::undo::STATE_FOLDER).join(format!("mobile.{ENDING}"));
        (!self.no_signals).then(|| self.signals.clone().unwrap_or_else(usual))
    }

    fn credentials(&self) -> Result<Credentials, Failure> {
        let identity = match &self.caller {
            Some(Caller(identity)) => identity.clone(),
            None => own_identity()?,
        };
        let system = rustix::system::uname();
        let machine = system.nodename().to_string_lossy();
        let stamp = std::process::id();
        SystemCredentials::new(stamp, &machine, identity)
            .map(Credentials::System)
            .map_err(Failure::setting)
    }
}

/// The user and the groups that this process belongs to; of many groups, the first 16.
fn own_identity() -> Result<Identity, Failure> {
    let group = rustix::process::getegid();
    let groups = rustix::process::getgroups()
        .map_err(|error| Failure::broken(format!("cannot list this process's groups: {error}")))?;
    let others = groups.into_iter().filter(|other| *other != group);
    Ok(Identity {
        user: rustix::process::geteuid().as_raw(),
        group: group.as_raw(),
        groups: others
            .take(GROUPS_MAX)
            .map(rustix::process::Gid::as_raw)
            .collect(),
    })
}
