//! The attachment of an export: from its path to its handle and the properties of its server, by MNT, then FSINFO.

use crate::mount::{self, MountAnswer};
use crate::{
    Answer, FileHandle, FileSystemInfo, Limits, Malformed, Outcome, Path, Procedure,
    ServerAbilities, Status, Value,
};

/// Authentication flavors that this client supports: none, and by user and group IDs (RFC 5531 §8.2).
const OUR_FLAVORS: [u32; 2] = [0, 1];

/// Reason why an export cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttachError {
    /// The server's bytes are no valid answer.
    #[error("the server's answer to {procedure} makes no sense: {fault}")]
    Malformed {
        /// Name of the procedure.
        procedure: &'static str,
        /// Error in the bytes.
        fault: Malformed,
    },
    /// The server returns no handle of the export.
    #[error("cannot mount `{export}`: {status}; its exports are what `showmount -e` lists")]
    NotMounted {
        /// Path of the export; all but printable ASCII characters are escaped.
        export: String,
        /// Status from the server.
        status: mount::Status,
    },
    /// The server accepts only authentication flavors that this client does not support.
    #[error(
        "the server takes only the authentication flavors {0:?}, and we have only AUTH_SYS (1): \
         export with `sec=sys`"
    )]
    Flavors(Vec<u32>),
    /// The server returns a handle, but no FSINFO results.
    #[error("FSINFO: {0}")]
    Refused(Status),
}

/// Returns the handle of `export`, from the results of [`mount::Procedure::Mount`]. A server that lists no
/// authentication flavor accepts any.
///
/// # Errors
/// [`AttachError`] if the results have no usable handle.
pub fn handle_of(
    export: Path<'_>,
    results: &[u8],
    limits: &Limits,
) -> Result<FileHandle, AttachError> {
    let answer = MountAnswer::decode(results, limits).map_err(|fault| AttachError::Malformed {
        procedure: mount::Procedure::Mount.name(),
        fault,
    })?;
    let mounted = match answer {
        Outcome::Done(mounted) => mounted,
        Outcome::Failed { status, .. } => {
            let export = export.to_string();
            return Err(AttachError::NotMounted { export, status });
        }
    };
    let flavors = mounted.flavors.numbers();
    if flavors.is_empty() || flavors.iter().any(|flavor| OUR_FLAVORS.contains(flavor)) {
        Ok(mounted.root)
    } else {
        Err(AttachError::Flavors(flavors.to_vec()))
    }
}

/// Returns the properties of an export's server, from the results of [`FileSystemInfo`].
///
/// # Errors
/// [`AttachError`] if the results do not contain them.
pub fn abilities(results: &[u8], limits: &Limits) -> Result<ServerAbilities, AttachError> {
    let answer = Answer::<FileSystemInfo>::decode(results, limits).map_err(|fault| {
        let procedure = Procedure::FileSystemInfo.name();
        AttachError::Malformed { procedure, fault }
    })?;
    answer.done().map_err(AttachError::Refused)
}
