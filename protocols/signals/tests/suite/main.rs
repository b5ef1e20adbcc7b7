//! Tests of signals: conditions, and their lines.

mod condition;
mod lines;
