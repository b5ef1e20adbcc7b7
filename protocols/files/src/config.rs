//! How a client behaves.

pub use machine::ConfigError;
use machine::check_rules;
use nfs::{Limits, ServerAbilities};
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

/// The smallest and the largest block.
pub const BLOCK_MIN: u32 = 1_024;
/// The largest block.
pub const BLOCK_MAX: u32 = 32_768;

/// How many bytes one READ or WRITE moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockSize {
    /// By what the hop loses, and how many fragments a block has.
    Auto,
    /// Always so many, from [`BLOCK_MIN`] to [`BLOCK_MAX`].
    Fixed(u32),
}

/// How many blocks are on their way at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// As many as the hop carries.
    Auto,
    /// Always so many.
    Fixed(usize),
}

/// When written data are safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Writes {
    /// The server takes them into its memory, and one COMMIT makes them safe.
    #[default]
    Unstable,
    /// Each WRITE is safe when the server answers it, as in version 2 of the protocol.
    Synchronous,
}

/// For how long what is known of files is taken for true. The rule is that of the usual clients: as long as the file
/// has not changed, within these bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Validity {
    /// A file, at least.
    pub file_min: Duration,
    /// A file, at most.
    pub file_max: Duration,
    /// A directory, at least.
    pub directory_min: Duration,
    /// A directory, at most.
    pub directory_max: Duration,
}

impl Default for Validity {
    /// Those of nfs(5).
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
    /// Nothing is taken for true without asking.
    pub const NONE: Self = Self {
        file_min: Duration::ZERO,
        file_max: Duration::ZERO,
        directory_min: Duration::ZERO,
        directory_max: Duration::ZERO,
    };
}

/// How a [`Client`](crate::Client) behaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The size of blocks.
    pub block: BlockSize,
    /// Blocks on their way.
    pub window: Window,
    /// When written data are safe.
    pub writes: Writes,
    /// Calls fail when there was no reply for so long (soft); without it, never (hard). Written data are kept.
    pub patience: Option<Duration>,
    /// For how long what is known is taken for true.
    pub validity: Validity,
    /// Written data that the client keeps, at most; writers wait beyond that.
    pub dirty_limit: Bytes,
    /// Written data wait no longer for more of their block.
    pub write_after: Duration,
    /// Requests that wait for the server, at most; more are refused.
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

/// What the server said of itself, as far as the client goes by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// The largest READ, in bytes.
    pub read: u32,
    /// The largest WRITE, in bytes.
    pub write: u32,
    /// The page of a directory that it prefers, in bytes.
    pub directory: u32,
    /// It has no READDIRPLUS.
    pub lacks_plus: bool,
}

impl ServerLimits {
    /// What FSINFO says, within what is believed.
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

/// What a server's answers may hold.
pub(crate) const LIMITS: Limits = Limits::USUAL;

impl Config {
    /// Says what is wrong with the configuration, if anything is.
    ///
    /// # Errors
    /// The first value that makes no sense.
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
