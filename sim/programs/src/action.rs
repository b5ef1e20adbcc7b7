//! The actions of programs, and the requests of the kernel that they become.

use bytes::Bytes;
use mount::{Changes, Handle, Node, OpenFlags, Operation};

use crate::reference::Opening;

/// An action of a program. `name` is a number below [`NAMES`](crate::NAMES); `open` counts modulo the files that the
/// programs of the host have open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are named after their meaning")]
pub enum Action {
    /// Creates a file, or opens an existing one.
    Create { name: usize, flags: OpenFlags },
    /// Opens a file, and reads it.
    Open { name: usize, truncates: bool },
    /// Removes a name.
    Remove { name: usize },
    /// Gives a file another name.
    Rename { name: usize, to: usize },
    /// Lists the directory.
    List,
    /// Changes the size of a file by its name.
    Resize { name: usize, size: u64 },
    /// Writes at an offset, or at the end of the file.
    Write {
        open: usize,
        offset: u64,
        length: usize,
        appends: bool,
    },
    /// Reads the whole file.
    Read { open: usize },
    /// Reads the attributes.
    Attributes { open: usize },
    /// Calls `fsync`.
    Synchronize { open: usize },
    /// Closes the file.
    Close { open: usize },
}

/// Continuation of a look-up that has found its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Open { truncates: bool },
    Remove,
    Rename { to: usize },
    Resize { size: u64 },
}

/// A request of the kernel in the course of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Call {
    LookUp {
        name: usize,
        then: Then,
    },
    Create {
        name: usize,
        flags: OpenFlags,
    },
    Open {
        node: Node,
        file: usize,
        truncates: bool,
    },
    Remove {
        name: usize,
    },
    Rename {
        name: usize,
        to: usize,
    },
    Resize {
        node: Node,
        name: usize,
        file: usize,
        size: u64,
    },
    Write {
        opening: Opening,
        offset: u64,
        length: usize,
        fill: u8,
        appends: bool,
    },
    Read(Opening),
    Attributes(Opening),
    Synchronize(Opening),
    Flush(Opening),
    Close(Opening),
    OpenDirectory,
    List {
        handle: Handle,
        offset: u64,
        names: Vec<Vec<u8>>,
    },
    CloseDirectory(Handle),
}

impl Call {
    /// Returns the opening that the request uses.
    pub(crate) fn opening(&self) -> Option<Opening> {
        match self {
            Self::Write { opening, .. }
            | Self::Read(opening)
            | Self::Attributes(opening)
            | Self::Synchronize(opening)
            | Self::Flush(opening)
            | Self::Close(opening) => Some(*opening),
            _ => None,
        }
    }

    /// Returns true if a signal may end the request without a change of any file.
    pub(crate) fn may_be_interrupted(&self) -> bool {
        matches!(
            self,
            Self::Read(_) | Self::Attributes(_) | Self::Synchronize(_)
        )
    }

    /// Returns the request: its node and operation; `name` gives the names of numbers.
    pub(crate) fn request(&self, name: impl Fn(usize) -> String) -> (Node, Operation) {
        match self.opening() {
            Some(opening) => (opening.node, self.use_of(opening.handle)),
            None => self.named(|number| name(number).into()),
        }
    }

    /// Returns the operation on an open file.
    fn use_of(&self, handle: Handle) -> Operation {
        match self {
            Self::Write {
                offset,
                length,
                fill,
                appends,
                ..
            } => Operation::Write {
                handle,
                // The kernel's end of the file may be outdated.
                offset: if *appends { 0 } else { *offset },
                data: vec![*fill; *length].into(),
                append: *appends,
            },
            Self::Read(_) => Operation::Read {
                handle,
                offset: 0,
                count: 100_000,
            },
            Self::Synchronize(_) => Operation::Synchronize(handle),
            Self::Flush(_) => Operation::Flush(handle),
            Self::Close(_) => Operation::Close(handle),
            _ => Operation::Attributes,
        }
    }

    /// Returns a request that names a file, or concerns the directory.
    fn named(&self, text: impl Fn(usize) -> Bytes) -> (Node, Operation) {
        let root = Node::ROOT;
        match self {
            Self::Create { name, flags } => {
                let (name, flags) = (text(*name), *flags);
                (
                    root,
                    Operation::Create {
                        name,
                        mode: 0o644,
                        flags,
                    },
                )
            }
            Self::Open {
                node, truncates, ..
            } => {
                let flags = OpenFlags {
                    truncate: *truncates,
                    exclusive: false,
                };
                (*node, Operation::Open(flags))
            }
            Self::Remove { name } => (root, Operation::Remove(text(*name))),
            Self::Rename { name, to } => {
                let (name, new_name) = (text(*name), text(*to));
                (
                    root,
                    Operation::Rename {
                        name,
                        directory: root,
                        new_name,
                    },
                )
            }
            Self::Resize { node, size, .. } => {
                let changes = Changes {
                    size: Some(*size),
                    ..Changes::default()
                };
                (*node, Operation::SetAttributes(changes))
            }
            Self::List { handle, offset, .. } => {
                let (handle, offset) = (*handle, *offset);
                (
                    root,
                    Operation::List {
                        handle,
                        offset,
                        size: 400,
                        with_entries: true,
                    },
                )
            }
            Self::CloseDirectory(handle) => (root, Operation::CloseDirectory(*handle)),
            Self::LookUp { name, .. } => (root, Operation::LookUp(text(*name))),
            _ => (root, Operation::OpenDirectory),
        }
    }
}
