//! The configuration of a server.

pub use machine::ConfigError;
use machine::check_rules;
use nfs::Path;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Probability};

/// Configuration of a [`Server`](crate::Server).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Seed of random faults, verifiers and handles.
    pub seed: u64,
    /// Path of the export, by which the file system is mounted.
    pub export: String,
    /// Port of NFS and MOUNT that the port mapper reports; 0: it knows neither.
    pub port: u16,
    /// Time of the server's clock at the origin of time, in seconds since the start of 1970.
    pub epoch: u32,
    /// Capacity of the disk. Content counts in blocks of 4 KiB; a file takes one block more, a name 512 bytes.
    pub disk: Bytes,
    /// Largest READ and WRITE that FSINFO reports, in bytes.
    pub transfer: u32,
    /// Size of the longest message that the server really takes (`GARBAGE_ARGS` beyond) and sends (`SYSTEM_ERR`
    /// beyond).
    pub longest_message: Bytes,
    /// True if it supports READDIRPLUS.
    pub read_directory_plus: bool,
    /// Number of replies in the reply cache; 0: none, so that copies of a call are executed.
    pub reply_cache: usize,
    /// Service times of calls.
    pub service: Service,
    /// Random faults.
    pub faults: Faults,
}

/// Service times of calls. Calls are served one after the other, as by one disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Service {
    /// Time of each call.
    pub per_call: Duration,
    /// Additional time for each byte of the longer one of a call and its reply.
    pub per_byte: Duration,
    /// Largest size of waiting calls, in bytes; calls beyond it are lost.
    pub receive_buffer: Bytes,
}

/// Probabilities of faults. Each fault is drawn from a stream of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// A call does not arrive.
    pub lost_requests: Probability,
    /// A call arrives twice.
    pub repeated_requests: Probability,
    /// A reply does not leave.
    pub lost_replies: Probability,
    /// A reply leaves late, and others overtake it.
    pub delayed_replies: Probability,
    /// Largest delay of such a reply.
    pub delay: Duration,
    /// A reply carries the transaction number of another call.
    pub wrong_transactions: Probability,
    /// A reply is cut, or has extra bytes at its end.
    pub broken_replies: Probability,
    /// A call is not executed but answered with `NFS3ERR_JUKEBOX`.
    pub try_later: Probability,
    /// A READ or WRITE moves fewer bytes than it could.
    pub short_transfers: Probability,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            export: "/export".into(),
            port: 2_049,
            epoch: 1_000_000_000,
            disk: Bytes::mebi(256),
            transfer: 32_768,
            longest_message: Bytes::new(65_507),
            read_directory_plus: true,
            reply_cache: 1_024,
            service: Service::default(),
            faults: Faults::default(),
        }
    }
}

impl Default for Service {
    fn default() -> Self {
        Self {
            per_call: Duration::ZERO,
            per_byte: Duration::ZERO,
            receive_buffer: Bytes::mebi(4),
        }
    }
}

impl Config {
    /// Returns the configuration of a minimal server such as unfs3: no reply cache, no READDIRPLUS, and messages of
    /// 8,800 bytes where FSINFO reports 32,768.
    pub fn least() -> Self {
        Self {
            longest_message: Bytes::new(8_800),
            read_directory_plus: false,
            reply_cache: 0,
            ..Self::default()
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// If a value makes no sense; the error names the first one.
    pub fn check(&self) -> Result<(), ConfigError> {
        check_rules(
            "file server",
            &[
                (
                    self.export.starts_with('/') && Path::new(self.export.as_bytes()).is_ok(),
                    "`export` must begin with `/` and have at most 1,024 bytes, none of them zero",
                ),
                (
                    (65_536..=1 << 40).contains(&self.disk.get()),
                    "`disk` must lie between 64 KiB and 1,024 GiB",
                ),
                (self.transfer >= 512, "`transfer` must be at least 512"),
                (
                    (1_024..=1 << 24).contains(&self.longest_message.get()),
                    "`longest_message` must lie between 1 KiB and 16 MiB",
                ),
                (
                    self.reply_cache <= 1 << 20,
                    "`reply_cache` must be at most 1,048,576 replies",
                ),
                (
                    (self.longest_message..=Bytes::mebi(1_024))
                        .contains(&self.service.receive_buffer),
                    "`receive_buffer` must lie between `longest_message` and 1,024 MiB",
                ),
            ],
        )
    }
}
