//! Resolution of a path to a file, name by name.

#[cfg(test)]
mod tests;

use files::{Ask, Entry, Found, FromReply, Operation, Reply, ask};
use nfs::{BadName, FileHandle, FileType};

use super::CallError;

/// Largest number of symbolic links followed; more count as a loop, as on common systems.
const LINKS_MAX: u32 = 40;

/// Reason why a path cannot be resolved. In names everything except printable ASCII is escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// A step failed.
    #[error("`{at}`: {error}")]
    Call {
        /// Path up to that step.
        at: String,
        /// Reason of the failure.
        error: CallError,
    },
    /// A part of the path is not a valid name.
    #[error("`{name}` is no name: {fault}")]
    Name {
        /// The part.
        name: String,
        /// Reason why it is not valid.
        fault: BadName,
    },
    /// The path continues after a file that is not a directory.
    #[error("`{at}` is no directory")]
    NotDirectory {
        /// Path up to that file.
        at: String,
    },
    /// The path or a symbolic link leads out of the export.
    #[error(
        "the path leads out of the export, by `..` or the symbolic link `{at}`: name what it leads to"
    )]
    LeavesExport {
        /// Path up to that point.
        at: String,
    },
    /// There are too many symbolic links.
    #[error("more than {LINKS_MAX} symbolic links, which may lead in a circle")]
    TooManyLinks,
}

impl ResolveError {
    /// Returns the status from the server, if that is the reason.
    pub fn status(&self) -> Option<nfs::Status> {
        match self {
            Self::Call { error, .. } => error.status(),
            _ => None,
        }
    }
}

/// Path resolution below an export.
pub struct Resolver<'a> {
    /// Calls the server, with the caller's credentials and time limit.
    pub ask: &'a dyn Fn(Operation) -> Result<Reply, CallError>,
}

impl Resolver<'_> {
    /// Returns the file at `path` below `root`. It follows symbolic links as long as they stay below `root`; the last
    /// one only with `follow_last`.
    ///
    /// # Errors
    /// [`ResolveError`] names the place at which the resolution fails.
    pub fn resolve(
        &self,
        root: FileHandle,
        path: &[u8],
        follow_last: bool,
    ) -> Result<Found, ResolveError> {
        let mut trail = vec![self.root(root)?];
        // Remaining parts, the next one last.
        let mut rest: Vec<Vec<u8>> = parts(path);
        let (mut links, mut walked) = (0, Vec::new());
        while let Some(part) = rest.pop() {
            let shown = || walked.escape_ascii().to_string();
            let here = trail[trail.len() - 1];
            if here.attributes.kind != FileType::Directory {
                return Err(ResolveError::NotDirectory { at: shown() });
            }
            if part == b".." {
                if trail.len() < 2 {
                    return Err(ResolveError::LeavesExport { at: shown() });
                }
                trail.pop();
                walked.extend(b"/..");
                continue;
            }
            let parent = walked.len();
            walked.push(b'/');
            walked.extend(&part);
            let found = self.look_up(here.file, &part, &walked)?;
            let is_link = found.attributes.kind == FileType::SymbolicLink;
            if !is_link || (rest.is_empty() && !follow_last) {
                trail.push(found);
                continue;
            }
            links += 1;
            if links > LINKS_MAX {
                return Err(ResolveError::TooManyLinks);
            }
            let target = self.call(ask::ReadLink(found.file), &walked)?;
            if target.first() == Some(&b'/') {
                let at = walked.escape_ascii().to_string();
                return Err(ResolveError::LeavesExport { at });
            }
            walked.truncate(parent);
            rest.extend(parts(&target));
        }
        Ok(trail[trail.len() - 1])
    }

    fn root(&self, root: FileHandle) -> Result<Found, ResolveError> {
        let attributes = self.call(ask::Attributes(root), b"/")?;
        Ok(Found {
            file: root,
            attributes,
        })
    }

    fn look_up(
        &self,
        directory: FileHandle,
        name: &[u8],
        walked: &[u8],
    ) -> Result<Found, ResolveError> {
        let entry = Entry::new(directory, name).map_err(|fault| ResolveError::Name {
            name: name.escape_ascii().to_string(),
            fault,
        })?;
        self.call(ask::LookUp(entry), walked)
    }

    fn call<A: Ask>(&self, operation: A, walked: &[u8]) -> Result<A::Reply, ResolveError> {
        (self.ask)(operation.into())
            .and_then(|reply| Ok(A::Reply::from_reply(reply)?))
            .map_err(|error| ResolveError::Call {
                at: walked.escape_ascii().to_string(),
                error,
            })
    }
}

/// Returns the parts of a path, the first one last.
fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|&byte| byte == b'/')
        .filter(|part| !matches!(*part, b"" | b"."))
        .map(<[u8]>::to_vec)
        .rev()
        .collect()
}
