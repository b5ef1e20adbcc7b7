//! Plans and results of measurements: plain data, so that benchmarks use them too.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use channel::{Direction, Link};
use clap::ValueEnum;
use rig::Usage;
use units::{Bytes, Duration, Instant};

use super::addresses::{ECHO_SERVER, FILE_SERVER};
use super::peer::Peer;
use crate::config::split::Tcp;
use crate::emulate::Report;

/// Scheme that carries the transfer across the hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// The kernel's TCP alone.
    Plain,
    /// The kernel's TCP through lasthop, with this handling of TCP on the hop.
    Lasthop(Tcp),
    /// The kernel's TCP through the tunnel of another project.
    Peer(Arc<Peer>),
}

impl Scheme {
    /// Returns the scheme with this name on the command line; the error is a sentence.
    pub(crate) fn choose(choice: &str) -> Result<Self, String> {
        match choice {
            "plain" => Ok(Self::Plain),
            "lasthop" => Ok(Self::Lasthop(Tcp::Arq)),
            "snoop" => Ok(Self::Lasthop(Tcp::Snoop)),
            "tunnel" => Ok(Self::Lasthop(Tcp::Plain)),
            "split" => Ok(Self::Lasthop(Tcp::Split)),
            "auto" => Ok(Self::Lasthop(Tcp::Auto)),
            file if file.contains(['/', '.']) => Peer::read(Path::new(file))
                .map(Self::Peer)
                .map_err(|failure| failure.to_string()),
            _ => Err(
                "known are plain, tunnel, snoop, split, auto, lasthop, and a peer's file, such as ./peer.toml"
                    .into(),
            ),
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Plain => "plain",
            Self::Lasthop(Tcp::Arq) => "lasthop",
            Self::Lasthop(Tcp::Snoop) => "snoop",
            Self::Lasthop(Tcp::Plain) => "tunnel",
            Self::Lasthop(Tcp::Split) => "split",
            Self::Lasthop(Tcp::Auto) => "auto",
            Self::Peer(peer) => &peer.name,
        }
    }

    /// Describes a sender with this scheme, for people.
    pub(crate) fn describe(&self, sender: &str) -> String {
        match self {
            Self::Plain => format!("TCP {sender} alone"),
            Self::Lasthop(_) | Self::Peer(_) => format!("TCP {sender} through {}", self.name()),
        }
    }

    /// Returns the addresses at which the mobile host reaches the file server and the echo server.
    pub(crate) fn servers(&self) -> (SocketAddr, SocketAddr) {
        match self {
            Self::Plain | Self::Lasthop(_) => (FILE_SERVER, ECHO_SERVER),
            Self::Peer(peer) => (peer.file_server, peer.echo_server),
        }
    }
}

/// Direction of the file transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TransferDirection {
    /// The mobile host fetches it.
    Down,
    /// The mobile host sends it.
    Up,
    /// Both at once.
    Both,
}

impl TransferDirection {
    /// Returns the directions of its transfers.
    pub(crate) const fn directions(self) -> &'static [Direction] {
        match self {
            Self::Down => &[Direction::Down],
            Self::Up => &[Direction::Up],
            Self::Both => &[Direction::Down, Direction::Up],
        }
    }
}

/// One run: one link, one scheme, one file.
#[derive(Debug, Clone)]
pub(crate) struct RunPlan {
    /// Model of the air.
    pub(crate) link: Link,
    /// Name or file of the link, as an argument of the emulator.
    pub(crate) link_choice: String,
    /// Seed of losses, fades and the content of the file.
    pub(crate) seed: u64,
    pub(crate) scheme: Scheme,
    /// Congestion control of the senders, by its name in the kernel.
    pub(crate) sender: String,
    pub(crate) way: TransferDirection,
    /// Size of the file.
    pub(crate) size: Bytes,
    /// Time limit of the transfer.
    pub(crate) time: Duration,
    /// Time at the beginning that the figures leave out.
    pub(crate) skip: Duration,
}

/// Program and folder that a run needs.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    /// Our own binary, which is emulator, gateway and mobile host.
    pub(crate) program: PathBuf,
    /// Folder for files that they exchange; nobody else may write there.
    pub(crate) folder: PathBuf,
}

/// Number of bytes that had arrived at a time, from the start of the transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) at: Duration,
    pub(crate) bytes: u64,
}

/// The result of one transfer.
#[derive(Debug, Clone)]
pub(crate) struct Transfer {
    pub(crate) direction: Direction,
    /// In the order of time; the last one is the end.
    pub(crate) samples: Vec<Sample>,
    /// True if the received data have the SHA-256 of the sent data.
    pub(crate) intact: bool,
    /// Reason why it ended early, if it did.
    pub(crate) failure: Option<String>,
}

impl Transfer {
    /// Returns the bytes that had arrived at `time` after the start.
    pub(crate) fn bytes_at(&self, time: Duration) -> u64 {
        let next = self.samples.partition_point(|sample| sample.at <= time);
        next.checked_sub(1)
            .map_or(0, |last| self.samples[last].bytes)
    }

    /// Returns the bytes that had arrived at the end.
    pub(crate) fn bytes(&self) -> u64 {
        self.samples.last().map_or(0, |sample| sample.bytes)
    }

    /// Returns the time of the last byte.
    pub(crate) fn end(&self) -> Duration {
        self.samples
            .last()
            .map_or(Duration::ZERO, |sample| sample.at)
    }
}

/// A small request and its reply during the transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Echo {
    /// Time at which it was sent, from the start of the transfer.
    pub(crate) sent: Duration,
    /// Time until its reply, or until the end if there was none.
    pub(crate) took: Duration,
    pub(crate) answered: bool,
}

/// The result of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunResult {
    pub(crate) plan: RunPlan,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) echoes: Vec<Echo>,
    /// Start of the transfer, in the time of the link.
    pub(crate) start: Instant,
    pub(crate) emulator: Report,
    /// Resource usage of the tunnel's processes: processor time during the transfer, largest memory at any time.
    pub(crate) tunnel: Option<Usage>,
}
