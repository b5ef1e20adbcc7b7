//! Headers, frames and records: round trips, and malformed bytes.

mod dns;
mod ethernet;
mod headers;
mod hop;
mod packet;
mod records;
