//! A file of any kind.

use nfs::{Attributes, CreateVerifier, Device, FileType, NewAttributes, SetTime, Time, Times};

use super::chunks::CHUNK;
use super::content::Content;
use super::directory::Directory;

/// Permission bits of a mode: permissions, set-user, set-group, sticky.
const MODE_MASK: u32 = 0o7777;

/// Kind of a file, with its content.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// A regular file.
    File(Content),
    /// A directory.
    Directory(Directory),
    /// A symbolic link, with its target.
    SymbolicLink(Box<[u8]>),
    /// A device, a socket or a pipe.
    Node(FileType, Device),
}

impl Kind {
    fn file_type(&self) -> FileType {
        match self {
            Self::File(_) => FileType::Regular,
            Self::Directory(_) => FileType::Directory,
            Self::SymbolicLink(_) => FileType::SymbolicLink,
            Self::Node(kind, _) => *kind,
        }
    }
}

/// An inode: a file without its names.
#[derive(Debug, Clone)]
pub(crate) struct Inode {
    /// Generation, which distinguishes files that have the same number one after the other.
    pub(crate) generation: u64,
    pub(crate) kind: Kind,
    pub(crate) links: u32,
    pub(crate) times: Times,
    /// Verifier of an EXCLUSIVE creation, until attributes are set.
    pub(crate) verifier: Option<CreateVerifier>,
    mode: u32,
    user: u32,
    group: u32,
}

/// User and group of a call, which own the files that it creates.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Caller {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

impl Inode {
    /// Returns a new file of `caller`, without names.
    pub(crate) fn new(kind: Kind, generation: u64, caller: Caller, now: Time) -> Self {
        let mode = match kind {
            Kind::Directory(_) => 0o755,
            Kind::SymbolicLink(_) => 0o777,
            _ => 0o644,
        };
        Self {
            generation,
            kind,
            links: 0,
            times: Times {
                accessed: now,
                modified: now,
                changed: now,
            },
            verifier: None,
            mode,
            user: caller.user,
            group: caller.group,
        }
    }

    /// Returns the disk space of its content, in bytes.
    pub(crate) fn used(&self) -> u64 {
        match &self.kind {
            Kind::File(content) => content.seen().count() * CHUNK,
            _ => 0,
        }
    }

    /// Returns its attributes under `number` in `file_system`.
    pub(crate) fn attributes(&self, file_system: u64, number: u64) -> Attributes {
        let size = match &self.kind {
            Kind::File(content) => content.seen().size(),
            Kind::Directory(directory) => (directory.len() as u64 + 2) * 32,
            Kind::SymbolicLink(path) => path.len() as u64,
            Kind::Node(..) => 0,
        };
        let device = match self.kind {
            Kind::Node(_, device) => device,
            _ => Device::default(),
        };
        Attributes {
            kind: self.kind.file_type(),
            mode: self.mode,
            links: self.links,
            user: self.user,
            group: self.group,
            size,
            used: self.used(),
            device,
            file_system,
            file_id: number,
            times: self.times,
        }
    }

    /// Sets all attributes except the size.
    pub(crate) fn set(&mut self, new: &NewAttributes, now: Time) {
        self.mode = new.mode.map_or(self.mode, |mode| mode & MODE_MASK);
        self.user = new.user.unwrap_or(self.user);
        self.group = new.group.unwrap_or(self.group);
        let set = |time: &mut Time, how: SetTime| match how {
            SetTime::Keep => {}
            SetTime::ServerTime => *time = now,
            SetTime::To(given) => *time = given.clamped(),
        };
        set(&mut self.times.accessed, new.accessed);
        set(&mut self.times.modified, new.modified);
        self.times.changed = now;
    }

    /// Records a change of its content.
    pub(crate) fn touch(&mut self, now: Time) {
        self.times.modified = now;
        self.times.changed = now;
    }
}
