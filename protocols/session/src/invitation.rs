//! Invitations: one line of text with which a new mobile host joins a gateway.
//!
//! The line holds a secret, from which both ends derive a key pair. The gateway knows the public half from the
//! beginning. The new host uses the private half once, for a handshake in which it claims its own key; then the derived
//! key is worth nothing (`docs/session.md`, Invitations).

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU16;

use blake2::{Blake2s256, Digest};
use zeroize::Zeroizing;

use crate::coded_text::{self, CodedTextError};
use crate::entropy::{Entropy, draw};
use crate::key_text::{KEY_BYTES, KeyKind};
use crate::keys::{PrivateKey, PublicKey};
use crate::site_invitation;

pub(crate) const PREFIX: &str = "lasthop-join1-";
const VERSION: u8 = 1;
const SECRET_BYTES: usize = 16;
/// Domain of the derivation of keys.
const DOMAIN: &[u8] = b"lasthop invitation 1";
/// Largest numbers of addresses and of endpoints, and length of an endpoint in bytes.
const MOST: usize = 8;
const LONGEST_ENDPOINT: usize = 255;
/// Bytes of the longest content of a line.
pub(crate) const LONGEST_CONTENT: usize = 4_096;

/// An invitation of a new mobile host to a gateway. It holds a secret, so it has no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Public key of the gateway.
    pub gateway: PublicKey,
    /// Time from which the gateway does not accept it any more, in seconds since 1970-01-01 UTC.
    pub expires: u32,
    /// Inner addresses of the mobile host, with the prefix lengths of their subnets in bits; at most 8.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Addresses of the gateway for datagrams, each a host and a port, the best one first; 1 to 8 of at most 255 bytes.
    pub endpoints: Vec<String>,
    /// TCP port at those addresses for TLS, where networks let no UDP through, if the gateway has one.
    pub tls_port: Option<NonZeroU16>,
    secret: Zeroizing<[u8; SECRET_BYTES]>,
}

/// Reason why a text is not an invitation. It never repeats the text, which is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvitationError {
    /// The text has another prefix.
    #[error(
        "this is not a join line: it begins with {PREFIX}; copy what `lasthop invite` printed on the gateway"
    )]
    NoPrefix,
    /// The text is a key.
    #[error(
        "this is a {0}, not a join line, which begins with {PREFIX}; copy what `lasthop invite` printed on the gateway"
    )]
    Key(KeyKind),
    /// The line is for a gateway.
    #[error(
        "this line is for another gateway of a site; use it there with `lasthop gateway up --site LINE`. A line for a \
         mobile host begins with {PREFIX}; `lasthop invite` makes one"
    )]
    OfGateway,
    /// A character is not in the alphabet.
    #[error(
        "symbol {position} after {PREFIX} is no digit and no letter of a join line; copy all of it again"
    )]
    Symbol {
        /// Position of the symbol, from 1.
        position: usize,
    },
    /// The checksum does not match.
    #[error("the line is mistyped or cut short: its checksum is wrong; copy all of it again")]
    Checksum,
    /// Another version made it.
    #[error("the line is of another version of lasthop; use the same version at both ends")]
    OtherVersion,
    /// A value is out of range.
    #[error(
        "the line is damaged, although its checksum is right; make another one with `lasthop invite`"
    )]
    Malformed,
}

impl Invitation {
    /// Returns a new invitation with a secret from `entropy`.
    pub fn new(
        entropy: &mut dyn Entropy,
        gateway: PublicKey,
        expires: u32,
        addresses: Vec<(IpAddr, u8)>,
        endpoints: Vec<String>,
    ) -> Self {
        Self {
            gateway,
            expires,
            addresses,
            endpoints,
            tls_port: None,
            secret: Zeroizing::new(draw(entropy)),
        }
    }

    /// Returns the key that the new host has until the gateway knows its own one.
    pub fn key(&self) -> PrivateKey {
        let digest = Blake2s256::new()
            .chain_update(DOMAIN)
            .chain_update(self.gateway.bytes())
            .chain_update(*self.secret)
            .finalize();
        PrivateKey::from_bytes(digest.into())
    }

