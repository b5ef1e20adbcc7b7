//! GETATTR, SETATTR and ACCESS.

use crate::outcome::request;
use crate::value::{bits, fields};
use crate::{Attributes, FileHandle, NewAttributes, Time, WeakCacheData};

/// GETATTR: reads the attributes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GetAttributes {
    /// The file.
    pub object: FileHandle,
}

fields!(GetAttributes { object });
request!(GetAttributes, GetAttributes => Attributes, ());

/// SETATTR: changes attributes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SetAttributes {
    /// The file.
    pub object: FileHandle,
    /// Attributes to change.
    pub attributes: NewAttributes,
    /// Expected time of the file's last change; if it differs, nothing is done
    /// ([`NotSynchronized`](crate::Status::NotSynchronized)).
    pub guard: Option<Time>,
}

fields!(SetAttributes {
    object,
    attributes,
    guard
});
request!(SetAttributes, SetAttributes => WeakCacheData, WeakCacheData);

bits! {
    /// Access rights to a file: a set of bits.
    AccessRights {
        /// Read data or names.
        READ = 1,
        /// Find a name in a directory.
        LOOK_UP = 2,
        /// Overwrite data or change entries.
        MODIFY = 4,
        /// Append data or add entries.
        EXTEND = 8,
        /// Remove entries.
        DELETE = 16,
        /// Execute a file.
        EXECUTE = 32,
    }
}

/// ACCESS: checks the caller's access rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// The file.
    pub object: FileHandle,
    /// Rights to check.
    pub rights: AccessRights,
}

fields!(Access { object, rights });
request!(Access, Access => AccessAnswer, Option<Attributes>);

/// Access rights of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AccessAnswer {
    /// The file's attributes.
    pub attributes: Option<Attributes>,
    /// Rights of the request that are granted.
    pub rights: AccessRights,
}

fields!(AccessAnswer { attributes, rights });
