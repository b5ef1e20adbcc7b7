//! An air whose rate is estimated.

mod cases;
mod hop;

const WINDOWED: bool = false;
