//! The options of `-o`.

use std::path::PathBuf;

use nfs::url::Transport;
use runtime::files::SourcePort;
use units::Duration;

use crate::client::ClientOptions;
use crate::client::values::{block, policy, time, window};
use crate::failure::Failure;

#[cfg(test)]
mod tests;

/// Options of mount(8) without effect, because their meaning holds anyway.
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
/// Default timeout of a soft mount.
const SOFT: Duration = Duration::from_secs(60);

const UNKNOWN: &str = "unknown; `lasthop mount --help` lists the options";

/// Condition for success of `fsync` and `close`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Durability {
    /// The data are on the server's disk.
    #[default]
    Server,
}

/// The options of a mount.
#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    /// Settings of the NFS client.
    pub(super) client: ClientOptions,
    pub(super) durability: Durability,
    pub(super) read_only: bool,
    /// True if other users may access it; `None` if not given.
    pub(super) allow_other: Option<bool>,
    /// True if the mount continues in the background while the server does not answer.
    pub(super) background: bool,
    pub(super) log: Option<PathBuf>,
}

/// Reason why an option is refused.
type Reason = String;

impl Options {
    /// Parses options; of two that set the same, the last one counts.
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
        Ok(options)
    }

    fn take_word(&mut self, word: &str) -> Result<(), Reason> {
        let client = &mut self.client;
        match word {
            "hard" => client.files.patience = None,
            "soft" | "softerr" => client.files.patience = Some(SOFT),
            "ro" => self.read_only = true,
            "rw" => self.read_only = false,
            "sync" => client.files.writes = files::Writes::Synchronous,
            "noac" => client.files.validity = files::Validity::NONE,
            "ac" => client.files.validity = files::Validity::default(),
            "udp" => client.url.transport = Some(Transport::Udp),
            "tcp" => client.url.transport = Some(Transport::Tcp),
            "allow_other" => self.allow_other = Some(true),
            "noallow_other" => self.allow_other = Some(false),
            "bg" => self.background = true,
            "fg" => self.background = false,
            "resvport" => client.source_port = SourcePort::Reserved,
            "noresvport" => client.source_port = SourcePort::Any,
            "nosignals" => client.signals = None,
            "lock" => return Err("locks work on this host only; use nolock".into()),
            word if WITHOUT_EFFECT.contains(&word) => {}
            _ => return Err(UNKNOWN.into()),
        }
        Ok(())
    }

    fn take_value(&mut self, name: &str, value: &str) -> Result<(), Reason> {
        let client = &mut self.client;
        let validity = &mut client.files.validity;
        let mut in_url = |name| {
            let set = client.url.set(name, value.as_bytes());
            set.map_err(|fault| fault.to_string())
        };
        match name {
            "soft" => client.files.patience = Some(time(value)?),
            "block" => client.files.block = block(value)?,
            "window" => client.files.window = window(value)?,
            "policy" => client.calls.retransmission = policy(value)?.into(),
            "export" | "mountport" | "nfsport" | "proto" | "rsize" | "wsize" => in_url(name)?,
            "port" => in_url("nfsport")?,
            "mountproto" => in_url("proto")?,
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
            "signals" => client.signals = Some(value.into()),
            "log" => {
                self.log = Some(std::path::absolute(value).map_err(|error| error.to_string())?);
            }
            "durability" if value == "server" => self.durability = Durability::Server,
            "durability" => return Err("only `server` is supported so far".into()),
            "vers" | "nfsvers" if value == "3" => {}
            "vers" | "nfsvers" => return Err("only version 3 is supported".into()),
            "sec" if value == "sys" => {}
            "sec" => return Err("only `sys` is supported".into()),
            "local_lock" => {}
            _ => return Err(UNKNOWN.into()),
        }
        Ok(())
    }
}
