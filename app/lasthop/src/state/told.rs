//! What the gateways of a site have told a host, for its next start.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use hosts::Told;

use super::files::{failed, replace};
use super::successor::successor_folder;
use crate::config::Source;
use crate::config::entry::Kind;
use crate::config::gateway::GatewayConfig;
use crate::failure::Failure;

const FILE: &str = "told.json";

/// Returns the path of the file in a folder.
pub(super) fn told_in(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// Returns the path of the file of a host with this configuration: in the folder of the other gateways, or in that of
/// its gateway's key. Without these it has none.
fn path_of(source: &Source) -> Option<PathBuf> {
    let mut folders = GatewayConfig::folders_in(source).ok()?;
    let folder = folders.remove(&Kind::Gateway);
    folder
        .or_else(|| successor_folder(source))
        .map(|folder| told_in(&folder))
}

/// Stores what gateways have told the host with this configuration, if it has a place for it.
pub(crate) fn store_told(source: &Source, told: &[Told]) -> Result<(), Failure> {
    let Some(path) = path_of(source) else {
        return Ok(());
    };
    let text = serde_json::to_string_pretty(told).map_err(Failure::broken)?;
    replace(&path, &text)
}

/// Returns what gateways have told a former life of the host with this configuration.
///
/// # Errors
/// If the file is damaged, or of a later version.
pub(crate) fn load_told(source: &Source) -> Result<Vec<Told>, Failure> {
    let Some(path) = path_of(source) else {
        return Ok(Vec::new());
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read", &path, &error)),
    };
    serde_json::from_str(&text).map_err(|error| {
        let name = path.display();
        Failure::setting(format!("cannot read {name}: {error}"))
    })
}
