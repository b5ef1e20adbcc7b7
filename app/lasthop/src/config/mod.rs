//! Configuration files in TOML: unknown keys are errors, and every error names its place.

pub(crate) mod caps;
pub(crate) mod carrier;
pub(crate) mod dns;
pub(crate) mod entry;
pub(crate) mod follow;
pub(crate) mod gateway;
mod keys;
mod known;
pub(crate) mod mobile;
pub(crate) mod registry;
mod renewal;
pub(crate) mod shared;
pub(crate) mod site;
pub(crate) mod split;
pub(crate) mod values;

#[cfg(test)]
mod renewal_tests;
#[cfg(test)]
mod secret_tests;
#[cfg(test)]
mod site_tests;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::DirEntry;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use session::ParseKeyError;
use units::Bytes;

pub(crate) use keys::next_key_of;

use entry::{Kind, Texts};
use values::Name;

use crate::failure::Failure;
use crate::key_file;
use crate::secrets::hide;
use crate::state::FormerKeys;
use crate::status::ENDING;

/// Upper limit of a configuration file; a longer one is another file.
const MOST_BYTES: u64 = 1 << 20;

/// Folder of the secrets that a service manager passes, as configurations and as the environment name it (systemd's
/// `LoadCredential=`).
const CREDENTIALS: (&str, &str) = ("$CREDENTIALS_DIRECTORY", "CREDENTIALS_DIRECTORY");

/// Most files of one folder of hosts.
const MOST_FILES: usize = 65_536;
/// Extension of the files of mobile hosts and gateways.
pub(crate) const PEER_ENDING: &str = "toml";

#[cfg(test)]
thread_local! {
    /// Number of texts that were parsed.
    pub(crate) static PARSED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Files that a configuration names, read by another process.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct ReadFiles {
    /// Keys and shared secrets by the paths in the configuration.
    pub(crate) secrets: BTreeMap<PathBuf, String>,
    /// Texts in the folders of hosts of each kind.
    pub(crate) folders: BTreeMap<Kind, Texts>,
}

/// Text and path of a configuration file, for errors with their place.
#[derive(Clone)]
pub(crate) struct Source {
    path: PathBuf,
    text: String,
    /// The files that the text names, if another process has read them.
    files: Option<ReadFiles>,
}

/// Shows no secrets.
impl fmt::Debug for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Source {{ path: {:?}, .. }}", self.path)
    }
}

