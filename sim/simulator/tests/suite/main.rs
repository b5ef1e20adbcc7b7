//! The engine, and the traces that it writes.

mod common;
mod engine;
mod traces;
