//! A session: the handshake, datagrams in both directions, and what others send.

mod allocation;
mod common;
mod farewell;
mod hostile;
mod keys;
mod pair;
mod vectors;
