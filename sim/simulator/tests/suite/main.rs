//! The engine, and the traces that it writes.

mod clock;
mod common;
mod engine;
mod traces;
