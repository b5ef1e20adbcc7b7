//! The messages of calls.

use std::borrow::Cow;

use crate::xdr::{Malformed, Reader, Writer};

use super::{
    AUTH_BODY_MAX, AuthStatus, CALL, Credentials, RPC_VERSION, Refusal, Reply, read_start,
    read_verifier, write_verifier,
};

/// Procedure of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Procedure {
    /// Program number: 100003 for NFS, 100005 for MOUNT.
    pub program: u32,
    /// Version of the program.
    pub version: u32,
    /// Number of the procedure; 0 does nothing, in every program.
    pub number: u32,
}

/// A call, with its arguments still encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call<'a> {
    /// Transaction ID, which its reply repeats.
    pub xid: u32,
    /// Procedure that is called.
    pub procedure: Procedure,
    /// Credentials of the caller.
    pub credentials: Cow<'a, Credentials>,
    /// Arguments, encoded.
    pub arguments: &'a [u8],
}

/// Reason why bytes are no call that a server can execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The bytes are no call.
    #[error("no call: {0}")]
    Malformed(#[from] Malformed),
    /// The call has another version of the protocol.
    #[error("call {xid:#010x} has version {version} of RPC where only {RPC_VERSION} is spoken")]
    Version {
        /// Transaction ID of the call.
        xid: u32,
        /// Version in the call.
        version: u32,
    },
    /// The credentials are of an unknown flavor, or malformed.
    #[error("call {xid:#010x}, within its credentials: {why}")]
    Credentials {
        /// Transaction ID of the call.
        xid: u32,
        /// Error in the credentials.
        why: Malformed,
    },
}

impl CallError {
    /// Returns the reply of a server; none if the bytes are no call.
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
    /// Parses a call.
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

    /// Appends the call to `bytes`.
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
