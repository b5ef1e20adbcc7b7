//! What goes over the wire: there and back, beside another implementation, and from those who lie.

mod agreement;
mod answers;
mod attach;
mod errors;
mod listings;
mod mount;
mod requests;
mod samples;
mod theirs;
mod trust;
