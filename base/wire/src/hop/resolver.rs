//! Messages about the resolver of the hop: the DNS servers that a gateway offers to its mobile hosts. They have no
//! transmission number and are never repaired; the mobile host repeats its question.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// First bytes; the version of a frame, its high four bits, is never zero.
const QUESTION: u8 = 8;
const ANSWER: u8 = 9;
/// Kinds of addresses.
const V4: u8 = 4;
const V6: u8 = 6;
/// Largest number of servers, as resolv.conf(5) has it (`MAXNS`), and of search domains (once its `MAXDNSRCH`).
const SERVERS_MOST: usize = 3;
const DOMAINS_MOST: usize = 6;
/// Largest number of bytes in a domain, and in a label of it (RFC 1035 §2.3.4).
const DOMAIN_LONGEST: usize = 253;
const LABEL_LONGEST: usize = 63;

/// DNS servers, and the domains in which short names are searched: each usable by any resolver.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resolvers {
    servers: Vec<IpAddr>,
    domains: Vec<String>,
}

impl Resolvers {
    /// Returns them; `None` if there are more than three servers or six domains, if a server has no address that other
    /// hosts can use, or if a domain is no host name (RFC 1123 §2.1, and `_`).
    pub fn new(servers: Vec<IpAddr>, domains: Vec<String>) -> Option<Self> {
        let is_sound = servers.len() <= SERVERS_MOST
            && domains.len() <= DOMAINS_MOST
            && servers.iter().all(is_usable)
            && domains.iter().all(|domain| is_domain(domain));
        is_sound.then_some(Self { servers, domains })
    }

    /// Returns the addresses of the servers; none if there is no resolver.
    pub fn servers(&self) -> &[IpAddr] {
        &self.servers
    }

    /// Returns the search domains.
    pub fn domains(&self) -> &[String] {
        &self.domains
    }
}

/// Returns true if other hosts can send to this address by a route.
fn is_usable(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let is_none = address.is_unspecified() || address.is_broadcast();
            !(is_none || address.is_loopback() || address.is_multicast() || address.is_link_local())
        }
        IpAddr::V6(address) => {
            let is_none = address.is_unspecified() || address.to_ipv4_mapped().is_some();
            let is_near = address.is_loopback() || address.is_unicast_link_local();
            !(is_none || is_near || address.is_multicast())
        }
    }
}

fn is_domain(text: &str) -> bool {
    let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_label = |label: &str| {
        (1..=LABEL_LONGEST).contains(&label.len())
            && label.bytes().all(is_sound)
            && !label.starts_with('-')
    };
    text.len() <= DOMAIN_LONGEST && text.split('.').all(is_label)
}

/// A message about the resolver of the hop, in place of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolverMessage {
    /// The mobile host wants to know it.
    Question,
    /// What the gateway offers.
    Answer(Resolvers),
}

impl ResolverMessage {
    /// Returns the message in `plaintext`; `None` if it is something else, or offers what nobody can use.
    pub fn parse(plaintext: &[u8]) -> Option<Self> {
        match plaintext {
            [QUESTION] => Some(Self::Question),
            [ANSWER, rest @ ..] => {
                let mut rest = rest;
                let servers = list(&mut rest, SERVERS_MOST, read_address)?;
                let domains = list(&mut rest, DOMAINS_MOST, read_domain)?;
                let resolvers = Resolvers::new(servers, domains)?;
                rest.is_empty().then_some(Self::Answer(resolvers))
            }
            _ => None,
        }
    }

    /// Returns the bytes of the message.
    pub fn encode(&self) -> Vec<u8> {
        let resolvers = match self {
            Self::Question => return vec![QUESTION],
            Self::Answer(resolvers) => resolvers,
        };
        // The lists are short and the domains shorter than 256 bytes, as `Resolvers::new` sees to.
        let mut bytes = vec![ANSWER, resolvers.servers.len() as u8];
        for server in &resolvers.servers {
            match server {
                IpAddr::V4(address) => {
                    bytes.push(V4);
                    bytes.extend(address.octets());
                }
                IpAddr::V6(address) => {
                    bytes.push(V6);
                    bytes.extend(address.octets());
                }
            }
        }
        bytes.push(resolvers.domains.len() as u8);
        for domain in &resolvers.domains {
            bytes.push(domain.len() as u8);
            bytes.extend(domain.bytes());
        }
        bytes
    }
}

/// Reads a list of at most `most` elements, which begins with their number.
fn list<T>(
    bytes: &mut &[u8],
    most: usize,
    read: impl Fn(&mut &[u8]) -> Option<T>,
) -> Option<Vec<T>> {
    let count = usize::from(*bytes.split_off_first()?);
    if count > most {
        return None;
    }
    (0..count).map(|_| read(bytes)).collect()
}

fn read_address(bytes: &mut &[u8]) -> Option<IpAddr> {
    match *bytes.split_off_first()? {
        V4 => Some(Ipv4Addr::from(*take(bytes)?).into()),
        V6 => Some(Ipv6Addr::from(*take(bytes)?).into()),
        _ => None,
    }
}

fn read_domain(bytes: &mut &[u8]) -> Option<String> {
    let length = usize::from(*bytes.split_off_first()?);
    let text = bytes.split_off(..length)?;
    String::from_utf8(text.to_vec()).ok()
}

fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(first)
}
