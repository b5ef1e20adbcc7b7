//! Headers, frames and records: there and back, and bytes that are none.

mod dns;
mod ethernet;
mod headers;
mod hop;
mod packet;
mod records;
