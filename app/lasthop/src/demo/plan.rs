//! What is measured, and what came out: plain data, so that benchmarks are built on it too.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use channel::{Direction, Link};
use clap::ValueEnum;
use rig::Usage;
use units::{Bytes, Duration, Instant};

use super::network::{ECHO_SERVER, FILE_SERVER};
use super::peer::Peer;
use crate::config::split::Tcp;
use crate::emulate::Report;

/// Who crosses the hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// The kernel's TCP alone.
    Plain,
    /// The kernel's TCP through lasthop, with its losses repaired in one way or another.
    Lasthop(Tcp),
    /// The kernel's TCP through somebody else's tunnel.
    Peer(Arc<Peer>),
}

impl Scheme {
    /// A scheme as the command line names it; the error is a sentence.
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

    /// A sender by this scheme, for people.
    pub(crate) fn describe(&self, sender: &str) -> String {
        match self {
            Self::Plain => format!("TCP {sender} alone"),
            Self::Lasthop(_) | Self::Peer(_) => format!("TCP {sender} through {}", self.name()),
        }
    }

    /// Where the mobile host reaches the servers: that of the file, that of the small requests.
    pub(crate) fn servers(&self) -> (SocketAddr, SocketAddr) {
        match self {
            Self::Plain | Self::Lasthop(_) => (FILE_SERVER, ECHO_SERVER),
            Self::Peer(peer) => (peer.file_server, peer.echo_server),
        }
    }
}

/// Which way the file goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    /// The mobile host fetches it.
    Down,
    /// The mobile host sends it.
    Up,
    /// Both at once.
    Both,
}

impl Way {
    /// The directions of its transfers.
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
    /// What the air is like.
    pub(crate) link: Link,
    /// The link as the emulator is told it: a name or a file.
    pub(crate) link_choice: String,
    /// Decides losses, fades and the file's content.
    pub(crate) seed: u64,
    pub(crate) scheme: Scheme,
    /// The congestion control of whoever sends, as the kernel names it.
    pub(crate) sender: String,
    pub(crate) way: Way,
    /// The size of the file.
    pub(crate) size: Bytes,
    /// When the transfer is broken off.
    pub(crate) time: Duration,
    /// What is left out of the figures at the beginning.
    pub(crate) skip: Duration,
}

/// What a run needs of the machine.
#[derive(Debug, Clone)]
pub(crate) struct Machinery {
    /// Our own binary, which plays emulator, gateway and mobile host.
    pub(crate) program: PathBuf,
    /// A folder for what they exchange, for nobody else to write.
    pub(crate) folder: PathBuf,
}

/// How many bytes had arrived at a time, from the start of the transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) at: Duration,
    pub(crate) bytes: u64,
}

/// What one transfer brought.
#[derive(Debug, Clone)]
pub(crate) struct Transfer {
    pub(crate) direction: Direction,
    /// In the order of time; the last one is the end.
    pub(crate) samples: Vec<Sample>,
    /// Whether what arrived has the SHA-256 of what was sent.
    pub(crate) intact: bool,
    /// Why it ended before its time, if it did.
    pub(crate) failure: Option<String>,
}

impl Transfer {
    /// What had arrived at `time` after the start.
    pub(crate) fn bytes_at(&self, time: Duration) -> u64 {
        let next = self.samples.partition_point(|sample| sample.at <= time);
        next.checked_sub(1)
            .map_or(0, |last| self.samples[last].bytes)
    }

    /// What had arrived at the end.
    pub(crate) fn bytes(&self) -> u64 {
        self.samples.last().map_or(0, |sample| sample.bytes)
    }

    /// When the last byte came.
    pub(crate) fn end(&self) -> Duration {
        self.samples
            .last()
            .map_or(Duration::ZERO, |sample| sample.at)
    }
}

/// A small request and its reply during the transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Echo {
    /// When it was sent, from the start of the transfer.
    pub(crate) sent: Duration,
    /// The time to its reply, or to the end if none came.
    pub(crate) took: Duration,
    pub(crate) answered: bool,
}

/// What a run brought.
#[derive(Debug, Clone)]
pub(crate) struct RunResult {
    pub(crate) plan: RunPlan,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) echoes: Vec<Echo>,
    /// The start of the transfer, in the time of the link.
    pub(crate) start: Instant,
    pub(crate) emulator: Report,
    /// What the tunnel's processes used: of the processor during the transfer, of memory at any time.
    pub(crate) tunnel: Option<Usage>,
}
