//! How a server behaves.

pub use machine::ConfigError;
use machine::check_rules;
use nfs::Path;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Probability};

/// How a [`Server`](crate::Server) behaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Decides on chances, verifiers and handles.
    pub seed: u64,
    /// The path by which the file system is mounted.
    pub export: String,
    /// Where a port mapper says that NFS and MOUNT listen; 0: it knows neither.
    pub port: u16,
    /// What the server's clock shows at the origin of time, in seconds since 1970 began.
    pub epoch: u32,
    /// What the disk holds. Content counts in blocks of 4 KiB; a file costs one block more, a name 512 bytes.
    pub disk: Bytes,
    /// The largest READ and WRITE that FSINFO tells of, in bytes.
    pub transfer: u32,
    /// The longest message that the server really takes (`GARBAGE_ARGS` beyond) and sends (`SYSTEM_ERR` beyond).
    pub longest_message: Bytes,
    /// Whether it has READDIRPLUS.
    pub read_directory_plus: bool,
    /// How many replies it remembers; 0: none, so that copies of a call are executed.
    pub reply_cache: usize,
    /// How long calls take.
    pub service: Service,
    /// What goes wrong by chance.
    pub faults: Faults,
}

/// How long calls take. They are served one after the other, as by one disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Service {
    /// Each call.
    pub per_call: Duration,
    /// Each byte of the longer one of a call and its reply, in addition.
    pub per_byte: Duration,
    /// Calls that wait, at most, in bytes; what comes beyond them is lost.
    pub receive_buffer: Bytes,
}

/// What goes wrong, and how often. All chances are drawn from streams of their own.
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
    /// By how much, at most.
    pub delay: Duration,
    /// A reply has the number of another call.
    pub wrong_transactions: Probability,
    /// A reply is cut, or has bytes behind its end.
    pub broken_replies: Probability,
    /// A call is not executed but answered `NFS3ERR_JUKEBOX`.
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
    /// The least that servers can, as unfs3 does: no reply cache, no READDIRPLUS, and messages of 8,800 bytes where
    /// FSINFO says 32,768.
    pub fn least() -> Self {
        Self {
            longest_message: Bytes::new(8_800),
            read_directory_plus: false,
            reply_cache: 0,
            ..Self::default()
        }
    }

    /// Says what is wrong with the configuration, if anything is.
    ///
    /// # Errors
    /// The first value that makes no sense.
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
