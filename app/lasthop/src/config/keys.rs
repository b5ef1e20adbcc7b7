//! Private keys that are replaced: those of a gateway are the present one and those before it, which mobile hosts may
//! still know; those of a mobile host are the present one and the next one, which its gateway may not know yet.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hosts::OwnKeys;
use session::PrivateKey;

use super::gateway::GatewayConfig;
use super::mobile::MobileConfig;
use super::{CREDENTIALS, Source};
use crate::failure::Failure;

/// Time for which a gateway tells mobile hosts that a key of it has ended: 30 days.
const REMEMBERED: Duration = Duration::from_hours(30 * 24);
/// End of the name of the file with a key that has ended.
const ENDED: &str = ".ended";
/// End of the name of the file with the next key of a mobile host.
const NEXT: &str = ".next";

impl GatewayConfig {
    /// Returns the path of the file for its former private key, if it has a place for one.
    pub(crate) fn former_key_file(&self) -> Option<&Path> {
        self.former_private_key_file.as_deref()
    }

    /// Returns the path of the file for the private key that has ended, if it has a place for one.
    pub(crate) fn ended_key_file(&self) -> Option<PathBuf> {
        Some(with_end(self.former_key_file()?, ENDED))
    }

    /// Returns its private keys.
    pub(crate) fn keys(&self, source: &Source) -> Result<OwnKeys, Failure> {
        let at = |path: Option<&Path>| {
            let path = path.filter(|path| source.has(path));
            path.map(|path| source.secret(path)).transpose()
        };
        let ended = self.ended_key_file();
        let ended = ended.filter(|path| !source.is_older(path, REMEMBERED));
        Ok(OwnKeys {
            key: source.secret(&self.private_key_file)?,
            former: at(self.former_key_file())?,
            ended: at(ended.as_deref())?,
        })
    }

    /// Removes the key that has ended if mobile hosts are told so no more. If that fails, the key serves nobody.
    pub(crate) fn remove_old_key(&self, source: &Source) {
        let ended = self.ended_key_file();
        if let Some(path) = ended.filter(|path| source.is_older(path, REMEMBERED)) {
            let _ = std::fs::remove_file(source.file(&path));
        }
    }

    /// Returns the texts of its private keys by their paths, if they may change while it runs.
    pub(crate) fn texts_of_keys(
        &self,
        source: &Source,
    ) -> Result<BTreeMap<PathBuf, String>, Failure> {
        let (Some(former_path), Some(ended_path)) = (self.former_key_file(), self.ended_key_file())
        else {
            return Ok(BTreeMap::new());
        };
        let OwnKeys { key, former, ended } = self.keys(source)?;
        let text = |key: &PrivateKey| key.to_text().to_string();
        let former = former.map(|key| (former_path.into(), text(&key)));
        let ended = ended.map(|key| (ended_path, text(&key)));
        let present = (self.private_key_file.clone(), text(&key));
        Ok([Some(present), former, ended]
            .into_iter()
            .flatten()
            .collect())
    }

    /// Refuses a place for a former key beside a present one that this program cannot replace.
    pub(super) fn check_keys(&self, source: &Source) -> Result<(), Failure> {
        if self.former_private_key_file.is_none() || !is_credential(&self.private_key_file) {
            return Ok(());
        }
        let what = "the private key is a credential of a service, which `lasthop rotate` cannot replace; remove this \
                    line, or give the key a file";
        Err(source.wrong(source.place_of("former_private_key_file"), what))
    }
}

impl MobileConfig {
    /// Returns the path of the file for the key that will take the place of the present one.
    pub(crate) fn next_key_file(&self) -> PathBuf {
        next_key_of(&self.private_key_file)
    }

    /// Returns that key, if there is one.
    pub(crate) fn next_key(&self, source: &Source) -> Result<Option<PrivateKey>, Failure> {
        let path = self.next_key_file();
        source.has(&path).then(|| source.secret(&path)).transpose()
    }

    /// Refuses a private key that this program cannot replace.
    pub(crate) fn check_replaceable(&self, source: &Source) -> Result<(), Failure> {
        if !is_credential(&self.private_key_file) {
            return Ok(());
        }
        let what = "the private key is a credential of a service, which `lasthop rotate` cannot replace; give the key \
                    a file, or replace the credential and have the gateway's operator admit its public key";
        Err(source.wrong(source.place_of("private_key_file"), what))
    }
}

/// Returns the path of the file for the key that will take the place of a mobile host's key at `path`.
pub(crate) fn next_key_of(path: &Path) -> PathBuf {
    with_end(path, NEXT)
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name: OsString = path.into();
    name.push(end);
    name.into()
}

fn is_credential(path: &Path) -> bool {
    path.starts_with(CREDENTIALS.0)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;
    use crate::key_file;

    const EXAMPLE: &str = include_str!("../../examples/gateway.toml");

    fn key(number: u8) -> PrivateKey {
        PrivateKey::from_bytes([number; 32])
    }

    #[test]
    fn a_key_that_has_ended_is_remembered_for_thirty_days() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, number| {
            let path = folder.path().join(name);
            key_file::write(&path, &key(number).to_text(), false).unwrap();
        };
        write("gateway.key", 1);
        let text = EXAMPLE.replace(
            "# former_private_key_file = \"former.key\"",
            "former_private_key_file = \"former.key\"",
        );
        let source = Source::new(folder.path().join("gateway.toml"), text, None);
        let config = GatewayConfig::load(&source).unwrap();
        let known = || {
            let OwnKeys { key, former, ended } = config.keys(&source).unwrap();
            [Some(key), former, ended].map(|key| key.map(|key| key.public_key()))
        };
        let [first, second, third] = [1, 2, 3].map(|number| Some(key(number).public_key()));
        assert_eq!(known(), [first, None, None]);
        write("former.key", 2);
        write("former.key.ended", 3);
        config.remove_old_key(&source);
        assert_eq!(known(), [first, second, third]);
        assert_eq!(config.texts_of_keys(&source).unwrap().len(), 3);
        let ended = folder.path().join("former.key.ended");
        let file = File::options().append(true).open(&ended).unwrap();
        let long_ago = SystemTime::now() - REMEMBERED - Duration::from_hours(1);
        file.set_modified(long_ago).unwrap();
        assert_eq!(known(), [first, second, None]);
        config.remove_old_key(&source);
        assert!(!ended.exists());
    }

    #[test]
    fn a_credential_is_no_key_that_can_be_replaced() {
        let text = EXAMPLE.replace(
            "private_key_file = \"gateway.key\"",
            "private_key_file = \"$CREDENTIALS_DIRECTORY/k\"\nformer_private_key_file = \"former.key\"",
        );
        let source = Source::new("some/hop.toml".into(), text, None);
        let refused = GatewayConfig::load(&source).unwrap_err().to_string();
        assert!(
            refused.contains("`lasthop rotate` cannot replace"),
            "{refused}"
        );
    }
}
