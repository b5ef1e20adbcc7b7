//! The credentials of calls.

use crate::xdr::{Malformed, Reader, Writer};

use super::{AUTH_BODY_MAX, AUTH_NONE};

/// Flavor of [`SystemCredentials`].
const AUTH_SYS: u32 = 1;
/// Longest machine name, in bytes (RFC 5531, appendix A).
const MACHINE_MAX: usize = 255;
/// Largest number of groups besides the first (RFC 5531, appendix A).
pub const GROUPS_MAX: usize = 16;

/// Credentials of the caller.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Credentials {
    /// No user (`AUTH_NONE`).
    #[default]
    None,
    /// A user of a machine, without authentication (`AUTH_SYS`).
    System(SystemCredentials),
}

/// A user and its groups, by the IDs of the machine's operating system.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// User ID.
    pub user: u32,
    /// ID of the user's first group.
    pub group: u32,
    /// IDs of other groups, at most 16.
    pub groups: Vec<u32>,
}

/// Credentials of a user of a machine (`AUTH_SYS`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemCredentials {
    stamp: u32,
    machine: Vec<u8>,
    identity: Identity,
}

/// Reason why credentials cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// The machine name is too long.
    #[error("the machine's name has {0} bytes, at most {MACHINE_MAX} can be sent; shorten it")]
    Machine(usize),
    /// There are too many groups.
    #[error("{0} groups beside the first, at most {GROUPS_MAX} can be sent; leave some out")]
    Groups(usize),
}

impl SystemCredentials {
    /// Returns the credentials of `identity` on `machine`. The stamp is any number; servers recognize a call that is
    /// sent again by its bytes, so it must stay the same as long as the machine name does.
    ///
    /// # Errors
    /// If the name or the list of groups exceeds the limits of the protocol.
    pub fn new(stamp: u32, machine: &str, identity: Identity) -> Result<Self, CredentialsError> {
        if machine.len() > MACHINE_MAX {
            return Err(CredentialsError::Machine(machine.len()));
        }
        if identity.groups.len() > GROUPS_MAX {
            return Err(CredentialsError::Groups(identity.groups.len()));
        }
        Ok(Self {
            stamp,
            machine: machine.into(),
            identity,
        })
    }

    /// Returns the stamp.
    pub fn stamp(&self) -> u32 {
        self.stamp
    }

    /// Returns the machine name; a received name may be invalid UTF-8.
    pub fn machine(&self) -> &[u8] {
        &self.machine
    }

    /// Returns the user.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    fn read(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let stamp = reader.u32("stamp")?;
        let machine = reader.opaque("machine name", MACHINE_MAX)?.to_vec();
        let user = reader.u32("user")?;
        let group = reader.u32("group")?;
        let count = reader.length("groups", GROUPS_MAX)?;
        let groups = (0..count).map(|_| reader.u32("groups"));
        let groups = groups.collect::<Result<_, _>>()?;
        reader.finish()?;
        Ok(Self {
            stamp,
            machine,
            identity: Identity {
                user,
                group,
                groups,
            },
        })
    }

    fn write(&self, out: &mut Writer<'_>) {
        let Identity {
            user,
            group,
            groups,
        } = &self.identity;
        out.u32(self.stamp).opaque(&self.machine);
        out.u32(*user).u32(*group).u32(groups.len() as u32);
        for group in groups {
            out.u32(*group);
        }
    }
}

impl Credentials {
    /// Reads credentials of this flavor from `body`; errors count bytes from the start of the body.
    pub(super) fn read(flavor: u32, body: &[u8]) -> Result<Self, Malformed> {
        match flavor {
            AUTH_NONE => Ok(Self::None),
            AUTH_SYS => SystemCredentials::read(body).map(Self::System),
            value => Err(Reader::unknown("flavor", 0, value)),
        }
    }

    /// Writes the flavor and the body.
    pub(super) fn write(&self, out: &mut Writer<'_>) {
        match self {
            Self::None => {
                out.u32(AUTH_NONE).u32(0);
            }
            Self::System(system) => {
                let mut body = Vec::with_capacity(AUTH_BODY_MAX);
                system.write(&mut Writer::new(&mut body));
                out.u32(AUTH_SYS).opaque(&body);
            }
        }
    }
}
