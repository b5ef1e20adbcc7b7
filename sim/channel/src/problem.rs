//! What is wrong with a configuration.

use thiserror::Error;

/// A key with a value that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    key: String,
    text: String,
}

impl Problem {
    /// The value of `key` is wrong; `text` says what is allowed.
    pub(crate) fn new(key: &str, text: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            text: text.into(),
        }
    }

    /// The same problem, seen from the table that holds `table`.
    pub(crate) fn within(self, table: &str) -> Self {
        Self {
            key: format!("{table}.{}", self.key),
            ..self
        }
    }

    pub(crate) fn in_file(self, file: &str) -> LinkError {
        LinkError::Value {
            file: file.into(),
            key: self.key,
            problem: self.text,
        }
    }
}

/// Why a link cannot be had.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum LinkError {
    /// The text is not TOML, or has an unknown, missing or misspelt key or value.
    #[error("{file}: {source}")]
    Syntax {
        /// The file's name.
        file: String,
        /// What the reader said, with line and column.
        source: Box<toml::de::Error>,
    },
    /// A value is not allowed.
    #[error("{file}: `{key}`: {problem}")]
    Value {
        /// The file's name.
        file: String,
        /// The key, with the tables around it.
        key: String,
        /// What is wrong and what is allowed.
        problem: String,
    },
    /// No link has this name.
    #[error("there is no link called '{name}'; the links are: {known}")]
    UnknownName {
        /// What was asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
}
