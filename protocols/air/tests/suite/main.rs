//! An air: who may send, and when.

mod cases;
mod clock;
mod hop;
mod members;
