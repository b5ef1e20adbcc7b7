//! The crate's tests.

mod quantities;
mod ranges;
