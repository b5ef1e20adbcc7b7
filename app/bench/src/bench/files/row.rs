//! One measured copy.

use serde::Serialize;

/// A copy with its figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    /// What was copied, such as `lan` or `l-b40`.
    pub(crate) setting: String,
    /// By what, such as `nfs-cp`.
    pub(crate) scheme: String,
    /// `read` from the server or `write` to it.
    pub(crate) way: &'static str,
    /// Payload.
    pub(crate) bytes: u64,
    /// The seed of the fades, or the number of the turn.
    pub(crate) turn: u64,
    /// By the clock, with the start of the program.
    pub(crate) seconds: f64,
    /// Of the time of the copy, what the air was good for.
    pub(crate) good_share: Option<f64>,
    /// Calls that were sent again, if the client tells.
    pub(crate) repeated: Option<u64>,
    /// What the server's memory grew by, in bytes.
    pub(crate) server_growth: Option<i64>,
    /// What the daemon at the sending end took for bulk, of all that it carried.
    pub(crate) held_share: Option<f64>,
}
