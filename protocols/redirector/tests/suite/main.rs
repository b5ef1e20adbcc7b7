//! Tests of the redirector, as scripts and against a model.

mod model;
mod script;
