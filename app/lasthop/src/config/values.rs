//! Values of a configuration, with their error messages.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::num::NonZeroU16;
use std::str::FromStr;

use ipnet::IpNet;
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use session::PublicKey;
use units::{BitRate, Bytes};

use crate::failure::Failure;

/// Largest length of the name of an instance or peer, in bytes.
const LONGEST_NAME: usize = 32;

/// Implements `Deserialize` for a value that is written as text.
macro_rules! from_text {
    ($name:ty, $read:expr) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                let text = String::deserialize(input)?;
                let read: fn(&str) -> Result<Self, String> = $read;
                read(&text).map_err(de::Error::custom)
            }
        }
    };
}

/// A name that is valid in files, rules and tables: letters, digits and `_`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) String);

impl Name {
    /// Reads a name.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let sound = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if text.is_empty() || text.len() > LONGEST_NAME || !text.bytes().all(sound) {
            return Err(format!(
                "'{text}' is not a valid name; use 1 to {LONGEST_NAME} letters, digits and '_'"
            ));
        }
        Ok(Self(text.into()))
    }
}

from_text!(Name, |text| Self::read(text));

/// An address and port of this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listen(pub(crate) SocketAddr);

from_text!(Listen, |text| {
    text.parse().map(Self).map_err(|_| format!(
    "'{text}' is not an address with a port; write it like '[::]:51830' (both IP versions) or '0.0.0.0:51830'"
))
});

/// A port of TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpPort(pub(crate) NonZeroU16);

impl<'de> Deserialize<'de> for TcpPort {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let given = i64::deserialize(input)?;
        let port = u16::try_from(given).ok().and_then(NonZeroU16::new);
        port.map(Self).ok_or_else(|| {
            de::Error::custom(format!(
                "{given} is not a port of TCP; write a number from 1 to 65535, usually 443"
            ))
        })
    }
}

/// A host, by name or address, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remote(String);

impl Remote {
    /// Reads a host and a port.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let port = text.rsplit_once(':').filter(|(host, _)| {
            let whole = !host.contains(':') || host.starts_with('[') && host.ends_with(']');
            whole && is_host(host)
        });
        match port.map(|(_, port)| port.parse::<u16>()) {
            Some(Ok(1..)) => Ok(Self(text.into())),
            _ => Err(format!(
                "'{text}' is not a host with a port; write it like 'gateway.example.org:51830' or '[2001:db8::1]:51830'"
            )),
        }
    }

    /// Returns it as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Returns its name and port, unless it is an address.
    pub(crate) fn name(&self) -> Option<(String, u16)> {
        let (host, port) = self.0.rsplit_once(':')?;
        let is_address = host.starts_with('[') || host.parse::<IpAddr>().is_ok();
        let port = port.parse().ok().filter(|_| !is_address)?;
        Some((host.into(), port))
    }

    /// Resolves its address: the first one of the system's resolver.
    pub(crate) fn resolve(&self) -> Result<SocketAddr, Failure> {
        let failed = |why: String| {
            let host = &self.0;
            Failure::setting(format!(
                "cannot find the gateway '{host}': {why}; check the name and this host's DNS, or write its address"
            ))
        };
        let mut found = self
            .0
            .to_socket_addrs()
            .map_err(|error| failed(error.to_string()))?;
        found
            .next()
            .ok_or_else(|| failed("the name has no address".into()))
    }
}

