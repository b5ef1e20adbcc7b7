//! Tests of the client: scripts with times, a client and a server, and a model that predicts the client.

mod drive;
mod fades;
mod model;
mod pair;
mod queue;
mod script;
mod stream;
