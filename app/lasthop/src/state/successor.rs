//! The public key of a mobile host's gateway, which may change.

use std::path::{Path, PathBuf};

use runtime::KeyClaim;

use super::files::replace;
use super::members::another_key;
use crate::config::Source;
use crate::config::mobile::MobileConfig;
use crate::failure::Failure;

/// Returns the folder of the gateway's key in the configuration of a mobile host, if the key has a file.
pub(crate) fn successor_folder(source: &Source) -> Option<PathBuf> {
    let config = MobileConfig::load(source).ok()?;
    let file = config.gateway.get_ref().public_key_file.as_deref()?;
    source.file(file).parent().map(Path::to_path_buf)
}

/// Stores the next key of a gateway for which its present one has vouched, for the mobile host with the configuration
/// at `path`.
pub(crate) fn store_gateway_key(path: &Path, claim: &KeyClaim) -> Result<(), Failure> {
    let source = Source::read(path)?;
    let config = MobileConfig::load(&source)?;
    let mut others = config.gateways.iter();
    if let Some(other) = others.find(|other| other.key() == claim.of) {
        return Err(another_key(other.name(), path, claim));
    }
    let Some(file) = config.gateway.get_ref().public_key_file.as_deref() else {
        return Err(another_key(config.gateway_name(), path, claim));
    };
    let known = config.gateway_key(&source)?;
    if known != claim.of && known != claim.key {
        let file = source.file(file);
        let what = format!(
            "{}: the gateway's key was changed meanwhile; restart the daemon",
            file.display()
        );
        return Err(Failure::setting(what));
    }
    replace(&source.file(file), &format!("{}\n", claim.key))
}
