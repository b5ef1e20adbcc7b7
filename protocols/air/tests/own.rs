//! An air of its own: a window bounds what is outstanding.

mod cases;
mod hop;

const GRANTED: bool = false;
