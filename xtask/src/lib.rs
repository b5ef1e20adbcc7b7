//! The parts of the repository's own commands that the benches share.

pub mod shell;
