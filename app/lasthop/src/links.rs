//! Links of the command line: built in, or in a file.

use std::path::Path;

use channel::{Link, LinkError};
use thiserror::Error;

/// Reason why the link cannot be loaded.
#[derive(Debug, Error)]
pub(crate) enum LinkChoiceError {
    /// The file cannot be read.
    #[error("cannot read the link file '{file}': {source}")]
    Unreadable {
        /// Path of the file.
        file: String,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The file's content, or the name, is wrong.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// Returns the link named `choice`, or the one in the TOML file `choice`: a name with a `/` or a `.` is a file. Paths
/// of traces are relative to that file.
pub(crate) fn choose(choice: &str) -> Result<Link, LinkChoiceError> {
    if !choice.contains(['/', '.']) {
        return Ok(Link::named(choice)?);
    }
    let text = std::fs::read_to_string(choice).map_err(|source| LinkChoiceError::Unreadable {
        file: choice.into(),
        source,
    })?;
    let folder = Path::new(choice).parent().unwrap_or(Path::new(""));
    let read =
        |name: &str| std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
    Ok(Link::from_toml_with(&text, choice, &read)?)
}

/// Returns every built-in link with its description, for `--help`.
pub(crate) fn list() -> String {
    let lines =
        channel::links::all().map(|link| format!("  {:<18} {}\n", link.name(), link.description()));
    format!("Links:\n{}", lines.collect::<String>())
}
