//! The file server, called over the wire format.

mod rig;

mod conformance;
mod crash;
mod creation;
mod data;
mod faults;
mod lies;
mod line;
mod listing;
mod model;
mod names;
mod programs;
mod replies;
