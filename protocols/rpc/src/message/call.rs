//! Calls.

use std::borrow::Cow;

use crate::xdr::{Malformed, Reader, Writer};

use super::{
    AUTH_BODY_MAX, AuthStatus, CALL, Credentials, RPC_VERSION, Refusal, Reply, read_start,
    read_verifier, write_verifier,
};

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Procedure {
    /// The program: 100003 for NFS, 100005 for MOUNT.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// The procedure; 0 does nothing, in every program.
    pub number: u32,
}

/// A call, its arguments not looked into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call<'a> {
    /// The transaction, by which its reply is known.
    pub xid: u32,
    /// What is called.
    pub procedure: Procedure,
    /// Who calls.
    pub credentials: Cow<'a, Credentials>,
    /// The arguments, encoded.
    pub arguments: &'a [u8],
}

/// Why bytes are no call that a server can act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// They are no call.
    #[error("no call: {0}")]
    Malformed(#[from] Malformed),
    /// The caller speaks another version of the protocol.
    #[error("call {xid:#010x} has version {version} of RPC where only {RPC_VERSION} is spoken")]
    Version {
        /// The transaction.
        xid: u32,
        /// The caller's version.
        version: u32,
    },
    /// The credentials are of an unknown flavor, or not what their flavor says.
    #[error("call {xid:#010x}, within its credentials: {why}")]
    Credentials {
        /// The transaction.
        xid: u32,
        /// What is wrong with them.
        why: Malformed,
    },
}

impl CallError {
    /// What a server answers; nothing to bytes that are no call.
    pub fn answer(&self) -> Option<Reply<'static>> {
        let (xid, refusal) = match *self {
            Self::Malformed(_) => return None,
            Self::Version { xid, .. } => (
                xid,
                Refusal::RpcMismatch {
                    low: RPC_VERSION,
                    high: RPC_VERSION,
                },
            ),
            Self::Credentials { xid, .. } => {
                (xid, Refusal::Authentication(AuthStatus::BAD_CREDENTIALS))
            }
        };
        let outcome = Err(refusal);
        Some(Reply { xid, outcome })
    }
}

impl<'a> Call<'a> {
    /// Reads a call.
    ///
    /// # Errors
    /// If the bytes are no call, or one that [`CallError::answer`] refuses.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, CallError> {
        let mut reader = Reader::new(bytes);
        let xid = read_start(&mut reader, CALL)?;
        let version = reader.u32("RPC version")?;
        if version != RPC_VERSION {
            return Err(CallError::Version { xid, version });
        }
        let procedure = Procedure {
            program: reader.u32("program")?,
            version: reader.u32("program version")?,
            number: reader.u32("procedure")?,
        };
        let flavor = reader.u32("credentials flavor")?;
        let body = reader.opaque("credentials", AUTH_BODY_MAX)?;
        read_verifier(&mut reader)?;
        let credentials =
            Credentials::read(flavor, body).map_err(|why| CallError::Credentials { xid, why })?;
        Ok(Self {
            xid,
            procedure,
            credentials: Cow::Owned(credentials),
            arguments: reader.rest(),
        })
    }

    /// Appends the call.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let mut out = Writer::new(bytes);
        out.u32(self.xid).u32(CALL).u32(RPC_VERSION);
        let Procedure {
            program,
            version,
            number,
        } = self.procedure;
        out.u32(program).u32(version).u32(number);
        self.credentials.write(&mut out);
        write_verifier(&mut out);
        bytes.extend(self.arguments);
    }
}
