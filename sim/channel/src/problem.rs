//! Errors in a link's configuration.

use thiserror::Error;

/// A key with a value that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    key: String,
    text: String,
}

impl Problem {
    /// Returns an error for the value of `key`; `text` describes the allowed values.
    pub(crate) fn new(key: &str, text: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            text: text.into(),
        }
    }

    /// Returns the same error with the name of the enclosing table before the key.
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

/// Reason why a link cannot be loaded.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum LinkError {
    /// The text is not TOML, or has an unknown, missing or misspelt key or value.
    #[error("{file}: {source}")]
    Syntax {
        /// Name of the file.
        file: String,
        /// Message of the TOML parser, with line and column.
        source: Box<toml::de::Error>,
    },
    /// A value is not allowed.
    #[error("{file}: `{key}`: {problem}")]
    Value {
        /// Name of the file.
        file: String,
        /// The key, with its enclosing tables.
        key: String,
        /// The error and the allowed values.
        problem: String,
    },
    /// No link has this name.
    #[error("there is no link called '{name}'; the links are: {known}")]
    UnknownName {
        /// The requested name.
        name: String,
        /// The names that exist.
        known: String,
    },
}
