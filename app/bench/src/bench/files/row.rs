//! One measured copy.

use serde::Serialize;

/// A copy with its figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    /// Setting of the copy, such as `lan` or `l-b40`.
    pub(crate) setting: String,
    /// Client, such as `nfs-cp`.
    pub(crate) scheme: String,
    /// `read` from the server or `write` to it.
    pub(crate) way: &'static str,
    /// Bytes of payload.
    pub(crate) bytes: u64,
    /// The seed of the fades, or the number of the turn.
    pub(crate) turn: u64,
    /// Elapsed time, with the start of the program.
    pub(crate) seconds: f64,
    /// Share of the copy's time in which the air was good.
    pub(crate) good_share: Option<f64>,
    /// Retransmitted calls, if the client reports them.
    pub(crate) repeated: Option<u64>,
    /// Growth of the server's memory, in bytes.
    pub(crate) server_growth: Option<i64>,
    /// Share that the sending daemon treated as held flows, of all that it carried.
    pub(crate) held_share: Option<f64>,
}
