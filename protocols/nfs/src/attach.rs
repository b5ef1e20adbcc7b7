//! From the path of an export to its handle, and to what its server can do: MNT, then FSINFO.

use crate::mount::{self, MountAnswer};
use crate::{
    Answer, FileHandle, FileSystemInfo, Limits, Malformed, Outcome, Path, Procedure,
    ServerAbilities, Status, Value,
};

/// The ways to authenticate that we have: by nothing, and by numbers of user and groups (RFC 5531 §8.2).
const OUR_FLAVORS: [u32; 2] = [0, 1];

/// Why an export cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttachError {
    /// The server's bytes are no answer.
    #[error("the server's answer to {procedure} makes no sense: {fault}")]
    Malformed {
        /// What was asked.
        procedure: &'static str,
        /// What is wrong.
        fault: Malformed,
    },
    /// The server gives no handle of the export.
    #[error("cannot mount `{export}`: {status}; its exports are what `showmount -e` lists")]
    NotMounted {
        /// The export, with everything escaped that is no printable character of ASCII.
        export: String,
        /// What the server says.
        status: mount::Status,
    },
    /// The server wants to know who we are in ways that we have not.
    #[error(
        "the server takes only the authentication flavors {0:?}, and we have only AUTH_SYS (1): \
         export with `sec=sys`"
    )]
    Flavors(Vec<u32>),
    /// The server gives a handle, and then does not say what it can do.
    #[error("FSINFO: {0}")]
    Refused(Status),
}

/// The handle of `export`, from the results of [`mount::Procedure::Mount`]. A server that names no way to authenticate
/// takes what it gets.
///
/// # Errors
/// [`AttachError`] says why there is none.
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

/// What the server of an export can do, from the results of [`FileSystemInfo`].
///
/// # Errors
/// [`AttachError`] says why that is not known.
pub fn abilities(results: &[u8], limits: &Limits) -> Result<ServerAbilities, AttachError> {
    let answer = Answer::<FileSystemInfo>::decode(results, limits).map_err(|fault| {
        let procedure = Procedure::FileSystemInfo.name();
        AttachError::Malformed { procedure, fault }
    })?;
    answer.done().map_err(AttachError::Refused)
}