impl Source {
    /// Reads the file at `path`.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            Failure::setting(format!(
                "cannot read the configuration {}: {error}",
                path.display()
            ))
        };
        let length = std::fs::metadata(path).map_err(failed)?.len();
        if length > MOST_BYTES {
            let name = path.display();
            return Err(Failure::setting(format!(
                "{name} is too long for a configuration"
            )));
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        Ok(Self::new(path.into(), text, None))
    }

    /// Returns what another process has read: the text, and the files that it names.
    pub(crate) fn new(path: PathBuf, text: String, files: Option<ReadFiles>) -> Self {
        Self { path, text, files }
    }

    /// Returns the files of hosts of one kind in a folder that the configuration names, in the order of their names. A
    /// folder that does not exist has none.
    pub(crate) fn files_in(&self, kind: Kind, folder: &Path) -> Result<Vec<Self>, Failure> {
        let folder = self.file(folder);
        if let Some(files) = &self.files {
            let source = |(name, text): (&PathBuf, &String)| {
                Self::new(folder.join(name), text.clone(), None)
            };
            let texts = files.folders.get(&kind).into_iter();
            return Ok(texts.flat_map(|texts| &texts.hosts).map(source).collect());
        }
        let entries = files_of_hosts(&folder)?;
        let mut names: Vec<_> = entries.iter().map(DirEntry::file_name).collect();
        names.sort();
        let paths = names.iter().map(|name| folder.join(name));
        paths.map(|path| Self::read(&path)).collect()
    }

    /// Returns the former keys of hosts of one kind in a folder that the configuration names.
    pub(crate) fn former_keys(&self, kind: Kind, folder: &Path) -> FormerKeys {
        let Some(files) = &self.files else {
            return FormerKeys::read(&self.file(folder));
        };
        let texts = files.folders.get(&kind);
        FormerKeys::new(texts.map_or_else(String::new, |texts| texts.former.clone()))
    }

    /// Returns the name of the host whose file this is: that of the file.
    fn name_of_file(&self) -> Result<Name, Failure> {
        let stem = self.path.file_stem().and_then(OsStr::to_str);
        let name = Name::read(stem.unwrap_or_default());
        name.map_err(|error| self.wrong(None, error))
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the place of a key outside of all sections, or of a section.
    pub(crate) fn place_of(&self, key: &str) -> Option<Range<usize>> {
        let table = toml::de::DeTable::parse(&self.text).ok()?;
        let mut keys = table.get_ref().keys();
        let found = keys.find(|known| known.get_ref().as_ref() == key)?;
        Some(found.span())
    }

    /// Returns true if the file exists that the configuration names so.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let files = self.files.as_ref();
        files.map_or_else(
            || self.file(path).exists(),
            |files| files.secrets.contains_key(path),
        )
    }

    /// Returns true if the file that the configuration names so was written longer than this ago.
    pub(crate) fn is_older(&self, path: &Path, age: Duration) -> bool {
        let written = std::fs::metadata(self.file(path)).and_then(|metadata| metadata.modified());
        let its_age = written.ok().and_then(|written| written.elapsed().ok());
        self.files.is_none() && its_age.is_some_and(|its_age| its_age > age)
    }

    /// Returns the key or the shared secret in the file that the configuration names so.
    pub(crate) fn secret<K: FromStr<Err = ParseKeyError>>(
        &self,
        path: &Path,
    ) -> Result<K, Failure> {
        let Some(files) = &self.files else {
            return key_file::read(&self.secret_file(path)?);
        };
        let text = files.secrets.get(path).map_or("", String::as_str);
        let failed = |error| Failure::setting(format!("{}: {error}", path.display()));
        text.parse().map_err(failed)
    }

    /// Parses the values in it.
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        #[cfg(test)]
        PARSED.set(PARSED.get() + 1);
        toml::from_str(&self.text).map_err(|error| self.wrong(error.span(), error.message()))
    }

    /// Returns the values before the first section. The sections may be those of thousands of hosts.
    pub(crate) fn top(&self) -> Result<toml::Table, Failure> {
        let section = self.text.find("\n[").unwrap_or(self.text.len());
        // This may also be a line of a value.
        toml::from_str(&self.text[..section]).or_else(|_| self.parse())
    }

    /// Returns true if it is the configuration of a mobile host.
    pub(crate) fn is_of_mobile(&self) -> Result<bool, Failure> {
        Ok(self.parse::<toml::Table>()?.contains_key("gateway"))
    }

    /// Returns the path of a file that the configuration names, relative to the folder of the configuration.
    pub(crate) fn file(&self, path: &Path) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }

    /// Returns the control socket of the daemon with this configuration.
    pub(crate) fn socket(&self) -> Result<PathBuf, Failure> {
        let (name, folder) = if self.is_of_mobile()? {
            let config = mobile::MobileConfig::load(self)?;
            (config.name, config.state_dir)
        } else {
            // Its hosts do not matter here.
            let config: gateway::GatewayConfig = self.parse()?;
            (config.name, config.state_dir)
        };
        Ok(self.file(&folder).join(format!("{}.{ENDING}", name.0)))
    }

    /// Returns the path of a file with a secret, which may begin with `$CREDENTIALS_DIRECTORY/`.
    pub(crate) fn secret_file(&self, path: &Path) -> Result<PathBuf, Failure> {
        let Ok(inside) = path.strip_prefix(CREDENTIALS.0) else {
            return Ok(self.file(path));
        };
        let Some(folder) = std::env::var_os(CREDENTIALS.1) else {
            let name = path.display();
            return Err(Failure::setting(format!(
                "{name}: {} is not set; a service manager sets it for a unit with `LoadCredential=`, and elsewhere it \
                 is the folder of that unit, such as /run/credentials/lasthop-gateway.service",
                CREDENTIALS.1
            )));
        };
        Ok(Path::new(&folder).join(inside))
    }

    /// Returns the error `file:line:column: what`, with the line and a mark below the text in question.
    pub(crate) fn wrong(&self, span: Option<Range<usize>>, what: impl fmt::Display) -> Failure {
        let path = self.path.display();
        let Some(span) = span else {
            return Failure::setting(format!("{path}: {what}"));
        };
        let before = self.text.get(..span.start).unwrap_or(&self.text);
        let number = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |place| place + 1);
        let line = self.text[start..].lines().next().unwrap_or_default();
        let column = before[start..].chars().count() + 1;
        let meant = self.text.get(span).unwrap_or_default();
        let meant = hide(meant.lines().next().unwrap_or_default());
        let margin = " ".repeat(number.to_string().len());
        // The mark stands below the line as it is shown.
        let (indent, mark) = (
            " ".repeat(hide(&before[start..]).chars().count()),
            "^".repeat(meant.chars().count().max(1)),
        );
        let line = hide(line);
        Failure::setting(format!(
            "{path}:{number}:{column}: {what}\n {number} | {line}\n {margin} | {indent}{mark}"
        ))
    }
}

/// Returns the files of hosts in a folder. A folder that does not exist has none.
pub(crate) fn files_of_hosts(folder: &Path) -> Result<Vec<DirEntry>, Failure> {
    let failed = |error: io::Error| {
        let name = folder.display();
        Failure::setting(format!("cannot read the folder of peers {name}: {error}"))
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut files = Vec::new();
    for entry in entries.take(MOST_FILES) {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if Path::new(&name)
            .extension()
            .is_some_and(|its| its == PEER_ENDING)
        {
            files.push(entry);
        }
    }
    Ok(files)
}

/// Parses an amount of memory within a range.
fn within(text: &str, least: Bytes, most: Bytes, usual: Bytes) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    if (least..=most).contains(&size) {
        return Ok(size);
    }
    Err(format!(
        "{size} is out of range; allowed: {least} to {most}, usual: {usual}"
    ))
}
