//! TCP that is split at the gateway.

use hosts::{Profile, Scope, StreamLimits, TcpMethod};
use serde::Deserialize;
use serde::de::{self, Deserializer};
use units::{Bytes, Duration};

use super::within;

/// How TCP crosses to a mobile host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Tcp {
    #[default]
    Arq,
    Snoop,
    Plain,
    /// It ends at the gateway, and another connection goes on from there.
    Split,
    /// By `arq` or by `split`, as is better for each connection across the hop as it is.
    Auto,
}

impl Tcp {
    /// Its name in configurations.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Arq => "arq",
            Self::Snoop => "snoop",
            Self::Plain => "plain",
            Self::Split => "split",
            Self::Auto => "auto",
        }
    }

    /// How its packets cross the hop, where they do.
    pub(crate) fn on_the_hop(self) -> TcpMethod {
        match self {
            Self::Arq | Self::Auto => TcpMethod::Arq,
            Self::Snoop => TcpMethod::Snoop,
            Self::Plain | Self::Split => TcpMethod::Plain,
        }
    }
}

impl Tcp {
    /// Which connections are split, if any are.
    pub(crate) fn scope(self) -> Option<Scope> {
        match self {
            Self::Arq | Self::Snoop | Self::Plain => None,
            Self::Split => Some(Scope::Every),
            Self::Auto => Some(Scope::Chosen),
        }
    }
}

/// What carries split TCP across the hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SplitTransport {
    /// MTCP as the paper has it, with 16-bit numbers.
    Mtcp,
    /// MTCP with numbers for fast and long hops, and IPv6.
    #[default]
    MtcpWide,
    /// The kernel's TCP (I-TCP).
    KernelTcp,
}

impl SplitTransport {
    /// In which profile of MTCP.
    pub(crate) fn profile(self) -> Option<Profile> {
        match self {
            Self::Mtcp => Some(Profile::Paper),
            Self::MtcpWide => Some(Profile::Wide),
            Self::KernelTcp => None,
        }
    }
}

/// Where TCP is split.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Split {
    /// The congestion control on the hop; the system's if none is given.
    pub(crate) congestion_control: Option<String>,
    pub(crate) buffer: Buffer,
    pub(crate) receive_buffer: ReceiveBuffer,
    pub(crate) connections: Connections,
    pub(crate) idle: Idle,
    /// Whether this end keeps no timers for connections across the hop.
    pub(crate) lean: bool,
}

impl Split {
    /// What streams across the hop may take.
    pub(crate) fn streams(&self) -> StreamLimits {
        StreamLimits {
            receive_buffer: self.receive_buffer.0,
            // The tables of MTCP find free names as long as half of all are free.
            connections: self.connections.0.min(STREAMS_MOST),
            lean: self.lean,
        }
    }
}

/// The most connections that MTCP takes at one time, with one peer.
const STREAMS_MOST: usize = 32_768;

/// What a connection buffers in each direction.
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
        let bytes = within(&text, (Self::LEAST, Self::MOST, Self::USUAL));
        bytes.map(Self).map_err(de::Error::custom)
    }
}

/// What a connection across the hop may hold of what arrived, where MTCP carries it; as it needs if nothing is given.
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
        let bytes = within(&text, (Self::LEAST, Self::MOST, Self::USUAL));
        bytes
            .map(|bytes| Self(Some(bytes)))
            .map_err(de::Error::custom)
    }
}

/// Connections at one time.
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

/// How long nothing may happen on a connection: RFC 5382 (REQ-5) asks of those in the middle at least so long.
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
