//! The source of a copy.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::{Found, ask};
use nfs::url::Url;
use nfs::{FileHandle, FileType};

use super::meta::Meta;
use crate::nfs::problem::Problem;
use crate::nfs::session::{Session, Sessions, parse_url};
use crate::nfs::text;
use crate::nfs::transfer::{LocalFile, RemoteFile, Source};

/// The place of a source.
#[derive(Clone)]
pub(super) enum Place {
    Local(PathBuf),
    Remote(Arc<Session>, FileHandle),
}

/// A file, directory or link to copy.
#[derive(Clone)]
pub(super) struct Origin {
    pub(super) place: Place,
    /// Last component of its path.
    pub(super) name: Vec<u8>,
    pub(super) shown: Arc<str>,
    pub(super) kind: FileType,
    pub(super) meta: Meta,
}

/// An open file to read, and its attributes when it was opened.
pub(super) struct Opened {
    pub(super) source: Box<dyn Source>,
    pub(super) meta: Meta,
}

impl Origin {
    /// Returns the source that the command line names. A symbolic link is followed, unless whole directories are
    /// copied.
    pub(super) fn find(
        text: &OsStr,
        recursive: bool,
        sessions: &mut Sessions,
    ) -> Result<Self, Problem> {
        if Url::is_meant(text.as_bytes()) {
            let place = sessions.place(&parse_url(text)?)?;
            let found = place.resolve(!recursive)?;
            let name = place.path.rsplit(|&byte| byte == b'/').next();
            let name = name.filter(|name| !name.is_empty());
            let name = match name {
                Some(name) => name,
                None => last_name(&place.session.root.export),
            };
            let shown = place.shown().to_string().into();
            let origin = Self::remote(place.session.clone(), name, shown, &found);
            return origin.unless_directory(recursive);
        }
        let path = Path::new(text);
        let metadata = if recursive {
            fs::symlink_metadata(path)
        } else {
            fs::metadata(path)
        };
        let metadata = metadata.map_err(|error| Problem::at(path.display(), error))?;
        let mut origin = Self::local(path.into(), &metadata);
        if origin.name.is_empty() {
            // `.`, `..` or `/`: the name is that of the directory.
            let whole =
                fs::canonicalize(path).map_err(|error| Problem::at(path.display(), error))?;
            let name = whole.file_name().map_or(&b"root"[..], OsStr::as_bytes);
            origin.name = name.into();
        }
        origin.unless_directory(recursive)
    }

    fn unless_directory(self, recursive: bool) -> Result<Self, Problem> {
        if self.kind == FileType::Directory && !recursive {
            return Err(Problem::at(
                &self.shown,
                "this is a directory; copy it with -r",
            ));
        }
        Ok(self)
    }

    fn remote(session: Arc<Session>, name: &[u8], shown: Arc<str>, found: &Found) -> Self {
        Self {
            place: Place::Remote(session, found.file),
            name: name.into(),
            shown,
            kind: found.attributes.kind,
            meta: Meta::from(&found.attributes),
        }
    }

    fn local(path: PathBuf, metadata: &Metadata) -> Self {
        let kind = metadata.file_type();
        let kind = match () {
            () if kind.is_file() => FileType::Regular,
            () if kind.is_dir() => FileType::Directory,
            () if kind.is_symlink() => FileType::SymbolicLink,
            () if kind.is_block_device() => FileType::BlockDevice,
            () if kind.is_char_device() => FileType::CharacterDevice,
            () if kind.is_fifo() => FileType::Pipe,
            () => FileType::Socket,
        };
        Self {
            name: path
                .file_name()
                .map(OsStr::as_bytes)
                .unwrap_or_default()
                .into(),
            shown: path.display().to_string().into(),
            place: Place::Local(path),
            kind,
            meta: Meta::from(metadata),
        }
    }

    /// Returns the error that a special file cannot be copied.
    pub(super) fn special(&self) -> Problem {
        let kind = text::kind(self.kind);
        Problem::at(&self.shown, format!("a {kind} is not copied"))
    }

    /// Calls `visit` for each entry of this directory.
    pub(super) fn children(
        &self,
        visit: &mut dyn FnMut(Self) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        match &self.place {
            Place::Local(path) => {
                let failed = |error| Problem::at(path.display(), error);
                for entry in fs::read_dir(path).map_err(failed)? {
                    let path = entry.map_err(failed)?.path();
                    let metadata = fs::symlink_metadata(&path);
                    let metadata = metadata.map_err(|error| Problem::at(path.display(), error))?;
                    visit(Self::local(path, &metadata))?;
                }
                Ok(())
            }
            Place::Remote(session, directory) => {
                let problem = |error: &_| Problem::of_call(&self.shown, error);
                let mut visit = |listed: files::Listed| {
                    let found = session.found(*directory, &listed);
                    let found = found.map_err(|error| problem(&error))?;
                    let name = listed.name.escape_ascii();
                    let shown = format!("{}/{name}", self.shown.trim_end_matches('/')).into();
                    visit(Self::remote(session.clone(), &listed.name, shown, &found))
                };
                session.list(*directory, &mut visit, &problem)
            }
        }
    }

    /// Returns the target of this symbolic link.
    pub(super) fn target(&self) -> Result<Vec<u8>, Problem> {
        match &self.place {
            Place::Local(path) => fs::read_link(path)
                .map(|target| OsString::from(target).as_bytes().to_vec())
                .map_err(|error| Problem::at(path.display(), error)),
            Place::Remote(session, link) => session
                .call(ask::ReadLink(*link))
                .map(|target| target.to_vec())
                .map_err(|error| Problem::of_call(&self.shown, &error)),
        }
    }

    /// Opens this regular file.
    pub(super) fn open(&self) -> Result<Opened, Problem> {
        match &self.place {
            Place::Local(path) => {
                let failed = |error| Problem::at(path.display(), error);
                let file = File::open(path).map_err(failed)?;
                let meta = Meta::from(&file.metadata().map_err(failed)?);
                let shown = Arc::clone(&self.shown);
                let source = Box::new(LocalFile { file, shown });
                Ok(Opened { source, meta })
            }
            Place::Remote(session, file) => {
                let opened = session.call(ask::Open(*file));
                let (open, found) =
                    opened.map_err(|error| Problem::of_call(&self.shown, &error))?;
                let source = Box::new(RemoteFile {
                    session: Arc::clone(session),
                    open,
                    shown: Arc::clone(&self.shown),
                });
                let meta = Meta::from(&found.attributes);
                Ok(Opened { source, meta })
            }
        }
    }

    /// Returns its current attributes.
    pub(super) fn meta_now(&self) -> Result<Meta, Problem> {
        match &self.place {
            Place::Local(path) => fs::metadata(path)
                .map(|metadata| Meta::from(&metadata))
                .map_err(|error| Problem::at(path.display(), error)),
            Place::Remote(session, file) => session
                .call(ask::Attributes(*file))
                .map(|attributes| Meta::from(&attributes))
                .map_err(|error| Problem::of_call(&self.shown, &error)),
        }
    }
}

fn last_name(path: &[u8]) -> &[u8] {
    let name = path.rsplit(|&byte| byte == b'/').next();
    name.filter(|name| !name.is_empty()).unwrap_or(b"root")
}
