//! GETATTR, SETATTR and ACCESS.

use crate::outcome::request;
use crate::value::{bits, fields};
use crate::{Attributes, FileHandle, NewAttributes, Time, WeakCacheData};

/// GETATTR: asks for the attributes of a file.
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
    /// What shall change.
    pub attributes: NewAttributes,
    /// When the file must have changed last, else nothing is done
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
    /// What one may do with a file: a sum of bits.
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

/// ACCESS: asks what the caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// The file.
    pub object: FileHandle,
    /// What is asked for.
    pub rights: AccessRights,
}

fields!(Access { object, rights });
request!(Access, Access => AccessAnswer, Option<Attributes>);

/// What the caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AccessAnswer {
    /// The file's attributes.
    pub attributes: Option<Attributes>,
    /// What is allowed of what was asked for.
    pub rights: AccessRights,
}

fields!(AccessAnswer { attributes, rights });
