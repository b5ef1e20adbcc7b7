//! The bearer of frames across the hop.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use toml::Spanned;
use wire::address::HopAddress;
use wire::ethernet::{ETHER_TYPE, LEAST_ETHER_TYPE, MacAddress};

use super::Source;
use super::values::Remote;
use crate::failure::Failure;

/// Name of a bearer in a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    #[default]
    Udp,
    Ethernet,
}

/// The bearer of frames across the hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// UDP datagrams.
    Udp,
    /// Ethernet frames.
    Ethernet {
        /// Interface to the other end.
        interface: String,
        /// `EtherType` of the frames.
        ether_type: u16,
    },
}

/// The bearer settings of a configuration.
#[derive(Debug, Default)]
pub(super) struct Choice<'a> {
    pub(super) kind: Option<&'a Spanned<Kind>>,
    pub(super) interface: Option<&'a Spanned<String>>,
    pub(super) ether_type: Option<&'a Spanned<EtherType>>,
}

impl Choice<'_> {
    /// Returns the bearer; refuses settings that contradict each other.
    pub(super) fn settle(&self, source: &Source) -> Result<Carrier, Failure> {
        let kind = self.kind.map(|kind| *kind.get_ref()).unwrap_or_default();
        let of_ethernet = self.interface.map(Spanned::span);
        let of_ethernet = of_ethernet.or(self.ether_type.map(Spanned::span));
        match (kind, self.interface, of_ethernet) {
            (Kind::Udp, _, None) => Ok(Carrier::Udp),
            (Kind::Udp, _, Some(span)) => {
                let what =
                    "this is for Ethernet frames; set `bearer = \"ethernet\"` too, or remove it";
                Err(source.wrong(Some(span), what))
            }
            (Kind::Ethernet, None, _) => {
                let what =
                    "frames need an interface; write `interface = \"eth0\"` with the name of yours";
                Err(source.wrong(self.kind.map(Spanned::span), what))
            }
            (Kind::Ethernet, Some(interface), _) => Ok(Carrier::Ethernet {
                interface: interface.get_ref().clone(),
                ether_type: self
                    .ether_type
                    .map_or(ETHER_TYPE, |given| given.get_ref().0),
            }),
        }
    }
}

/// An `EtherType`: the number that identifies the content of an Ethernet frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EtherType(u16);

impl<'de> Deserialize<'de> for EtherType {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        match i64::deserialize(input)? {
            number if (i64::from(LEAST_ETHER_TYPE)..=0xffff).contains(&number) => {
                Ok(Self(number as u16))
            }
            other => Err(de::Error::custom(format!(
                "{other:#x} is no EtherType; allowed: {LEAST_ETHER_TYPE:#x} to 0xffff, usual: {ETHER_TYPE:#x}"
            ))),
        }
    }
}

/// Most addresses of a gateway.
pub(crate) const MOST_ENDPOINTS: usize = 8;

/// Address of a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// Reached by UDP.
    Udp(Remote),
    /// On the same Ethernet link.
    Ethernet(MacAddress),
}

impl Endpoint {
    /// Any host on the link.
    pub(super) const ANYWHERE: Self = Self::Ethernet(MacAddress::BROADCAST);

    /// Returns true for an address of an Ethernet link.
    pub(super) fn is_ethernet(&self) -> bool {
        matches!(self, Self::Ethernet(_))
    }

    /// Returns it as it was written, if it is reached by UDP.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Self::Udp(remote) => Some(remote.text().into()),
            Self::Ethernet(_) => None,
        }
    }

    /// Returns its name and port, if it is known by a name.
    pub(crate) fn name(&self) -> Option<(String, u16)> {
        match self {
            Self::Udp(remote) => remote.name(),
            Self::Ethernet(_) => None,
        }
    }

    /// Resolves its address: for UDP the first one of the system's resolver.
    pub(crate) fn resolve(&self) -> Result<HopAddress, Failure> {
        match self {
            Self::Udp(remote) => remote.resolve().map(HopAddress::Udp),
            Self::Ethernet(address) => Ok(HopAddress::Ethernet(*address)),
        }
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(address) => Ok(Self::Ethernet(address)),
            Err(_) => Remote::read(text).map(Self::Udp),
        }
    }
}

/// Addresses of a gateway, of which it has at least one; the first one is the best.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoints(pub(crate) Vec<Endpoint>);

impl<'de> Deserialize<'de> for Endpoints {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(EndpointsVisitor)
    }
}

struct EndpointsVisitor;

impl<'de> Visitor<'de> for EndpointsVisitor {
    type Value = Endpoints;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "a host with a port, or a list of 1 to {MOST_ENDPOINTS}"
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Endpoints, E> {
        let endpoint = text.parse().map_err(E::custom)?;
        Ok(Endpoints(vec![endpoint]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Endpoints, A::Error> {
        let mut endpoints = Vec::new();
        while let Some(text) = list.next_element::<String>()? {
            let endpoint = text.parse().map_err(de::Error::custom)?;
            if endpoints.contains(&endpoint) {
                let what = format!("'{text}' is in this list twice; remove one");
                return Err(de::Error::custom(what));
            }
            endpoints.push(endpoint);
        }
        if endpoints.is_empty() || endpoints.len() > MOST_ENDPOINTS {
            return Err(de::Error::invalid_length(endpoints.len(), &self));
        }
        Ok(Endpoints(endpoints))
    }
}
