//! Tests of the wide profile on lossy hops.

mod growing;
mod hop;
mod losses;