    /// Returns `lasthop-join1-…`. Values beyond their limits are left out.
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut content = Zeroizing::new(Vec::with_capacity(LONGEST_CONTENT));
        self.append_to(&mut content);
        coded_text::write(PREFIX, &content)
    }

    /// Adds its bytes to the content of a line.
    pub(crate) fn append_to(&self, content: &mut Vec<u8>) {
        content.push(VERSION);
        content.extend_from_slice(self.gateway.bytes());
        content.extend_from_slice(&*self.secret);
        content.extend_from_slice(&self.expires.to_be_bytes());
        let addresses = self.addresses.iter().take(MOST);
        content.push(addresses.len() as u8);
        for (address, length) in addresses {
            match address {
                IpAddr::V4(address) => {
                    content.push(4);
                    content.extend_from_slice(&address.octets());
                }
                IpAddr::V6(address) => {
                    content.push(6);
                    content.extend_from_slice(&address.octets());
                }
            }
            content.push(*length);
        }
        let fits = |endpoint: &&String| endpoint.len() <= LONGEST_ENDPOINT;
        let endpoints: Vec<_> = self.endpoints.iter().filter(fits).take(MOST).collect();
        content.push(endpoints.len() as u8);
        for endpoint in endpoints {
            content.push(endpoint.len() as u8);
            content.extend_from_slice(endpoint.as_bytes());
        }
        if let Some(port) = self.tls_port {
            content.extend_from_slice(&port.get().to_be_bytes());
        }
    }

    /// Reads a line. Spaces around it are ignored.
    pub fn parse(text: &str) -> Result<Self, InvitationError> {
        let text = text.trim();
        let symbols = text.strip_prefix(PREFIX).ok_or_else(|| {
            if text.starts_with(site_invitation::PREFIX) {
                return InvitationError::OfGateway;
            }
            let kind = KeyKind::of(text);
            kind.map_or(InvitationError::NoPrefix, InvitationError::Key)
        })?;
        Self::of_content(&content_of(PREFIX, symbols)?)
    }

    /// Reads the content of a line.
    pub(crate) fn of_content(content: &[u8]) -> Result<Self, InvitationError> {
        match content.split_first() {
            Some((&VERSION, fields)) => Fields(fields).invitation(),
            Some(_) => Err(InvitationError::OtherVersion),
            None => Err(InvitationError::Malformed),
        }
    }
}

/// Returns the bytes of the symbols after the prefix of a line.
pub(crate) fn content_of(
    prefix: &str,
    symbols: &str,
) -> Result<Zeroizing<Vec<u8>>, InvitationError> {
    if symbols.len() > coded_text::symbols(LONGEST_CONTENT) {
        return Err(InvitationError::Checksum);
    }
    coded_text::read(prefix, symbols).map_err(|error| match error {
        CodedTextError::Symbol { position } => InvitationError::Symbol { position },
        CodedTextError::Checksum => InvitationError::Checksum,
    })
}

/// Shows what is no secret.
impl fmt::Debug for Invitation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints = &self.endpoints;
        write!(formatter, "Invitation {{ endpoints: {endpoints:?}, .. }}")
    }
}

/// The rest of an invitation's bytes.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn invitation(mut self) -> Result<Invitation, InvitationError> {
        let gateway = PublicKey::from_bytes(self.take::<KEY_BYTES>()?);
        let secret = Zeroizing::new(self.take()?);
        let expires = u32::from_be_bytes(self.take()?);
        let addresses = self.list(Self::address)?;
        let endpoints = self.list(Self::endpoint)?;
        let tls_port = self.port()?;
        if endpoints.is_empty() || addresses.is_empty() || !self.0.is_empty() {
            return Err(InvitationError::Malformed);
        }
        Ok(Invitation {
            gateway,
            expires,
            addresses,
            endpoints,
            tls_port,
            secret,
        })
    }

    /// Returns the port at the end, if there is one.
    fn port(&mut self) -> Result<Option<NonZeroU16>, InvitationError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let port = NonZeroU16::new(u16::from_be_bytes(self.take()?));
        port.map(Some).ok_or(InvitationError::Malformed)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], InvitationError> {
        let (taken, rest) = self
            .0
            .split_first_chunk()
            .ok_or(InvitationError::Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn list<T>(
        &mut self,
        read: impl Fn(&mut Self) -> Result<T, InvitationError>,
    ) -> Result<Vec<T>, InvitationError> {
        let [count] = self.take()?;
        if usize::from(count) > MOST {
            return Err(InvitationError::Malformed);
        }
        (0..count).map(|_| read(self)).collect()
    }

    fn address(&mut self) -> Result<(IpAddr, u8), InvitationError> {
        let [version] = self.take()?;
        let (address, most) = match version {
            4 => (IpAddr::from(self.take::<4>()?), 32),
            6 => (IpAddr::from(self.take::<16>()?), 128),
            _ => return Err(InvitationError::Malformed),
        };
        let [length] = self.take()?;
        if length > most {
            return Err(InvitationError::Malformed);
        }
        Ok((address, length))
    }

    fn endpoint(&mut self) -> Result<String, InvitationError> {
        let [length] = self.take()?;
        let (text, rest) = self
            .0
            .split_at_checked(length.into())
            .ok_or(InvitationError::Malformed)?;
        self.0 = rest;
        let text = str::from_utf8(text).map_err(|_| InvitationError::Malformed)?;
        // It goes into a configuration.
        let sound =
            |character: char| character.is_ascii_graphic() && !matches!(character, '"' | '\\');
        if text.is_empty() || !text.chars().all(sound) {
            return Err(InvitationError::Malformed);
        }
        Ok(text.into())
    }
}