/// Returns true for an address or a name of a host (RFC 1123 §2.1; with `_`, which some local names have).
fn is_host(host: &str) -> bool {
    let inner = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if let Some(inner) = inner {
        let address = inner.split('%').next();
        return address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_label = |label: &str| {
        let is_long = label.len() > 63;
        !label.is_empty() && !is_long && !label.starts_with('-') && label.bytes().all(is_sound)
    };
    let name = host.strip_suffix('.').unwrap_or(host);
    let is_name = name.len() <= 253 && name.split('.').all(is_label);
    // What ends with a number is an address (RFC 3696 §2), or is none by mistake.
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
    host.parse::<Ipv4Addr>().is_ok() || (is_name && !is_number)
}

from_text!(Remote, |text| Self::read(text));

/// An inner address with its prefix; without a prefix, only the address itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network(pub(crate) IpNet);

from_text!(Network, |text| {
    let network = IpNet::from_str(text).or_else(|_| IpAddr::from_str(text).map(IpNet::from));
    network.map(Self).map_err(|_| {
        format!("'{text}' is not an IP address or prefix; write it like '10.73.0.2' or 'fd73::/64'")
    })
});

/// A peer's public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(pub(crate) PublicKey);

from_text!(Key, |text| text.parse().map(Self).map_err(|error| format!(
    "{error}; the other end's `lasthop keygen --public FILE` prints it"
)));

/// The rate of the hop: measured, or given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rate(pub(crate) Option<BitRate>);

from_text!(Rate, |text| {
    if text == "auto" {
        return Ok(Self(None));
    }
    let rate: BitRate = text
        .parse()
        .map_err(|error| format!("{error}; 'auto' measures it, which is better"))?;
    if rate == BitRate::default() {
        return Err("a rate of zero carries nothing; 'auto' measures it".into());
    }
    Ok(Self(Some(rate)))
});

/// Limit of the snoop cache: at least some windows of TCP, at most what a host can spare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cache(pub(crate) Bytes);

impl Cache {
    const LEAST: Bytes = Bytes::mebi(1);
    const MOST: Bytes = Bytes::mebi(1024);
}

/// Two windows of 100 Mbit/s × 600 ms.
impl Default for Cache {
    fn default() -> Self {
        Self(Bytes::mebi(32))
    }
}

from_text!(Cache, |text| {
    let size: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    if (Self::LEAST..=Self::MOST).contains(&size) {
        return Ok(Self(size));
    }
    let (least, most) = (Self::LEAST, Self::MOST);
    Err(format!(
        "a cache of {size} is out of range; allowed: {least} to {most}, usual: 32 MiB"
    ))
});

/// Largest packet, in bytes: from the minimum of IPv6 (RFC 8200 §5) up to a jumbo frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mtu(pub(crate) u16);

impl<'de> Deserialize<'de> for Mtu {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        match i64::deserialize(input)? {
            bytes @ 1280..=9000 => Ok(Self(bytes as u16)),
            other => Err(de::Error::custom(format!(
                "an MTU of {other} bytes is out of range; allowed: 1280 to 9000, usual: 1500"
            ))),
        }
    }
}

/// Limit of the bearer's packets: as large as the path carries, or at most this many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LongestPacket(pub(crate) Option<Mtu>);

impl<'de> Deserialize<'de> for LongestPacket {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(LongestPacketVisitor)
    }
}

struct LongestPacketVisitor;

impl Visitor<'_> for LongestPacketVisitor {
    type Value = LongestPacket;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("\"auto\", which finds it, or a bound in bytes from 1280 to 9000")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<LongestPacket, E> {
        match text {
            "auto" => Ok(LongestPacket(None)),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<LongestPacket, E> {
        let mtu = Mtu::deserialize(de::value::I64Deserializer::new(bytes))?;
        Ok(LongestPacket(Some(mtu)))
    }
}

/// Destinations that a mobile host reaches across the hop.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Routes {
    /// Everything without a more specific route, in each IP version of its inner addresses.
    #[default]
    Default,
    /// These destinations.
    To(Vec<IpNet>),
}

impl<'de> Deserialize<'de> for Routes {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(RoutesVisitor)
    }
}

struct RoutesVisitor;

impl<'de> Visitor<'de> for RoutesVisitor {
    type Value = Routes;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("\"default\" or a list of prefixes like [\"10.20.0.0/16\"]")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Routes, E> {
        match text {
            "default" => Ok(Routes::Default),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Routes, A::Error> {
        let mut routes = Vec::new();
        while let Some(Network(network)) = list.next_element()? {
            routes.push(network.trunc());
        }
        Ok(Routes::To(routes))
    }
}
