//! Headers, frames and records: round trips, and malformed bytes.

mod capture;
mod dns;
mod ethernet;
mod headers;
mod hop;
mod packet;
mod records;
