//! What applications are told: conditions, and the lines that tell of them.

mod condition;
mod lines;
