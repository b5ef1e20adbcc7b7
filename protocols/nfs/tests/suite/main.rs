//! Tests of URLs, and of the values on the wire.

mod allocation;
mod url;
mod wire;
