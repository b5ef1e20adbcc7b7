//! Tests of a session: the handshake, datagrams in both directions, and datagrams from other hosts.

mod allocation;
mod common;
mod contract;
mod cookie;
mod declined;
mod farewell;
mod hostile;
mod invitations;
mod keys;
mod pair;
mod proof;
mod site_invitations;
mod stamps;
mod successor;
mod three;
mod timers;
mod vectors;
