//! The crate's tests.

mod deadlines;
mod machine;
mod recent_total;
mod token_bucket;
