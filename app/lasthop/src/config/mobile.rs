//! The configuration of a mobile host.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Deserialize;
use session::{ParseKeyError, PublicKey};
use toml::Spanned;

use super::Source;
use super::carrier::{Carrier, Endpoint, Endpoints};
use super::dns::Dns;
use super::shared::{Hop, Routes, Snoop, Tun, state_folder};
use super::site::SiteGateway;
use super::split::Split;
use super::values::{Key, Name};
use crate::failure::Failure;

/// Configuration of a mobile host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MobileConfig {
    /// Name of the instance, for its socket.
    #[serde(default = "name")]
    pub(crate) name: Name,
    /// File of its private key.
    pub(crate) private_key_file: PathBuf,
    /// Destinations across the hop.
    #[serde(default)]
    pub(crate) routes: Routes,
    /// What happens to traffic while the hop is down.
    pub(crate) fallback: Option<Fallback>,
    /// DNS servers while the hop is up.
    #[serde(default)]
    pub(crate) dns: Dns,
    #[serde(default = "state_folder")]
    pub(crate) state_dir: PathBuf,
    /// Name or number of the user that the daemon becomes after its start.
    pub(crate) user: Option<String>,
    pub(crate) gateway: Spanned<Gateway>,
    /// The other gateways of its site.
    #[serde(default)]
    pub(crate) gateways: Vec<SiteGateway>,
    pub(crate) tun: Tun,
    #[serde(default)]
    pub(crate) hop: Hop,
    #[serde(default)]
    pub(crate) snoop: Snoop,
    #[serde(default)]
    pub(crate) split: Split,
}

/// What happens to the traffic of a mobile host while the hop is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fallback {
    /// It goes around the hop
    #[default]
    Direct,
    /// None leaves this host, except to the local network
    Block,
}

impl Fallback {
    /// Returns its name in configurations.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Block => "block",
        }
    }
}

/// The gateway in the configuration of a mobile host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gateway {
    /// Its name in a site with several.
    name: Option<Name>,
    /// Addresses of the gateway; if missing on a shared link, the mobile host searches for it.
    endpoint: Option<Spanned<Endpoints>>,
    public_key: Option<Key>,
    /// File of the public key, which the daemon replaces if the gateway replaces its key.
    pub(crate) public_key_file: Option<PathBuf>,
    pub(crate) preshared_key_file: Option<PathBuf>,
    /// True if no other gateway of the site takes its place because it would be better.
    #[serde(default)]
    pub(crate) stay: bool,
}

impl MobileConfig {
    /// Reads the configuration in `source`.
    pub(crate) fn load(source: &Source) -> Result<Self, Failure> {
        let config: Self = source.parse()?;
        config.tun.check(source)?;
        config.place(source)?;
        config.check_key(source)?;
        config.check_site(source)?;
        if config.split.congestion_control.is_some() {
            let what = "only the gateway sets `congestion_control` of `[split]`; remove it here";
            return Err(source.wrong(None, what));
        }
        Ok(config)
    }

    /// Returns what happens to traffic while the hop is down.
    pub(crate) fn fallback(&self) -> Fallback {
        self.fallback.unwrap_or_default()
    }

    /// Refuses a gateway with no public key, or with two.
    fn check_key(&self, source: &Source) -> Result<(), Failure> {
        let gateway = self.gateway.get_ref();
        let what = match (&gateway.public_key, &gateway.public_key_file) {
            (Some(_), None) | (None, Some(_)) => return Ok(()),
            (Some(_), Some(_)) => {
                "the gateway has `public_key` and `public_key_file`; remove one of the two"
            }
            (None, None) => {
                "the gateway needs `public_key`: `lasthop keygen --public FILE` prints it on the gateway"
            }
        };
        Err(source.wrong(Some(self.gateway.span()), what))
    }

    /// Returns the name of the gateway.
    pub(crate) fn gateway_name(&self) -> &str {
        let name = self.gateway.get_ref().name.as_ref();
        name.map_or("gateway", |name| &name.0)
    }

    /// Returns the public key of the gateway.
    pub(crate) fn gateway_key(&self, source: &Source) -> Result<PublicKey, Failure> {
        let gateway = self.gateway.get_ref();
        match (&gateway.public_key, &gateway.public_key_file) {
            (Some(key), _) => Ok(key.0),
            (None, Some(path)) => read_public_key(&source.file(path)),
            (None, None) => {
                Err(source.wrong(Some(self.gateway.span()), "the gateway has no public key"))
            }
        }
    }

    /// Returns the bearer and the addresses of the gateway. Names are not resolved yet.
    pub(crate) fn place(&self, source: &Source) -> Result<(Carrier, Vec<Endpoint>), Failure> {
        let carrier = self.hop.carrier(source)?;
        let Some(given) = &self.gateway.get_ref().endpoint else {
            return match carrier {
                Carrier::Ethernet { .. } => Ok((carrier, vec![Endpoint::ANYWHERE])),
                Carrier::Udp => {
                    let what = "the gateway needs an endpoint; write `endpoint = \"gateway.example.org:51830\"`";
                    Err(source.wrong(Some(self.gateway.span()), what))
                }
            };
        };
        let Endpoints(endpoints) = given.get_ref();
        let of_ethernet = endpoints.iter().filter(|place| place.is_ethernet()).count();
        let what = match &carrier {
            Carrier::Udp if of_ethernet == 0 => return Ok((carrier, endpoints.clone())),
            Carrier::Ethernet { .. } if of_ethernet == 1 && endpoints.len() == 1 => {
                return Ok((carrier, endpoints.clone()));
            }
            Carrier::Udp => {
                "a MAC address is for Ethernet frames; set `bearer = \"ethernet\"` in `[hop]`, or \
                 write a host and a port"
            }
            Carrier::Ethernet { .. } => {
                "Ethernet frames go to one MAC address like '02:00:5e:10:00:01'; write that, or remove \
                 the line, and the gateway is looked for"
            }
        };
        Err(source.wrong(Some(given.span()), what))
    }
}

/// Reads the public key in a file.
fn read_public_key(path: &Path) -> Result<PublicKey, Failure> {
    let name = path.display();
    let failed = |error: &dyn fmt::Display| {
        Failure::setting(format!(
            "cannot read the public key of the gateway in {name}: {error}"
        ))
    };
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    text.trim()
        .parse()
        .map_err(|error: ParseKeyError| failed(&error))
}

fn name() -> Name {
    Name("mobile".into())
}
