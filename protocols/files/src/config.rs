//! The configuration of a client.

pub use machine::ConfigError;
use machine::check_rules;
use nfs::{Limits, ServerAbilities};
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

/// The smallest block, in bytes.
pub const BLOCK_MIN: u32 = 1_024;
/// The largest block, in bytes.
pub const BLOCK_MAX: u32 = 32_768;

/// Number of bytes that one READ or WRITE moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockSize {
    /// Chosen from the losses of the hop and the fragments of a block.
    Auto,
    /// A fixed number, from [`BLOCK_MIN`] to [`BLOCK_MAX`].
    Fixed(u32),
}

/// Number of blocks in flight at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// As many as the hop carries.
    Auto,
    /// A fixed number.
    Fixed(usize),
}

/// The way in which written data are made safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Writes {
    /// The server takes them into its memory, and one COMMIT makes them safe.
    #[default]
    Unstable,
    /// Each WRITE is safe when the server answers it, as in version 2 of the protocol.
    Synchronous,
}

/// Validity of cached attributes and names. The rule is that of the usual clients: as long as the file has not changed,
/// within these bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Validity {
    /// Least validity for a file.
    pub file_min: Duration,
    /// Largest validity for a file.
    pub file_max: Duration,
    /// Least validity for a directory.
    pub directory_min: Duration,
    /// Largest validity for a directory.
    pub directory_max: Duration,
}

impl Default for Validity {
    /// Returns the defaults of nfs(5).
    fn default() -> Self {
        Self {
            file_min: Duration::from_secs(3),
            file_max: Duration::from_secs(60),
            directory_min: Duration::from_secs(30),
            directory_max: Duration::from_secs(60),
        }
    }
}

impl Validity {
    /// No validity: every use asks the server.
    pub const NONE: Self = Self {
        file_min: Duration::ZERO,
        file_max: Duration::ZERO,
        directory_min: Duration::ZERO,
        directory_max: Duration::ZERO,
    };
}

/// Configuration of a [`Client`](crate::Client).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The size of blocks.
    pub block: BlockSize,
    /// Number of blocks in flight.
    pub window: Window,
    /// The way in which written data are made safe.
    pub writes: Writes,
    /// Time without a reply after which calls fail (soft); if unset, never (hard). Written data are kept.
    pub patience: Option<Duration>,
    /// Validity of cached attributes and names.
    pub validity: Validity,
    /// Limit of the written data that the client keeps; writers wait beyond it.
    pub dirty_limit: Bytes,
    /// Longest time for which written data wait for more of their block.
    pub write_after: Duration,
    /// Limit of requests that wait for the server; more are refused.
    pub requests: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            block: BlockSize::Auto,
            window: Window::Auto,
            writes: Writes::default(),
            patience: None,
            validity: Validity::default(),
            dirty_limit: Bytes::mebi(32),
            write_after: Duration::from_secs(2),
            requests: 4_096,
        }
    }
}

/// Limits that the server reported, as far as the client uses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// The largest READ, in bytes.
    pub read: u32,
    /// The largest WRITE, in bytes.
    pub write: u32,
    /// The size of a directory page that the server prefers, in bytes.
    pub directory: u32,
    /// True if the server has no READDIRPLUS.
    pub lacks_plus: bool,
}

impl ServerLimits {
    /// Takes the limits from an FSINFO reply, bounded to plausible values.
    pub fn new(abilities: &ServerAbilities) -> Self {
        Self {
            read: abilities.read.fitting(BLOCK_MAX),
            write: abilities.write.fitting(BLOCK_MAX),
            directory: abilities.directory_preferred.clamp(1_024, BLOCK_MAX),
            lacks_plus: false,
        }
    }
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            read: BLOCK_MAX,
            write: BLOCK_MAX,
            directory: 8_192,
            lacks_plus: false,
        }
    }
}

/// Limits of what the client accepts in a server's replies.
pub(crate) const LIMITS: Limits = Limits::USUAL;

impl Config {
    /// Checks the configuration.
    ///
    /// # Errors
    /// Returns an error for the first invalid value.
    pub fn check(&self) -> Result<(), ConfigError> {
        let block_fits = match self.block {
            BlockSize::Auto => true,
            BlockSize::Fixed(size) => (BLOCK_MIN..=BLOCK_MAX).contains(&size),
        };
        let window_fits = match self.window {
            Window::Auto => true,
            Window::Fixed(blocks) => (1..=1_024).contains(&blocks),
        };
        check_rules(
            "files",
            &[
                (
                    block_fits,
                    "`block` must lie between 1,024 and 32,768 bytes",
                ),
                (window_fits, "`window` must lie between 1 and 1,024 blocks"),
                (
                    self.dirty_limit.get() >= 65_536,
                    "`dirty_limit` must be at least 64 KiB",
                ),
                (self.requests > 0, "`requests` must be at least 1"),
                (
                    self.patience.is_none_or(|patience| !patience.is_zero()),
                    "`patience` must be more than 0 s",
                ),
            ],
        )
    }
}
