//! The crate's tests.

mod deadlines;
mod machine;
mod token_bucket;
