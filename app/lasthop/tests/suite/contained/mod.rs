//! What a daemon may do to its host, and what others may do by it.

mod firewall;
mod forwarding;
mod log;
mod privileges;
