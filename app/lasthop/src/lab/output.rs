//! Output of the results.

use std::io::Write;

use crate::failure::Failure;

/// Writes to standard output. A closed pipe is no error, but a full disk is one.
pub(super) fn output(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::broken(
            format!("cannot write the results: {error}"),
        )),
        _ => Ok(()),
    }
}
