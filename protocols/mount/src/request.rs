//! The requests of the kernel.

use bytes::Bytes;

/// Identifier of a request until it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Identifier of a file for as long as the kernel refers to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u64);

impl Node {
    /// The mounted directory. The kernel refers to it without a look-up.
    pub const ROOT: Self = Self(1);
}

/// Identifier of an open file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u64);

/// The process that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caller {
    /// User ID.
    pub user: u32,
    /// Group ID.
    pub group: u32,
    /// Thread ID; 0 if the thread is in another namespace, or is the kernel itself.
    pub process: u32,
}

/// Flags of an open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenFlags {
    /// Truncate the file first (`O_TRUNC`).
    pub truncate: bool,
    /// Fail if the file exists already (`O_EXCL`).
    pub exclusive: bool,
}

/// A time to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewTime {
    /// Time of the server's clock.
    Now,
    /// Seconds since 1970, and nanoseconds.
    At(i64, u32),
}

/// Attributes to set; absent ones are not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changes {
    /// Permissions: twelve bits.
    pub mode: Option<u32>,
    /// User ID of the owner.
    pub user: Option<u32>,
    /// Group ID.
    pub group: Option<u32>,
    /// Length in bytes.
    pub size: Option<u64>,
    /// Time of the last read.
    pub accessed: Option<NewTime>,
    /// Time of the last change of the content.
    pub modified: Option<NewTime>,
}

/// A request of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Identifier for its answer ([`Output::Answer`](crate::Output::Answer)).
    pub id: RequestId,
    /// Process that waits for the answer.
    pub caller: Caller,
    /// File, or directory of the name.
    pub node: Node,
    /// Requested operation.
    pub operation: Operation,
}

/// Operation of a request. Names are those that a process gave: they contain neither `/` nor a zero byte. Unknown
/// operations are refused for good (`ENOSYS`), and the kernel then no longer requests them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Looks up a name. Returns an entry, which counts as a reference to its node.
    LookUp(Bytes),
    /// Removes a number of references to each of these nodes. Has no answer.
    Forget(Vec<(Node, u64)>),
    /// Returns attributes.
    Attributes,
    /// Sets attributes. Returns the new ones.
    SetAttributes(Changes),
    /// Returns the target of a symbolic link as data.
    ReadLink,
    /// Creates a symbolic link. Returns an entry.
    MakeSymbolicLink {
        /// Name of the link.
        name: Bytes,
        /// Target of the link.
        target: Bytes,
    },
    /// Creates a regular file, a device, a socket or a pipe. Returns an entry.
    MakeNode {
        /// Name of the file.
        name: Bytes,
        /// Type and permissions (`st_mode`).
        mode: u32,
        /// Major and minor number of a device.
        device: (u32, u32),
    },
    /// Creates a directory. Returns an entry.
    MakeDirectory {
        /// Name of the directory.
        name: Bytes,
        /// Permissions.
        mode: u32,
    },
    /// Removes a name of a file.
    Remove(Bytes),
    /// Removes an empty directory.
    RemoveDirectory(Bytes),
    /// Renames an entry, and replaces an entry that has the new name.
    Rename {
        /// Old name.
        name: Bytes,
        /// New directory.
        directory: Node,
        /// New name.
        new_name: Bytes,
    },
    /// Adds a hard link in the request's directory. Returns an entry.
    Link {
        /// File to link.
        file: Node,
        /// Name of the link.
        name: Bytes,
    },
    /// Opens a file.
    Open(OpenFlags),
    /// Creates and opens a file. Returns an entry and the open file.
    Create {
        /// Name of the file.
        name: Bytes,
        /// Permissions.
        mode: u32,
        /// Flags of the open.
        flags: OpenFlags,
    },
    /// Reads data. Returns fewer bytes only at the end of the file.
    Read {
        /// Open file.
        handle: Handle,
        /// Offset in bytes.
        offset: u64,
        /// Number of bytes.
        count: u32,
    },
    /// Writes data.
    Write {
        /// Open file.
        handle: Handle,
        /// Offset in bytes.
        offset: u64,
        /// Data.
        data: Bytes,
        /// Set if the file was opened with `O_APPEND`; `offset` is then the end of the file as far as the kernel
        /// knows.
        append: bool,
    },
    /// Returns the space of the file system.
    Space,
    /// Flushes written data when a descriptor is closed; may fail.
    Flush(Handle),
    /// Waits until written data are on stable storage.
    Synchronize(Handle),
    /// Closes a file after the last reference to it is gone.
    Close(Handle),
    /// Opens a directory.
    OpenDirectory,
    /// Lists a directory. Returns a listing.
    List {
        /// Open directory.
        handle: Handle,
        /// Offset behind the last known entry; 0 at the start.
        offset: u64,
        /// Maximum size of the listing in bytes.
        size: u32,
        /// True if entries have attributes, each of which is a reference to its node.
        with_entries: bool,
    },
    /// Waits until changes of a directory are on stable storage.
    SynchronizeDirectory(Handle),
    /// Closes a directory after the last reference to it is gone.
    CloseDirectory(Handle),
    /// Interrupts a waiting request, since its process has got a signal. [`Answer::Error`](crate::Answer::Error) with
    /// `AGAIN` makes the kernel repeat the interrupt; there is no other answer.
    Interrupt(RequestId),
}
