//! Kernel parameters under `/proc/sys`, as sysctl(8) sets them.
//!
//! A parameter is named by its path below `/proc/sys`, e.g. `net/ipv4/ip_forward`: with slashes, since names of links
//! may contain dots. Those under `net` belong to the calling thread's namespace.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Reason why a kernel parameter could not be read or set.
#[derive(Debug, Error)]
pub enum SysctlError {
    /// The name is not a path below `/proc/sys`.
    #[error("'{0}' names no kernel parameter; write it like 'net/ipv4/ip_forward'")]
    InvalidName(String),
    /// This kernel, or this namespace, has no such parameter.
    #[error(
        "there is no kernel parameter '{0}' here (some exist in the first network namespace only)"
    )]
    Missing(String),
    /// The caller may not set it, or the parameter is read-only here.
    #[error(
        "cannot set the kernel parameter '{name}' to '{value}': not permitted; run as root, and \
        see that /proc/sys is not mounted read-only"
    )]
    NotPermitted {
        /// Name of the parameter.
        name: String,
        /// The requested value.
        value: String,
    },
    /// Any other failure.
    #[error("cannot {verb} the kernel parameter '{name}': {source}")]
    Failed {
        /// The operation: "read", or "set ... to ...".
        verb: String,
        /// Name of the parameter.
        name: String,
        /// Error of the system.
        source: io::Error,
    },
}

/// Returns the value of a parameter, without surrounding white space.
pub fn read(name: &str) -> Result<String, SysctlError> {
    let path = path_of(name)?;
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => SysctlError::Missing(name.into()),
        _ => SysctlError::Failed {
            verb: "read".into(),
            name: name.into(),
            source,
        },
    };
    Ok(std::fs::read_to_string(path)
        .map_err(failed)?
        .trim()
        .to_owned())
}

/// Sets a parameter and returns its old value. To restore it when the program ends, use
/// [`UndoLog::set_sysctl`](crate::undo::UndoLog::set_sysctl).
pub fn set(name: &str, value: &str) -> Result<String, SysctlError> {
    let old = read(name)?;
    write(name, value)?;
    Ok(old)
}

/// Sets a parameter.
pub(crate) fn write(name: &str, value: &str) -> Result<(), SysctlError> {
    let path = path_of(name)?;
    std::fs::write(path, value).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => SysctlError::Missing(name.into()),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            SysctlError::NotPermitted {
                name: name.into(),
                value: value.into(),
            }
        }
        _ => SysctlError::Failed {
            verb: format!("set to '{value}'"),
            name: name.into(),
            source,
        },
    })
}

/// Returns the path of a parameter. Names also come from undo files, so none may lead out of `/proc/sys`.
fn path_of(name: &str) -> Result<PathBuf, SysctlError> {
    let sound =
        |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
    if !name.contains('/') || !name.split('/').all(sound) {
        return Err(SysctlError::InvalidName(name.into()));
    }
    Ok(PathBuf::from("/proc/sys").join(name))
}
