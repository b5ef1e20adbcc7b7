//! Parsing and encoding of the headers that many parts share.

mod field;

pub mod address;
pub mod capture;
pub mod checksum;
pub mod dns;
pub mod ethernet;
pub mod flow;
pub mod hop;
pub mod icmp;
pub mod ip;
pub mod last_segment;
pub mod malformed;
pub mod packet;
pub mod segment;
pub mod tcp;
pub mod udp;

pub use tcp::TcpSegment;
