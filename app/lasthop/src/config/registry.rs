//! The registry that keeps the list of a gateway's hosts: a store of several machines (etcd).

use std::net::IpAddr;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::Source;
use super::values::Remote;
use crate::failure::Failure;

/// Section of a gateway's configuration.
const SECTION: &str = "registry";

/// The registry of a gateway.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RegistryConfig {
    /// Addresses of the members of etcd.
    pub(crate) endpoints: Spanned<Vec<Endpoint>>,
    /// Begin of the keys that belong to this gateway alone.
    pub(crate) prefix: Prefix,
    /// User of etcd that may read and write these keys.
    pub(crate) user: String,
    pub(crate) password_file: PathBuf,
    /// Certificates of the authorities that the members' certificates come from, as PEM.
    pub(crate) ca_file: Option<PathBuf>,
}

/// Address of a member of etcd: `https://HOST:PORT`, or `http://` on this host.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Endpoint(pub(crate) String);

impl TryFrom<String> for Endpoint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let host = |scheme| text.strip_prefix(scheme).map(Remote::read);
        let is_here = |remote: &Remote| {
            let host = remote.text().rsplit_once(':').map(|(host, _)| host);
            let address = host.and_then(|host| host.trim_matches(['[', ']']).parse().ok());
            address.is_some_and(|address: IpAddr| address.is_loopback())
        };
        match (host("https://"), host("http://")) {
            (Some(Ok(_)), _) => Ok(Self(text)),
            (_, Some(Ok(remote))) if is_here(&remote) => Ok(Self(text)),
            (_, Some(Ok(_))) => Err(format!(
                "'{text}' is not encrypted; write it with https://, and have etcd use TLS (http:// is for 127.0.0.1)"
            )),
            (Some(Err(error)), _) | (_, Some(Err(error))) => Err(error),
            (None, None) => Err(format!(
                "'{text}' is no address of a member of etcd; write it like 'https://etcd1.example.org:2379'"
            )),
        }
    }
}

/// Begin of keys in etcd: a path that begins and ends with `/`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Prefix(pub(crate) String);

impl TryFrom<String> for Prefix {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.len() > 1 && text.starts_with('/') && text.ends_with('/') {
            return Ok(Self(text));
        }
        Err(format!(
            "'{text}' is no prefix of keys; write it like '/lasthop/east/', another one for each gateway"
        ))
    }
}

impl RegistryConfig {
    /// Returns the registry in the configuration in `source`, if it has one. Nothing else of that is read.
    pub(crate) fn of(source: &Source) -> Result<Option<Self>, Failure> {
        #[derive(Deserialize)]
        struct Section {
            registry: Option<RegistryConfig>,
        }
        // To parse those of thousands of hosts takes long, and few have a registry.
        if !source.text().contains(SECTION) {
            return Ok(None);
        }
        let section: Section = source.parse()?;
        if let Some(registry) = &section.registry {
            registry.check(source)?;
        }
        Ok(section.registry)
    }

    /// Refuses a registry that cannot be reached, or not safely.
    pub(crate) fn check(&self, source: &Source) -> Result<(), Failure> {
        let endpoints = self.endpoints.get_ref();
        let is_encrypted = endpoints
            .iter()
            .any(|Endpoint(url)| url.starts_with("https"));
        let what = match &self.ca_file {
            _ if endpoints.is_empty() => {
                "a registry has at least one member; write its address like \"https://etcd1.example.org:2379\""
            }
            None if is_encrypted => {
                "`ca_file` is missing: the file with the certificate of the authority that has signed those of etcd"
            }
            _ => return Ok(()),
        };
        Err(source.wrong(Some(self.endpoints.span()), what))
    }
}
