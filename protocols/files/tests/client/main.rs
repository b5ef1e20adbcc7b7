//! The client beside a server of files in memory.

mod content;
mod drive;
mod model;
mod names;
mod pace;
mod settings;
mod trouble;
