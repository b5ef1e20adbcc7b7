//! An air that somebody else grants: its rate is estimated.

mod cases;
mod hop;

const GRANTED: bool = true;
