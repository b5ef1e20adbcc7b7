//! Tests of values on the wire: encoding and decoding, agreement with another implementation, and hostile bytes.

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
