//! The matrix of schemes and channels.

mod recording;
mod tables;
