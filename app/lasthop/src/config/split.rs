//! TCP that is split at the gateway.

use hosts::{Profile, Scope, StreamLimits, TcpMethod};
use serde::Deserialize;
use serde::de::{self, Deserializer};
use units::{Bytes, Duration};

use super::within;

/// Handling of a mobile host's TCP on the hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Tcp {
    #[default]
    Arq,
    Snoop,
    Plain,
    /// It is split: it ends at the gateway, and another connection continues it.
    Split,
    /// `arq` or `split`, whichever is better for a new connection in the current state of the hop.
    Auto,
}

impl Tcp {
    /// Returns its name in configurations.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Arq => "arq",
            Self::Snoop => "snoop",
            Self::Plain => "plain",
            Self::Split => "split",
            Self::Auto => "auto",
        }
    }

    /// Returns the handling of its packets on the hop.
    pub(crate) fn on_the_hop(self) -> TcpMethod {
        match self {
            Self::Arq | Self::Auto => TcpMethod::Arq,
            Self::Snoop => TcpMethod::Snoop,
            Self::Plain | Self::Split => TcpMethod::Plain,
        }
    }
}

impl Tcp {
    /// Returns the connections that are split, if any are.
    pub(crate) fn scope(self) -> Option<Scope> {
        match self {
            Self::Arq | Self::Snoop | Self::Plain => None,
            Self::Split => Some(Scope::Every),
            Self::Auto => Some(Scope::Chosen),
        }
    }
}

/// The transport of split TCP across the hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SplitTransport {
    /// MTCP as in the paper, with 16-bit sequence numbers.
    Mtcp,
    /// MTCP with sequence numbers for fast and long hops, and IPv6.
    #[default]
    MtcpWide,
    /// The kernel's TCP (I-TCP).
    KernelTcp,
}

impl SplitTransport {
    /// Returns its profile of MTCP, if it is MTCP.
    pub(crate) fn profile(self) -> Option<Profile> {
        match self {
            Self::Mtcp => Some(Profile::Paper),
            Self::MtcpWide => Some(Profile::Wide),
            Self::KernelTcp => None,
        }
    }
}

/// Settings of split TCP.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Split {
    /// Congestion control on the hop; by default that of the system.
    pub(crate) congestion_control: Option<String>,
    pub(crate) buffer: Buffer,
    pub(crate) receive_buffer: ReceiveBuffer,
    pub(crate) connections: Connections,
    pub(crate) idle: Idle,
    /// True if this end has no timers for connections across the hop.
    pub(crate) lean: bool,
}

impl Split {
    /// Returns the limits of streams across the hop.
    pub(crate) fn streams(&self) -> StreamLimits {
        StreamLimits {
            receive_buffer: self.receive_buffer.0,
            // The tables of MTCP find free identifiers as long as half of all are free.
            connections: self.connections.0.min(STREAMS_MOST),
            lean: self.lean,
        }
    }
}

/// Largest number of simultaneous MTCP connections with one peer.
const STREAMS_MOST: usize = 32_768;

/// Limit of a connection's buffer in each direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffer(pub(crate) Bytes);

impl Buffer {
    const LEAST: Bytes = Bytes::kibi(4);
    const MOST: Bytes = Bytes::mebi(4);
    const USUAL: Bytes = Bytes::kibi(64);
}

impl Default for Buffer {
    fn default() -> Self {
        Self(Self::USUAL)
    }
}

impl<'de> Deserialize<'de> for Buffer {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        let bytes = within(&text, Self::LEAST, Self::MOST, Self::USUAL);
        bytes.map(Self).map_err(de::Error::custom)
    }
}

/// Limit of received data that a connection across the hop buffers with MTCP; `None` for as much as it needs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReceiveBuffer(pub(crate) Option<Bytes>);

impl ReceiveBuffer {
    const LEAST: Bytes = Bytes::kibi(8);
    const MOST: Bytes = Bytes::mebi(32);
    const USUAL: Bytes = Bytes::mebi(4);
}

impl<'de> Deserialize<'de> for ReceiveBuffer {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        if text == "auto" {
            return Ok(Self(None));
        }
        let bytes = within(&text, Self::LEAST, Self::MOST, Self::USUAL);
        bytes
            .map(|bytes| Self(Some(bytes)))
            .map_err(de::Error::custom)
    }
}

/// Limit of simultaneous connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Connections(pub(crate) usize);

impl Connections {
    const MOST: usize = 65_536;
    const USUAL: usize = 2_048;
}

impl Default for Connections {
    fn default() -> Self {
        Self(Self::USUAL)
    }
}

impl<'de> Deserialize<'de> for Connections {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let count = usize::deserialize(input)?;
        if (1..=Self::MOST).contains(&count) {
            return Ok(Self(count));
        }
        let (most, usual) = (Self::MOST, Self::USUAL);
        Err(de::Error::custom(format!(
            "{count} connections are out of range; allowed: 1 to {most}, usual: {usual}"
        )))
    }
}

/// Idle time after which a connection is reset: RFC 5382 (REQ-5) demands at least this much of middleboxes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Idle(pub(crate) Duration);

impl Default for Idle {
    fn default() -> Self {
        Self(Duration::from_secs(124 * 60))
    }
}

impl<'de> Deserialize<'de> for Idle {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        let idle: Duration = text.parse().map_err(de::Error::custom)?;
        if idle < Duration::from_secs(1) {
            let what = format!("{idle} is too short; allowed: 1 s or more, usual: 124 min");
            return Err(de::Error::custom(what));
        }
        Ok(Self(idle))
    }
}
