//! Addresses of the hosts on the hop.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

use crate::ethernet::MacAddress;

/// Begin of the text form of an address for TLS, and of that of a relay.
const TLS: &str = "tls:";
const RELAY: &str = "relay:";

/// Address of a host on the hop, by the bearer that carries its frames. Its text form is the usual one of that bearer:
/// `192.0.2.1:51830`, `02:00:5e:10:00:01`, `tls:192.0.2.1:443`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HopAddress {
    /// Address for UDP datagrams.
    Udp(SocketAddr),
    /// Address for Ethernet frames on a link that both hosts share.
    Ethernet(MacAddress),
    /// Address of a connection of TLS over TCP, whose bytes carry datagrams.
    Tls(SocketAddr),
    /// Address behind another host, which relays datagrams.
    Relay(Relay),
}

/// A host behind another one that relays datagrams to it, by this host's own numbers of both. So no other host
/// understands it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Relay {
    /// Number of the host that relays.
    pub by: u32,
    /// Number of the host behind it.
    pub to: u32,
}

impl HopAddress {
    /// All hosts on the link; used to find a host whose address is not known.
    pub const EVERYBODY: Self = Self::Ethernet(MacAddress::BROADCAST);

    /// Returns true if it is an address of several hosts.
    pub const fn is_group(self) -> bool {
        match self {
            Self::Udp(_) | Self::Tls(_) | Self::Relay(_) => false,
            Self::Ethernet(address) => address.is_group(),
        }
    }

    /// Returns true if it is behind another host.
    pub const fn is_relayed(self) -> bool {
        matches!(self, Self::Relay(_))
    }
}

impl From<SocketAddr> for HopAddress {
    fn from(address: SocketAddr) -> Self {
        Self::Udp(address)
    }
}

impl From<MacAddress> for HopAddress {
    fn from(address: MacAddress) -> Self {
        Self::Ethernet(address)
    }
}

impl fmt::Display for HopAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(address) => address.fmt(formatter),
            Self::Ethernet(address) => address.fmt(formatter),
            Self::Tls(address) => write!(formatter, "{TLS}{address}"),
            Self::Relay(Relay { by, to }) => write!(formatter, "{RELAY}{by}/{to}"),
        }
    }
}

impl Serialize for HopAddress {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.collect_str(self)
    }
}

impl schemars::JsonSchema for HopAddress {
    fn schema_name() -> Cow<'static, str> {
        "HopAddress".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "An IP address and a UDP port, or the address of an Ethernet interface.",
            "examples": ["10.1.0.2:43492", "[2001:db8::1]:51830", "02:00:5e:10:00:01"],
        })
    }
}

impl<'de> Deserialize<'de> for HopAddress {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(input)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// Error for a text that is not an address of any bearer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "'{0}' is no address on a hop; write it like '192.0.2.1:51830', '02:00:5e:10:00:01' or 'tls:192.0.2.1:443'"
)]
pub struct ParseHopAddressError(String);

impl FromStr for HopAddress {
    type Err = ParseHopAddressError;

    fn from_str(text: &str) -> Result<Self, ParseHopAddressError> {
        if let Some(address) = text.strip_prefix(TLS) {
            let address = address.parse().map(Self::Tls);
            return address.map_err(|_| ParseHopAddressError(text.into()));
        }
        if let Some(numbers) = text.strip_prefix(RELAY) {
            let relay = numbers.split_once('/').and_then(|(by, to)| {
                let (by, to) = (by.parse().ok()?, to.parse().ok()?);
                Some(Self::Relay(Relay { by, to }))
            });
            return relay.ok_or_else(|| ParseHopAddressError(text.into()));
        }
        let by_ethernet = || text.parse().ok().map(Self::Ethernet);
        let found = text.parse().ok().map(Self::Udp).or_else(by_ethernet);
        found.ok_or_else(|| ParseHopAddressError(text.into()))
    }
}
