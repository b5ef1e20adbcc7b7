//! The destination of copies.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::{Entry, ask};
use nfs::url::Url;
use nfs::{FileHandle, FileType, NewAttributes, Status};
use runtime::files::CallError;

use super::local::LocalPart;
use super::meta::Meta;
use super::options::How;
use super::origin::{self, Opened, Origin};
use super::part::{Part, mode};
use super::remote::{RemotePart, RemotePlace};
use crate::nfs::problem::Problem;
use crate::nfs::session::{Place, Session, Sessions, parse_url};
use crate::nfs::transfer::{LocalFile, RemoteFile};

/// An existing directory.
#[derive(Clone)]
pub(super) enum Directory {
    Local(PathBuf),
    Remote {
        session: Arc<Session>,
        directory: FileHandle,
        shown: Arc<str>,
    },
}

/// The destination of copies.
pub(super) struct Destination {
    directory: Directory,
    /// Name of the copy, if it differs from that of the source.
    name: Option<Vec<u8>>,
    place: Option<Place>,
}

impl Destination {
    /// Returns the destination that the command line names: an existing directory, or a new name in one.
    pub(super) fn find(
        text: &OsStr,
        must_be_directory: bool,
        sessions: &mut Sessions,
    ) -> Result<Self, Problem> {
        let must_be_directory = must_be_directory || text.as_bytes().ends_with(b"/");
        if Url::is_meant(text.as_bytes()) {
            let place = sessions.place(&parse_url(text)?)?;
            return Self::find_remote(&place, must_be_directory);
        }
        let path = Path::new(text);
        let local = |directory: &Path, name| Self {
            directory: Directory::Local(directory.into()),
            name,
            place: None,
        };
        if path.is_dir() {
            return Ok(local(path, None));
        }
        let name = path.file_name().filter(|_| !must_be_directory);
        let Some(name) = name else {
            let what = "this is no directory; make it first";
            return Err(Problem::at(path.display(), what));
        };
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        if !parent.is_dir() {
            let what = "this is no directory; make it first";
            return Err(Problem::at(parent.display(), what));
        }
        Ok(local(parent, Some(name.as_bytes().to_vec())))
    }

    fn find_remote(place: &Place, must_be_directory: bool) -> Result<Self, Problem> {
        let session = Arc::clone(&place.session);
        let remote = |directory, shown: String, name| Self {
            directory: Directory::Remote {
                session: Arc::clone(&session),
                directory,
                shown: shown.into(),
            },
            name,
            place: Some(place.clone()),
        };
        let shown = place.shown().to_string();
        match session.resolve(&place.path, true) {
            Ok(found) if found.attributes.kind == FileType::Directory => {
                return Ok(remote(found.file, shown, None));
            }
            Ok(_) if must_be_directory => {
                return Err(Problem::at(shown, "this is no directory"));
            }
            Err(error) if must_be_directory || error.status() != Some(Status::NoEntry) => {
                return Err(Problem::of_way(shown, &error));
            }
            Ok(_) | Err(_) => {}
        }
        let (parent, name) = place.parent()?;
        if parent.attributes.kind != FileType::Directory {
            return Err(Problem::at(shown, "its parent is not a directory"));
        }
        let parent_path = place.url.path.strip_suffix(&name[..]);
        let parent_url = place.shown().with_path(parent_path.unwrap_or(b"/").into());
        Ok(remote(parent.file, parent_url.to_string(), Some(name)))
    }

    /// Returns the directory and name of the copy of a source.
    pub(super) fn target(&self, name: &[u8]) -> (&Directory, Vec<u8>) {
        let name = self.name.clone().unwrap_or_else(|| name.to_vec());
        (&self.directory, name)
    }

    /// Returns a connection with empty caches to read copies back; `None` for copies on this host.
    pub(super) fn reader(&self, sessions: &mut Sessions) -> Result<Option<Arc<Session>>, Problem> {
        let place = self.place.as_ref();
        place
            .map(|place| sessions.afresh(place).map(|place| place.session))
            .transpose()
    }
}

impl Directory {
    /// Returns true if this is the directory that is copied.
    pub(super) fn is(&self, origin: &Origin) -> bool {
        match (self, &origin.place) {
            (Self::Local(one), origin::Place::Local(other)) => {
                let number = |path: &Path| {
                    let metadata = fs::metadata(path).ok()?;
                    Some((metadata.dev(), metadata.ino()))
                };
                number(one).is_some_and(|one| Some(one) == number(other))
            }
            (
                Self::Remote {
                    session, directory, ..
                },
                origin::Place::Remote(other, file),
            ) => {
                let server = |session: &Session| session.connection.status().server.ip();
                directory == file && server(session) == server(other)
            }
            _ => false,
        }
    }

    /// Returns the path of a name in this directory, as text for people.
    pub(super) fn shown(&self, name: &[u8]) -> Arc<str> {
        match self {
            Self::Local(path) => path
                .join(OsStr::from_bytes(name))
                .display()
                .to_string()
                .into(),
            Self::Remote { shown, .. } => {
                format!("{}/{}", shown.trim_end_matches('/'), name.escape_ascii()).into()
            }
        }
    }

