//! Who calls.

use crate::xdr::{Malformed, Reader, Writer};

use super::{AUTH_BODY_MAX, AUTH_NONE};

/// The flavor of [`SystemCredentials`].
const AUTH_SYS: u32 = 1;
/// The longest name of a machine, in bytes (RFC 5531, appendix A).
const MACHINE_MAX: usize = 255;
/// The most groups beside the first (RFC 5531, appendix A).
pub const GROUPS_MAX: usize = 16;

/// Who calls, as the server is told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Credentials {
    /// Nobody in particular (`AUTH_NONE`).
    #[default]
    None,
    /// A user of a machine, without proof (`AUTH_SYS`).
    System(SystemCredentials),
}

/// A user, by the numbers of the machine's operating system.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// The user.
    pub user: u32,
    /// The user's first group.
    pub group: u32,
    /// Other groups, at most 16.
    pub groups: Vec<u32>,
}

/// A user of a machine (`AUTH_SYS`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemCredentials {
    stamp: u32,
    machine: Vec<u8>,
    identity: Identity,
}

/// Why credentials cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// The name of the machine is too long.
    #[error("the machine's name has {0} bytes, at most {MACHINE_MAX} can be sent; shorten it")]
    Machine(usize),
    /// There are too many groups.
    #[error("{0} groups beside the first, at most {GROUPS_MAX} can be sent; leave some out")]
    Groups(usize),
}

impl SystemCredentials {
    /// Credentials of `identity` on `machine`. The stamp is any number; servers recognize a call that is sent again
    /// by its bytes, so it must stay the same as long as the machine's name does.
    ///
    /// # Errors
    /// If the name or the list of groups exceeds what can be sent.
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

    /// The stamp.
    pub fn stamp(&self) -> u32 {
        self.stamp
    }

    /// The machine's name; what a peer sends need not be text.
    pub fn machine(&self) -> &[u8] {
        &self.machine
    }

    /// The user.
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
    /// What the flavor and the body say; places count from the body's start.
    pub(super) fn read(flavor: u32, body: &[u8]) -> Result<Self, Malformed> {
        match flavor {
            AUTH_NONE => Ok(Self::None),
            AUTH_SYS => SystemCredentials::read(body).map(Self::System),
            value => Err(Reader::unknown("flavor", 0, value)),
        }
    }

    /// The flavor and the body.
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
