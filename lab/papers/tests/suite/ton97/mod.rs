//! The experiments of the comparison.

mod tables;
mod upload;
