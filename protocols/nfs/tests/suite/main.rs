//! URLs, and what goes over the wire.

mod allocation;
mod url;
mod wire;
