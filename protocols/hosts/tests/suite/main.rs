//! Hosts and what is between them, in virtual time.

mod abuse;
mod causes;
mod changes;
mod faults;
mod handoff;
mod mtu;
mod pair;
mod peers;
mod processor;
mod reach;
mod recorded;
mod registration;
mod reordering;
mod rivals;
mod search;
mod shared;
mod shares;
mod signals;
mod start;
mod steady;
mod streams;
mod support;
mod tcp;
mod verdicts;
mod way_back;
mod window;
