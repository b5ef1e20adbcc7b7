//! The protocols of a file server: NFS version 3 and MOUNT version 3 (RFC 1813), and GETPORT of a port mapper (RFC
//! 1833).
//!
//! The values on the wire are plain structures which both ends write and read ([`Value`]): arguments as the caller of
//! a remote procedure sends them, and [`Answer`]s. Reading copies and allocates nothing: values of variable length
//! are borrowed. Data from a server are used only after a check: names by [`ListedName`], the rest by [`checks`].
//!
//! ```
//! use nfs::{Answer, FileHandle, Limits, LookUp, Name, Place, Status, Value};
//!
//! let directory = FileHandle::new(b"what the server calls it").ok_or("too long")?;
//! let name = Name::new(b"notes.txt")?;
//! let mut arguments = Vec::new();
//! LookUp { place: Place { directory, name } }.encode(&mut arguments);
//!
//! let results = [0, 0, 0, 2, 0, 0, 0, 0];
//! let answer = Answer::<LookUp>::decode(&results, &Limits::USUAL)?;
//! assert_eq!(answer.done(), Err(Status::NoEntry));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod attach;
pub mod checks;
pub mod mount;
pub mod portmap;
pub mod url;

mod attributes;
mod call;
mod calls;
mod handle;
mod limits;
mod list;
mod malformed;
mod name;
mod outcome;
mod procedure;
mod results;
mod status;
mod value;

pub use attributes::{
    Attributes, AttributesBefore, Device, FileType, NewAttributes, SetTime, Time, Times,
    WeakCacheData,
};
pub use call::Call;
pub use calls::*;
pub use handle::{FileHandle, HANDLE_MAX};
pub use limits::{Limits, NAME_MAX, PATH_MAX};
pub use list::{Elements, List, write_list};
pub use malformed::{BadName, Malformed};
pub use name::{HostName, Listed, ListedName, Name, Path};
pub use outcome::{Answer, Outcome, Request};
pub use procedure::{Idempotency, PROGRAM, Procedure, VERSION};
pub use results::are_results;
pub use status::Status;
pub use value::{Numbered, Value};
