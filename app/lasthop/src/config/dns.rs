//! The choice of DNS servers, in the configuration of either end.

use std::fmt;
use std::net::IpAddr;

use hosts::Resolvers;
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};

/// The DNS servers that a gateway offers, or that a mobile host asks while the hop is up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Dns {
    /// The gateway's own ones; a mobile host whose traffic all crosses the hop takes what its gateway offers.
    #[default]
    Auto,
    /// None: this host stays as it is.
    None,
    /// These.
    Servers(Vec<IpAddr>),
}

impl<'de> Deserialize<'de> for Dns {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(DnsVisitor)
    }
}

struct DnsVisitor;

impl<'de> Visitor<'de> for DnsVisitor {
    type Value = Dns;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("\"auto\", \"none\", or a list of addresses like [\"192.0.2.53\"]")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Dns, E> {
        match text {
            "auto" => Ok(Dns::Auto),
            "none" => Ok(Dns::None),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Dns, A::Error> {
        let mut servers = Vec::new();
        while let Some(text) = list.next_element::<String>()? {
            let server = text.parse().ok();
            let server =
                server.filter(|server| Resolvers::new(vec![*server], Vec::new()).is_some());
            let wrong = || {
                de::Error::custom(format!(
                    "'{text}' is no address of a DNS server that other hosts can ask; write one like '192.0.2.53' or \
                     '2001:db8::53'"
                ))
            };
            servers.push(server.ok_or_else(wrong)?);
        }
        if servers.is_empty() {
            return Err(de::Error::custom("without any server, write \"none\""));
        }
        if Resolvers::new(servers.clone(), Vec::new()).is_none() {
            return Err(de::Error::custom(
                "a host asks at most three DNS servers; remove the others",
            ));
        }
        Ok(Dns::Servers(servers))
    }
}

/// Domains in which mobile hosts search short names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SearchDomains(pub(crate) Vec<String>);

impl<'de> Deserialize<'de> for SearchDomains {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let domains = Vec::<String>::deserialize(input)?;
        match Resolvers::new(Vec::new(), domains.clone()) {
            Some(_) => Ok(Self(domains)),
            None => Err(de::Error::custom(
                "search domains are at most six host names, such as [\"example.org\"]",
            )),
        }
    }
}
