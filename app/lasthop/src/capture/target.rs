//! Where a capture goes: a file, or standard output.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, IsTerminal, Stdout, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::failure::Failure;

/// Only the owner may read what users send.
const MODE: u32 = 0o600;

/// A place for the blocks of a capture.
pub(super) trait Target: Write {
    /// Cuts what was written to this length, if it can be cut.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

/// A file or a pipe.
pub(super) enum Output {
    /// A file that consists of what is written, or a device.
    File { file: File, is_regular: bool },
    /// Standard output.
    Stdout(Stdout),
}

/// Error of writing the file.
#[derive(Debug)]
pub(super) enum WriteError {
    /// Nobody reads the pipe any more.
    Closed,
    /// Error of the system.
    System(io::Error),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::System(error),
        }
    }
}

impl WriteError {
    /// Returns the error as the user sees it.
    pub(super) fn failure(&self, path: Option<&Path>) -> Failure {
        let path = name_of(path);
        Failure::broken(match self {
            Self::Closed => format!("nobody reads {path} any more"),
            Self::System(error) => format!(
                "cannot write {path}: {error}; it has what was written before; make room, or capture less with --snap"
            ),
        })
    }
}

fn name_of(path: Option<&Path>) -> String {
    path.filter(|path| *path != "-").map_or_else(
        || "standard output".into(),
        |path| path.display().to_string(),
    )
}

impl Output {
    /// Refuses a terminal.
    pub(super) fn check(path: Option<&Path>) -> Result<(), Failure> {
        let is_stdout = path.is_none_or(|path| path == "-");
        if is_stdout && io::stdout().is_terminal() {
            return Err(Failure::setting(
                "a capture is no text for a terminal; name a file, or a pipe: `lasthop capture - | wireshark -k -i -`",
            ));
        }
        Ok(())
    }

    /// Opens the file, which loses what it had; `None` and `-` are standard output.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path.filter(|path| *path != "-") else {
            return Ok(Self::Stdout(io::stdout()));
        };
        let open = || {
            let mut options = OpenOptions::new();
            let file = options
                .write(true)
                .create(true)
                .truncate(true)
                .mode(MODE)
                .open(path)?;
            let is_regular = file.metadata()?.is_file();
            if is_regular {
                file.set_permissions(Permissions::from_mode(MODE))?;
            }
            Ok(Self::File { file, is_regular })
        };
        open().map_err(|error: io::Error| {
            Failure::setting(format!(
                "cannot write {}: {error}; name another file",
                path.display()
            ))
        })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File { file, .. } => file.write(bytes),
            Self::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File { file, .. } => file.flush(),
            Self::Stdout(stdout) => stdout.flush(),
        }
    }
}

impl Target for Output {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        match self {
            Self::File {
                file,
                is_regular: true,
            } => {
                file.set_len(length)?;
                io::Seek::seek(file, io::SeekFrom::Start(length)).map(drop)
            }
            Self::File { .. } | Self::Stdout(_) => Ok(()),
        }
    }
}
