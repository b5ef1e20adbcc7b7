//! The client: scripts of what it does when, a pair of it and a server, and a model that predicts it.

mod drive;
mod fades;
mod model;
mod pair;
mod queue;
mod script;
mod stream;
