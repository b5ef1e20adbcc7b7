//! The configuration of a mobile host.

use std::path::PathBuf;

use serde::Deserialize;

use super::Source;
use super::shared::{Hop, Routes, Snoop, Tun, state_folder};
use super::values::{Key, Name, Remote};
use crate::failure::Failure;

/// A mobile host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MobileConfig {
    /// Names the instance: its socket.
    #[serde(default = "name")]
    pub(crate) name: Name,
    /// The file of its key.
    pub(crate) private_key_file: PathBuf,
    /// What goes across the hop.
    #[serde(default)]
    pub(crate) routes: Routes,
    #[serde(default = "state_folder")]
    pub(crate) state_dir: PathBuf,
    pub(crate) gateway: Gateway,
    pub(crate) tun: Tun,
    #[serde(default)]
    pub(crate) hop: Hop,
    #[serde(default)]
    pub(crate) snoop: Snoop,
}

/// The gateway, as a mobile knows it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gateway {
    /// Where it listens.
    pub(crate) endpoint: Remote,
    pub(crate) public_key: Key,
    pub(crate) preshared_key_file: Option<PathBuf>,
}

impl MobileConfig {
    /// Reads the configuration in `source`.
    pub(crate) fn load(source: &Source) -> Result<Self, Failure> {
        let config: Self = source.parse()?;
        config.tun.check(source)?;
        Ok(config)
    }
}

fn name() -> Name {
    Name("mobile".into())
}
