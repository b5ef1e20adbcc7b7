//! What stands behind `-o`.

use std::path::{Path, PathBuf};

use files::{BlockSize, Config, Window};
use nfs::url::Proto;
use rpc::{Adaptive, Exponential, HybridLinear, Linear, Policy};
use runtime::signals::ENDING;
use units::Duration;

use crate::failure::Failure;

#[cfg(test)]
mod tests;

/// What of mount(8) changes nothing here, and is what holds anyway.
const WITHOUT_EFFECT: [&str; 16] = [
    "defaults",
    "_netdev",
    "nofail",
    "auto",
    "noauto",
    "user",
    "nouser",
    "nosuid",
    "nodev",
    "noatime",
    "nodiratime",
    "relatime",
    "async",
    "intr",
    "nolock",
    "nfs",
];
/// How long a soft mount waits if it is not said.
const SOFT: Duration = Duration::from_secs(60);

/// When `fsync` and `close` say that all is well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Durability {
    /// When it is on the server's disk.
    #[default]
    Server,
}

/// How to mount.
#[derive(Debug, Clone)]
pub(super) struct Options {
    /// How the client of files behaves.
    pub(super) files: Config,
    pub(super) policy: Option<Policy>,
    pub(super) durability: Durability,
    pub(super) read_only: bool,
    /// Whether other users may look into it, if it is said.
    pub(super) allow_other: Option<bool>,
    /// Whether to go on in the background while the server does not answer.
    pub(super) background: bool,
    pub(super) any_port: bool,
    pub(super) log: Option<PathBuf>,
    /// Where the hop's fades and hand-offs are told, unless nobody is to listen.
    pub(super) signals: Option<PathBuf>,
    /// What can also stand behind the address.
    pub(super) url: nfs::url::UrlOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            files: Config::default(),
            policy: None,
            durability: Durability::default(),
            read_only: false,
            allow_other: None,
            background: false,
            any_port: false,
            log: None,
            signals: Some(Path::new(edges::undo::STATE_FOLDER).join(format!("mobile.{ENDING}"))),
            url: nfs::url::UrlOptions::default(),
        }
    }
}

/// Why an option is not taken.
type Reason = String;

impl Options {
    /// Reads options; of two that say the same, the last counts.
    pub(super) fn parse(texts: &[String]) -> Result<Self, Failure> {
        let mut options = Self::default();
        for text in texts.iter().map(|text| text.trim()) {
            let taken = match text.split_once('=') {
                _ if text.is_empty() => Ok(()),
                Some((name, value)) => options.take_value(name, value),
                None => options.take_word(text),
            };
            taken.map_err(|reason| Failure::setting(format!("-o {text}: {reason}")))?;
        }
        options.files.check().map_err(Failure::setting)?;
        Ok(options)
    }

    fn take_word(&mut self, word: &str) -> Result<(), Reason> {
        match word {
            "hard" => self.files.patience = None,
            "soft" | "softerr" => self.files.patience = Some(SOFT),
            "ro" => self.read_only = true,
            "rw" => self.read_only = false,
            "sync" => self.files.writes = files::Writes::Synchronous,
            "noac" => self.files.validity = files::Validity::NONE,
            "ac" => self.files.validity = files::Validity::default(),
            "udp" => self.url.proto = Some(Proto::Udp),
            "tcp" => self.url.proto = Some(Proto::Tcp),
            "allow_other" => self.allow_other = Some(true),
            "noallow_other" => self.allow_other = Some(false),
            "bg" => self.background = true,
            "fg" => self.background = false,
            "resvport" => self.any_port = false,
            "nosignals" => self.signals = None,
            "noresvport" => self.any_port = true,
            "lock" => return Err("locks hold on this host only; say nolock".into()),
            word if WITHOUT_EFFECT.contains(&word) => {}
            _ => return Err("unknown; `lasthop mount --help` lists the options".into()),
        }
        Ok(())
    }

    fn take_value(&mut self, name: &str, value: &str) -> Result<(), Reason> {
        let url = &mut self.url;
        let validity = &mut self.files.validity;
        match name {
            "soft" => self.files.patience = Some(time(value)?),
            "block" => self.files.block = block(value)?,
            "window" => self.files.window = window(value)?,
            "policy" => self.policy = Some(policy(value)?),
            "rsize" => url.read_size = Some(number(value)?),
            "wsize" => url.write_size = Some(number(value)?),
            "port" | "nfsport" => url.nfs_port = Some(number(value)?),
            "mountport" => url.mount_port = Some(number(value)?),
            "export" => url.export = Some(value.into()),
            "proto" | "mountproto" => url.proto = Some(proto(value)?),
            "acregmin" => validity.file_min = time(value)?,
            "acregmax" => validity.file_max = time(value)?,
            "acdirmin" => validity.directory_min = time(value)?,
            "acdirmax" => validity.directory_max = time(value)?,
            "actimeo" => {
                let time = time(value)?;
                *validity = files::Validity {
                    file_min: time,
                    file_max: time,
                    directory_min: time,
                    directory_max: time,
                };
            }
            "signals" => self.signals = Some(value.into()),
            "log" => {
                self.log = Some(std::path::absolute(value).map_err(|error| error.to_string())?);
            }
            "durability" if value == "server" => self.durability = Durability::Server,
            "durability" => return Err("only `server` is there so far".into()),
            "vers" | "nfsvers" if value == "3" => {}
            "vers" | "nfsvers" => return Err("only version 3 is spoken".into()),
            "sec" if value == "sys" => {}
            "sec" => return Err("only `sys` is there".into()),
            "local_lock" => {}
            _ => return Err("unknown; `lasthop mount --help` lists the options".into()),
        }
        Ok(())
    }
}

fn number<T: std::str::FromStr>(value: &str) -> Result<T, Reason> {
    value
        .parse()
        .map_err(|_| format!("`{value}` is no such number"))
}

/// A time with its unit, or seconds, as mount(8) has them.
fn time(value: &str) -> Result<Duration, Reason> {
    match value.parse::<u32>() {
        Ok(seconds) => Ok(Duration::from_secs(seconds.into())),
        Err(_) => value.parse().map_err(|error| format!("{error}")),
    }
}

fn block(value: &str) -> Result<BlockSize, Reason> {
    match value {
        "auto" => Ok(BlockSize::Auto),
        value => number(value).map(BlockSize::Fixed),
    }
}

fn window(value: &str) -> Result<Window, Reason> {
    match value {
        "auto" => Ok(Window::Auto),
        value => number(value).map(Window::Fixed),
    }
}

fn proto(value: &str) -> Result<Proto, Reason> {
    match value {
        "udp" => Ok(Proto::Udp),
        "tcp" => Ok(Proto::Tcp),
        "auto" => Ok(Proto::Auto),
        _ => Err("udp, tcp or auto".into()),
    }
}

fn policy(value: &str) -> Result<Policy, Reason> {
    match value {
        "adaptive" => Ok(Policy::Adaptive(Adaptive::default())),
        "exponential" => Ok(Policy::Exponential(Exponential::default())),
        "linear" => Ok(Policy::Linear(Linear::default())),
        "hybrid-linear" => Ok(Policy::HybridLinear(HybridLinear::default())),
        _ => Err("adaptive, exponential, linear or hybrid-linear".into()),
    }
}
