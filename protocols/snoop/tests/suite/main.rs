//! Tests of the snoop protocol: its rules, and its packets and numbers.

mod packets;
mod rules;
mod values;
