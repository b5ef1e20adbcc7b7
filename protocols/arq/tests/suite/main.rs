//! The repair of a hop, as scripts and beside a model.

mod model;
mod repair;
