//! The redirector, as scripts and beside a model.

mod model;
mod script;
