//! The result of a step of the check.

/// The result of a step that passed.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Note for the line of the step; may be empty.
    pub(crate) note: String,
    /// Number of tests that ran and passed.
    pub(crate) tests_passed: u64,
}

impl Outcome {
    /// Creates an outcome with a note.
    pub(crate) fn noted(note: impl Into<String>) -> Self {
        Self {
            note: note.into(),
            tests_passed: 0,
        }
    }
}