    /// Returns the directory `name` in this one, and creates it if it is missing. With `is_inner` a symbolic link is
    /// refused, because somebody could have created it to redirect the copy.
    pub(super) fn enter(
        &self,
        name: &[u8],
        meta: &Meta,
        how: How,
        is_inner: bool,
    ) -> Result<Self, Problem> {
        // The copier needs access itself, until the directory gets its own mode at the end.
        let mode = mode(meta, how) | 0o700;
        let shown = self.shown(name);
        match self {
            Self::Local(path) => {
                let path = path.join(OsStr::from_bytes(name));
                let failed = |error: std::io::Error| Problem::at(path.display(), error);
                match fs::DirBuilder::new().mode(mode).create(&path) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                        let metadata = if is_inner {
                            fs::symlink_metadata(&path)
                        } else {
                            fs::metadata(&path)
                        };
                        if !metadata.map_err(failed)?.is_dir() {
                            return Err(failed(error));
                        }
                    }
                    Err(error) => return Err(failed(error)),
                }
                Ok(Self::Local(path))
            }
            Self::Remote {
                session,
                directory,
                shown: here,
            } => {
                let problem = |error: &CallError| Problem::of_call(&shown, error);
                let entry = entry(*directory, name, here)?;
                let make = ask::MakeDirectory {
                    entry: entry.clone(),
                    attributes: NewAttributes {
                        mode: Some(mode),
                        ..NewAttributes::default()
                    },
                };
                let found = match session.call(make) {
                    Err(error) if error.status() == Some(Status::Exists) => {
                        let found = session.call(ask::LookUp(entry));
                        let found = found.map_err(|error| problem(&error))?;
                        if found.attributes.kind != FileType::Directory {
                            return Err(problem(&error));
                        }
                        found
                    }
                    made => made.map_err(|error| problem(&error))?,
                };
                Ok(Self::Remote {
                    session: Arc::clone(session),
                    directory: found.file,
                    shown,
                })
            }
        }
    }

    /// Sets mode and times of a directory, after its last entry was created.
    pub(super) fn finish(&self, meta: &Meta, how: How) -> Result<(), Problem> {
        let wanted = mode(meta, how);
        match self {
            Self::Local(path) => {
                let failed = |error: std::io::Error| Problem::at(path.display(), error);
                fs::set_permissions(path, fs::Permissions::from_mode(wanted)).map_err(failed)?;
                let directory = fs::File::open(path).map_err(failed)?;
                rustix::fs::futimens(&directory, &meta.timestamps())
                    .map_err(|error| failed(error.into()))
            }
            Self::Remote {
                session,
                directory,
                shown,
            } => {
                let mut attributes = meta.times();
                attributes.mode = Some(wanted);
                let file = *directory;
                let set = session.call(ask::SetAttributes { file, attributes });
                set.map(drop)
                    .map_err(|error| Problem::of_call(shown, &error))
            }
        }
    }

    /// Creates a symbolic link, and replaces anything else with that name but a directory.
    pub(super) fn make_link(&self, name: &[u8], target: &[u8]) -> Result<(), Problem> {
        match self {
            Self::Local(path) => {
                let path = path.join(OsStr::from_bytes(name));
                let make = || std::os::unix::fs::symlink(OsStr::from_bytes(target), &path);
                let made = match make() {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                        fs::remove_file(&path).and_then(|()| make())
                    }
                    made => made,
                };
                made.map_err(|error| Problem::at(path.display(), error))
            }
            Self::Remote {
                session,
                directory,
                shown,
            } => {
                let entry = entry(*directory, name, shown)?;
                let make = || {
                    session.call(ask::MakeSymbolicLink {
                        entry: entry.clone(),
                        target: target.to_vec().into(),
                        attributes: NewAttributes::default(),
                    })
                };
                let made = match make() {
                    Err(error) if error.status() == Some(Status::Exists) => session
                        .call(ask::Remove(entry.clone()))
                        .and_then(|()| make()),
                    made => made,
                };
                made.map(drop)
                    .map_err(|error| Problem::of_call(self.shown(name), &error))
            }
        }
    }

    /// Starts the file `name`, or resumes it.
    pub(super) fn begin(
        &self,
        name: &[u8],
        meta: &Meta,
        how: How,
    ) -> Result<Box<dyn Part>, Problem> {
        match self {
            Self::Local(folder) => Ok(Box::new(LocalPart::begin(folder, name, meta, how)?)),
            Self::Remote {
                session, directory, ..
            } => {
                let place = RemotePlace {
                    session,
                    directory: *directory,
                    name,
                    shown: &self.shown(name),
                };
                Ok(Box::new(RemotePart::begin(&place, meta, how)?))
            }
        }
    }

    /// Opens the file `name` to read it back, at a server through `reader`.
    pub(super) fn read_back(
        &self,
        name: &[u8],
        reader: Option<&Arc<Session>>,
    ) -> Result<Opened, Problem> {
        let shown = self.shown(name);
        match (self, reader) {
            (Self::Remote { directory, .. }, Some(reader)) => {
                let problem = |error: &CallError| Problem::of_call(&shown, error);
                let entry = entry(*directory, name, &shown)?;
                let found = reader.call(ask::LookUp(entry));
                let found = found.map_err(|error| problem(&error))?;
                let opened = reader.call(ask::Open(found.file));
                let (open, found) = opened.map_err(|error| problem(&error))?;
                let meta = Meta::from(&found.attributes);
                let source = Box::new(RemoteFile {
                    session: Arc::clone(reader),
                    open,
                    shown,
                });
                Ok(Opened { source, meta })
            }
            (Self::Remote { .. }, None) => {
                unreachable!("what is at a server is read back through a connection of its own")
            }
            (Self::Local(folder), _) => {
                let failed = |error: std::io::Error| Problem::at(&shown, error);
                let file = fs::File::open(folder.join(OsStr::from_bytes(name))).map_err(failed)?;
                let meta = Meta::from(&file.metadata().map_err(failed)?);
                let source = Box::new(LocalFile { file, shown });
                Ok(Opened { source, meta })
            }
        }
    }
}

fn entry(directory: FileHandle, name: &[u8], shown: &str) -> Result<Entry, Problem> {
    Entry::new(directory, name)
        .map_err(|fault| Problem::at(shown, format!("`{}`: {fault}", name.escape_ascii())))
}
