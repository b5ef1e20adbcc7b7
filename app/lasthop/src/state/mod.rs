//! The folder in which `lasthop gateway up` and `lasthop join` keep what must survive a restart: configurations, keys,
//! and a file for each mobile host of a gateway and for each other gateway of its site. Each file is replaced as a
//! whole, by rename.

mod files;
mod former;
mod members;
#[cfg(test)]
mod members_tests;
mod seen;
mod successor;
mod told;

use std::path::{Path, PathBuf};

pub(crate) use files::{create_folder, move_to, remove, replace};
pub(crate) use former::FormerKeys;
pub(crate) use members::{Invitee, Members, refresh, store_claim};
pub(crate) use successor::{store_gateway_key, successor_folder};
pub(crate) use told::{load_told, store_told};

use crate::failure::Failure;

/// Default of the folder.
pub(crate) const STATE: &str = "/var/lib/lasthop";
/// Version of its contents.
const VERSION: u32 = 1;
const VERSION_FILE: &str = "version";

/// The part of the folder that belongs to one end.
#[derive(Debug, Clone)]
pub(crate) struct State {
    folder: PathBuf,
    role: &'static str,
}

impl State {
    /// Returns the part of a gateway.
    pub(crate) fn of_gateway(folder: &Path) -> Result<Self, Failure> {
        Self::open(folder, "gateway")
    }

    /// Returns the part of a mobile host.
    pub(crate) fn of_mobile(folder: &Path) -> Result<Self, Failure> {
        Self::open(folder, "mobile")
    }

    /// Refuses the folder of a later version.
    fn open(folder: &Path, role: &'static str) -> Result<Self, Failure> {
        let path = folder.join(VERSION_FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => VERSION.to_string(),
            Err(error) => return Err(files::failed("read", &path, &error)),
        };
        let name = path.display();
        match text.trim().parse::<u32>() {
            Ok(..=VERSION) => {}
            Ok(later) => {
                return Err(Failure::setting(format!(
                    "{name}: the state is of version {later}, and this program knows versions up to {VERSION}; install \
                     the later lasthop again, or choose another folder with --state"
                )));
            }
            Err(_) => {
                return Err(Failure::setting(format!(
                    "{name} is damaged: it holds a version number; restore the folder from a backup, or write {VERSION}"
                )));
            }
        }
        let folder = std::path::absolute(folder.join(role)).map_err(Failure::setting)?;
        Ok(Self { folder, role })
    }

    /// Creates the folder, for this user alone.
    pub(crate) fn create(&self) -> Result<(), Failure> {
        create_folder(&self.folder)?;
        let path = self.folder.with_file_name(VERSION_FILE);
        if path.exists() {
            return Ok(());
        }
        replace(&path, &format!("{VERSION}\n"))
    }

    /// Returns the path of its configuration.
    pub(crate) fn configuration(&self) -> PathBuf {
        self.folder.join(format!("{}.toml", self.role))
    }

    /// Returns the path of its private key.
    pub(crate) fn key(&self) -> PathBuf {
        self.folder.join(format!("{}.key", self.role))
    }

    /// Returns the path of the public key of a mobile host's gateway, which has a folder of its own: the daemon's
    /// helper may write there.
    pub(crate) fn gateway_key(&self) -> PathBuf {
        self.folder.join("gateway").join("public_key")
    }

    /// Returns the path of what the gateways of a site have told a mobile host.
    pub(crate) fn told(&self) -> PathBuf {
        told::told_in(&self.folder.join("gateway"))
    }

    /// Returns the path of the log of a daemon in the background.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.role))
    }
}
