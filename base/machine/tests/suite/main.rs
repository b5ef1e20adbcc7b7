//! The crate's tests.

mod deadlines;
mod machine;
