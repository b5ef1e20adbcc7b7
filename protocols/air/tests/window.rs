//! An air with a window.

mod cases;
mod hop;

const WINDOWED: bool = true;
