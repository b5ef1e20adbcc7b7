//! The rules of the snoop protocol on a single agent, one test each. "FACTS" are the rules of the
//! papers: Balakrishnan et al., Mobicom 1995, WINET 1995, and the comparison (1997).

mod acknowledgements;
mod bursts;
mod conformance;
mod data;
mod explicit_loss;
mod kernel;
mod limits;
mod mobile;
mod script;
mod selective;
mod timers;
mod upload;
