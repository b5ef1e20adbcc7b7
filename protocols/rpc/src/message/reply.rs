//! The messages of replies.

use std::fmt;

use crate::xdr::{Malformed, Reader, Writer};

use super::{REPLY, read_start, read_verifier, write_verifier};

/// Status of a reply: the call was accepted or denied.
const ACCEPTED: u32 = 0;
const DENIED: u32 = 1;
/// Result of an accepted call.
const SUCCESS: u32 = 0;
const PROG_UNAVAIL: u32 = 1;
const PROG_MISMATCH: u32 = 2;
const PROC_UNAVAIL: u32 = 3;
const GARBAGE_ARGS: u32 = 4;
const SYSTEM_ERR: u32 = 5;
/// Reason why a call was denied.
const RPC_MISMATCH: u32 = 0;
const AUTH_ERROR: u32 = 1;

/// A reply, with its results still encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply<'a> {
    /// Transaction ID of its call.
    pub xid: u32,
    /// Results, encoded, or the reason why there are none.
    pub outcome: Result<&'a [u8], Refusal>,
}

/// Reason why a server did not execute a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// `PROG_UNAVAIL`.
    #[error("the server does not have this program")]
    ProgramUnavailable,
    /// `PROG_MISMATCH`.
    #[error("the server does not have this version of the program, only {low} to {high}")]
    ProgramMismatch {
        /// Lowest version that it has.
        low: u32,
        /// Highest version that it has.
        high: u32,
    },
    /// `PROC_UNAVAIL`.
    #[error("the server's program does not have this procedure")]
    ProcedureUnavailable,
    /// `GARBAGE_ARGS`. Some servers send it if a datagram is too long for them.
    #[error("the server could not read the arguments")]
    GarbageArguments,
    /// `SYSTEM_ERR`. Some servers send it if the results would be too long for them.
    #[error("the server had an error of its own")]
    SystemError,
    /// `RPC_MISMATCH`.
    #[error("the server speaks versions {low} to {high} of RPC, not 2")]
    RpcMismatch {
        /// Lowest version that it supports.
        low: u32,
        /// Highest version that it supports.
        high: u32,
    },
    /// `AUTH_ERROR`.
    #[error("the server does not accept who calls: {0}")]
    Authentication(AuthStatus),
}

/// Reason why a server rejects credentials (RFC 5531 §9, `auth_stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthStatus(pub u32);

impl AuthStatus {
    /// `AUTH_BADCRED`.
    pub const BAD_CREDENTIALS: Self = Self(1);
    /// `AUTH_TOOWEAK`.
    pub const TOO_WEAK: Self = Self(5);
}

impl fmt::Display for AuthStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            1 => "the credentials are bad",
            2 => "the credentials are no longer valid",
            3 => "the verifier is bad",
            4 => "the verifier is expired or was replayed",
            5 => {
                "the credentials prove too little (another security flavor or a privileged port may be needed)"
            }
            6 => "the response's verifier is invalid",
            7 => "for a reason that it does not tell",
            status => return write!(formatter, "status {status}"),
        };
        formatter.write_str(text)
    }
}

/// Reason why bytes are no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no reply: {0}")]
pub struct ReplyError(#[from] pub Malformed);

impl<'a> Reply<'a> {
    /// Parses a reply.
    ///
    /// # Errors
    /// If the bytes are no reply: the field, and its place.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ReplyError> {
        let mut reader = Reader::new(bytes);
        let xid = read_start(&mut reader, REPLY)?;
        let at = reader.at();
        let refusal = match reader.u32("reply status")? {
            ACCEPTED => match read_accepted(&mut reader)? {
                None => {
                    let outcome = Ok(reader.rest());
                    return Ok(Self { xid, outcome });
                }
                Some(refusal) => refusal,
            },
            DENIED => read_denied(&mut reader)?,
            value => return Err(Reader::unknown("reply status", at, value).into()),
        };
        reader.finish()?;
        let outcome = Err(refusal);
        Ok(Self { xid, outcome })
    }

    /// Appends the reply to `bytes`.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let mut out = Writer::new(bytes);
        out.u32(self.xid).u32(REPLY);
        match self.outcome {
            Ok(results) => {
                write_accepted(&mut out, SUCCESS);
                bytes.extend(results);
            }
            Err(refusal) => refusal.write(&mut out),
        }
    }
}

impl Refusal {
    fn write(self, out: &mut Writer<'_>) {
        match self {
            Self::ProgramUnavailable => write_accepted(out, PROG_UNAVAIL),
            Self::ProgramMismatch { low, high } => {
                write_accepted(out, PROG_MISMATCH);
                out.u32(low).u32(high);
            }
            Self::ProcedureUnavailable => write_accepted(out, PROC_UNAVAIL),
            Self::GarbageArguments => write_accepted(out, GARBAGE_ARGS),
            Self::SystemError => write_accepted(out, SYSTEM_ERR),
            Self::RpcMismatch { low, high } => {
                out.u32(DENIED).u32(RPC_MISMATCH).u32(low).u32(high);
            }
            Self::Authentication(AuthStatus(status)) => {
                out.u32(DENIED).u32(AUTH_ERROR).u32(status);
            }
        }
    }
}

fn write_accepted(out: &mut Writer<'_>, status: u32) {
    out.u32(ACCEPTED);
    write_verifier(out);
    out.u32(status);
}

/// Reads the status of an accepted call. Returns none if results follow.
fn read_accepted(reader: &mut Reader<'_>) -> Result<Option<Refusal>, Malformed> {
    read_verifier(reader)?;
    let at = reader.at();
    let refusal = match reader.u32("accept status")? {
        SUCCESS => return Ok(None),
        PROG_UNAVAIL => Refusal::ProgramUnavailable,
        PROG_MISMATCH => Refusal::ProgramMismatch {
            low: reader.u32("lowest version")?,
            high: reader.u32("highest version")?,
        },
        PROC_UNAVAIL => Refusal::ProcedureUnavailable,
        GARBAGE_ARGS => Refusal::GarbageArguments,
        SYSTEM_ERR => Refusal::SystemError,
        value => return Err(Reader::unknown("accept status", at, value)),
    };
    Ok(Some(refusal))
}

fn read_denied(reader: &mut Reader<'_>) -> Result<Refusal, Malformed> {
    let at = reader.at();
    match reader.u32("reject status")? {
        RPC_MISMATCH => Ok(Refusal::RpcMismatch {
            low: reader.u32("lowest version")?,
            high: reader.u32("highest version")?,
        }),
        AUTH_ERROR => Ok(Refusal::Authentication(AuthStatus(
            reader.u32("authentication status")?,
        ))),
        value => Err(Reader::unknown("reject status", at, value)),
    }
}
