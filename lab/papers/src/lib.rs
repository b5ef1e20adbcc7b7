//! The papers' experiments, a module a paper: set-up, schemes, published numbers, claims.

pub mod ton97;
