//! Requests of the kernel.

use bytes::Bytes;

/// Names a request until it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Names a file as long as the kernel refers to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u64);

impl Node {
    /// The directory that is mounted. The kernel refers to it without having looked it up.
    pub const ROOT: Self = Self(1);
}

/// Names something open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u64);

/// The process that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caller {
    /// Its user.
    pub user: u32,
    /// Its group.
    pub group: u32,
    /// The number of its thread; 0 if it lives in another namespace, or is the kernel itself.
    pub process: u32,
}

/// How a file is to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenFlags {
    /// It loses its content first (`O_TRUNC`).
    pub truncate: bool,
    /// It must not be there yet (`O_EXCL`).
    pub exclusive: bool,
}

/// A time that a file shall have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewTime {
    /// The time of whoever keeps the file.
    Now,
    /// Seconds since 1970 and nanoseconds.
    At(i64, u32),
}

/// Attributes that a file shall have; what is absent stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changes {
    /// Who may do what: twelve bits.
    pub mode: Option<u32>,
    /// The owner.
    pub user: Option<u32>,
    /// The group.
    pub group: Option<u32>,
    /// The length in bytes.
    pub size: Option<u64>,
    /// When it was read last.
    pub accessed: Option<NewTime>,
    /// When its content changed last.
    pub modified: Option<NewTime>,
}

/// One thing that the kernel wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// How to answer it ([`Output::Answer`](crate::Output::Answer)).
    pub id: RequestId,
    /// Who waits for the answer.
    pub caller: Caller,
    /// The file, or the directory of the name.
    pub node: Node,
    /// What is wanted of it.
    pub operation: Operation,
}

/// What can be wanted. Names are those that a process gave: they hold neither `/` nor a zero byte.
/// What cannot be wanted here is refused for good (`ENOSYS`), and the kernel then does without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Finds a name: an entry, which counts as a reference to its node.
    LookUp(Bytes),
    /// So many references to each of these nodes are gone. Has no answer.
    Forget(Vec<(Node, u64)>),
    /// Attributes.
    Attributes,
    /// New attributes: attributes.
    SetAttributes(Changes),
    /// Where a symbolic link leads: data.
    ReadLink,
    /// Makes a symbolic link: an entry.
    MakeSymbolicLink {
        /// Its name.
        name: Bytes,
        /// Where it leads.
        target: Bytes,
    },
    /// Makes a regular file, a device, a socket or a pipe: an entry.
    MakeNode {
        /// Its name.
        name: Bytes,
        /// Its kind and who may do what (`st_mode`).
        mode: u32,
        /// A device's major and minor number.
        device: (u32, u32),
    },
    /// Makes a directory: an entry.
    MakeDirectory {
        /// Its name.
        name: Bytes,
        /// Who may do what.
        mode: u32,
    },
    /// Removes a name of a file.
    Remove(Bytes),
    /// Removes an empty directory.
    RemoveDirectory(Bytes),
    /// Moves a name, in place of what has the new one.
    Rename {
        /// The name.
        name: Bytes,
        /// Its new directory.
        directory: Node,
        /// Its new name.
        new_name: Bytes,
    },
    /// One more name for a file, in the request's directory: an entry.
    Link {
        /// The file.
        file: Node,
        /// The name.
        name: Bytes,
    },
    /// Opens a file.
    Open(OpenFlags),
    /// Makes a file and opens it: an entry, and it is open.
    Create {
        /// Its name.
        name: Bytes,
        /// Who may do what.
        mode: u32,
        /// How.
        flags: OpenFlags,
    },
    /// Reads: data, fewer only at the end of the file.
    Read {
        /// The open file.
        handle: Handle,
        /// From where, in bytes.
        offset: u64,
        /// How many bytes.
        count: u32,
    },
    /// Writes.
    Write {
        /// The open file.
        handle: Handle,
        /// To where, in bytes.
        offset: u64,
        /// What.
        data: Bytes,
        /// It was opened to write at its end (`O_APPEND`), which `offset` is as far as the kernel knows.
        append: bool,
    },
    /// How full the file system is: space.
    Space,
    /// A descriptor is closed; may be told to fail.
    Flush(Handle),
    /// What was written shall be safe.
    Synchronize(Handle),
    /// The last reference to something open is gone.
    Close(Handle),
    /// Opens a directory.
    OpenDirectory,
    /// Lists a directory: a listing.
    List {
        /// The open directory.
        handle: Handle,
        /// The place behind the last entry that is known; 0 at the start.
        offset: u64,
        /// How many bytes the listing may have.
        size: u32,
        /// Whether entries tell what they lead to, each of which is a reference to its node.
        with_entries: bool,
    },
    /// The changes of a directory shall be safe.
    SynchronizeDirectory(Handle),
    /// The last reference to an open directory is gone.
    CloseDirectory(Handle),
    /// The process that waits for this request has got a signal. [`Answer::Error`](crate::Answer::Error)
    /// with `AGAIN` makes the kernel say it again; there is no other answer.
    Interrupt(RequestId),
}
