//! What the repository's own commands share with the benches.

pub mod shell;
