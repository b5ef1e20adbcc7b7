//! Bytes to values and back, for the headers that many parts share.
pub mod packet;
