//! The messages of calls and replies (RFC 5531 §9), for both ends.

mod call;
mod credentials;
mod reply;
#[cfg(test)]
mod tests;

pub use call::{Call, CallError, Procedure};
pub use credentials::{Credentials, CredentialsError, GROUPS_MAX, Identity, SystemCredentials};
pub use reply::{AuthStatus, Refusal, Reply, ReplyError};

use crate::xdr::{Malformed, Reader, Writer};

/// Version of the protocol.
const RPC_VERSION: u32 = 2;
/// Types of messages.
const CALL: u32 = 0;
const REPLY: u32 = 1;
/// Longest credentials or verifier, in bytes (RFC 5531 §8.2).
const AUTH_BODY_MAX: usize = 400;
/// Flavor without authentication.
const AUTH_NONE: u32 = 0;

/// Returns the transaction ID of a message, which may be malformed after that.
pub fn transaction(message: &[u8]) -> Option<u32> {
    Reader::new(message).u32("transaction").ok()
}

/// Reads the transaction ID of a message, which must have the type `kind`.
fn read_start(reader: &mut Reader<'_>, kind: u32) -> Result<u32, Malformed> {
    let xid = reader.u32("transaction")?;
    let at = reader.at();
    match reader.u32("message type")? {
        value if value == kind => Ok(xid),
        value => Err(Reader::unknown("message type", at, value)),
    }
}

/// Reads a verifier. Its content is ignored: `AUTH_NONE` and `AUTH_SYS` send an empty one.
fn read_verifier(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    reader.u32("verifier flavor")?;
    reader.opaque("verifier", AUTH_BODY_MAX)?;
    Ok(())
}

fn write_verifier(out: &mut Writer<'_>) {
    out.u32(AUTH_NONE).u32(0);
}
