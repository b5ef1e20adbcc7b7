//! The snoop protocol: its rules, and the packets and numbers that it reads.

mod packets;
mod rules;
mod values;
