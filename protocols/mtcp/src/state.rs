//! The serializable state of a connection in the middle of its transfer, so that another endpoint can resume it.

use redirector::Content;
use serde::{Deserialize, Serialize};
use units::Duration;

use crate::packet::Cid;
use crate::{Addresses, Profile};

/// Largest number of unacknowledged pieces: 16 bits number them in the wide profile, and the acknowledgements of the
/// other direction need numbers too.
pub(crate) const PIECES_MAX: usize = 16_384;

/// State of one end of an established connection, with all data not yet sent, acknowledged or read.
/// [`Endpoint::suspend`](crate::Endpoint::suspend) takes it out, and [`Endpoint::resume`](crate::Endpoint::resume)
/// checks it and resumes: it may come from any source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionState<C> {
    pub(crate) own: Cid,
    pub(crate) peer: Cid,
    pub(crate) addresses: Addresses,
    pub(crate) profile: Profile,
    /// Maximum packet length for both ends, in bytes.
    pub(crate) packet: u16,
    /// Set if this end keeps no timers, then the same for the peer.
    pub(crate) lean: [bool; 2],
    /// Set if this end's stream ended before the peer's.
    pub(crate) finished_first: bool,
    pub(crate) sending: Sending<C>,
    pub(crate) receiving: Receiving<C>,
}

/// State of the sending half. Positions are bytes from the SYN on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sending<C> {
    /// Sequence number of the SYN.
    pub(crate) first: u32,
    pub(crate) acknowledged: u64,
    /// Pieces in flight, in their order.
    pub(crate) flight: Vec<Sent<C>>,
    pub(crate) unsent: C,
    pub(crate) ending: Ending,
    /// End of the peer's window.
    pub(crate) edge: u64,
    /// Largest window of the peer so far, then the shift of its windows.
    pub(crate) window: u64,
    pub(crate) shift: u32,
    /// Current retransmission cycle.
    pub(crate) cycle: u64,
    /// Smoothed round-trip time and its mean deviation; zero before there is a sample.
    pub(crate) round_trip: [Duration; 2],
}

/// State of one packet in flight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sent<C> {
    pub(crate) content: C,
    pub(crate) fin: bool,
    pub(crate) cycle: u64,
    /// Set if it was sent again since the last timeout, if it is to be sent again, and if it arrived.
    pub(crate) resent: bool,
    pub(crate) due: bool,
    pub(crate) arrived: bool,
}

/// State of the end of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ending {
    /// More data may be written.
    Open,
    /// No more data will be written.
    Closed,
    /// The end was sent.
    Sent,
}

/// State of the receiving half.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Receiving<C> {
    /// Sequence number of the peer's SYN.
    pub(crate) first: u32,
    /// Position that is expected next.
    pub(crate) next: u64,
    /// End of the announced window.
    pub(crate) edge: u64,
    /// End of the stream, once it is known.
    pub(crate) fin: Option<u64>,
    /// End of the data that the peer is known to have sent.
    pub(crate) sent: u64,
    /// Receive buffer in bytes, then the window shift in bits.
    pub(crate) buffer: u64,
    pub(crate) shift: u32,
    /// Cycle of the last arrival, then the start of its data.
    pub(crate) cycle: u16,
    pub(crate) cause: u64,
    /// Data that the application has not read.
    pub(crate) unread: C,
    /// Data beyond a hole, with their positions.
    pub(crate) held: Vec<(u64, C)>,
}

/// Reason why a connection is not resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// The state contradicts itself, or exceeds the limits of a connection.
    #[error("MTCP connection state: {0}; take it anew from the endpoint that had the connection")]
    Invalid(&'static str),
    /// Another connection has this number.
    #[error("MTCP connection state: the number {0} is taken; choose another one")]
    NumberTaken(u64),
    /// Another connection has this connection ID on the hop.
    #[error(
        "MTCP connection state: another connection is called {0} on the hop; end one of the two"
    )]
    NameTaken(u16),
    /// The limit of connections is reached.
    #[error(
        "MTCP connection state: there are `limits.connections` connections; raise it, or end some"
    )]
    Busy,
    /// This end's receive buffers are smaller than the window announced to the peer.
    #[error(
        "MTCP connection state: no room for its receive buffer of {0} bytes; raise `receive_buffer`"
    )]
    Buffer(u64),
    /// This end does not have the profile of the state.
    #[error("MTCP connection state: it is in the wide profile; set `profile = \"wide\"`")]
    Profile,
    /// The peer relies on timers that this end does not keep.
    #[error("MTCP connection state: its other end expects timers; unset `lean`")]
    Lean,
}

/// Returns the largest window shift of a profile.
const fn shift_max(profile: Profile) -> u32 {
    profile.window_shift(profile.buffer_max() as u32)
}

/// Limit of positions, which no stream reaches: sums of positions do not overflow.
const POSITION_MAX: u64 = 1 << 60;

/// Returns an error for the first rule that does not hold.
fn check(rules: &[(bool, &'static str)]) -> Result<(), ResumeError> {
    let broken = rules.iter().find(|(holds, _)| !holds);
    broken.map_or(Ok(()), |&(_, rule)| Err(ResumeError::Invalid(rule)))
}

impl<C: Content> ConnectionState<C> {
    /// Returns an error if the state contradicts itself.
    pub(crate) fn check(&self) -> Result<(), ResumeError> {
        let header = self.profile.header_length();
        let least = usize::from(crate::config::PACKET_MIN);
        check(&[
            (
                self.own != Cid::NONE && self.peer != Cid::NONE,
                "a connection ID is zero",
            ),
            (
                self.profile >= self.addresses.least_profile(),
                "its profile cannot name its addresses",
            ),
            (
                usize::from(self.packet) >= least,
                "`packet` must be at least 128 bytes",
            ),
            (!(self.lean[0] && self.lean[1]), "one end must keep timers"),
        ])?;
        self.sending.check(self.profile)?;
        self.receiving.check(self.profile)?;
        let longest = u64::from(self.packet) - header as u64;
        let fits = |sent: &Sent<C>| sent.content.length() <= longest;
        check(&[(
            self.sending.flight.iter().all(fits),
            "a packet is longer than agreed",
        )])
    }
}

impl<C: Content> Sending<C> {
    fn check(&self, profile: Profile) -> Result<(), ResumeError> {
        let flight = &self.flight;
        let (last, before) = match flight.split_last() {
            Some((last, before)) => (Some(last), before),
            None => (None, flight.as_slice()),
        };
        let bytes: u64 = flight
            .iter()
            .map(|sent| sent.content.length())
            .fold(0, u64::saturating_add);
        let fin = last.is_some_and(|last| last.fin);
        let empty = |sent: &Sent<C>| sent.content.length() == 0 && !sent.fin;
        let stored = bytes.saturating_add(self.unsent.length());
        check(&[
            (
                flight.len() <= PIECES_MAX,
                "too many packets are on their way",
            ),
            (
                stored <= crate::config::SEND_BUFFER_MAX.get(),
                "more than 1 GiB is to be sent",
            ),
            (
                (1..POSITION_MAX).contains(&self.acknowledged),
                "`acknowledged` is no position",
            ),
            (!flight.iter().any(empty), "a packet on its way is empty"),
            (
                before.iter().all(|sent| !sent.fin),
                "the stream ends before its last packet",
            ),
            (
                !fin || self.ending == Ending::Sent,
                "the end was sent before the stream was closed",
            ),
            (
                self.ending != Ending::Sent || self.unsent.length() == 0,
                "the stream goes on after its end",
            ),
            (
                self.ending != Ending::Sent || fin || flight.is_empty(),
                "the end of the stream is missing",
            ),
            (
                (1..POSITION_MAX).contains(&self.edge),
                "`edge` is no position",
            ),
            (
                self.window <= profile.buffer_max(),
                "the other end's window is too large",
            ),
            (
                self.shift <= shift_max(profile),
                "the other end's windows are shifted too far",
            ),
            (self.cycle < POSITION_MAX, "`cycle` is too large"),
            (
                flight.iter().all(|sent| sent.cycle <= self.cycle),
                "a packet is of a cycle to come",
            ),
        ])
    }
}

impl<C: Content> Receiving<C> {
    fn check(&self, profile: Profile) -> Result<(), ResumeError> {
        let held: u64 = self
            .held
            .iter()
            .map(|(_, run)| run.length())
            .fold(0, u64::saturating_add);
        let stored = held.saturating_add(self.unread.length());
        let ends = self.fin.is_some_and(|fin| fin < self.next);
        let mut end = self.next;
        let apart = self.held.iter().all(|(start, run)| {
            let follows = *start > end && run.length() > 0;
            end = start.saturating_add(run.length());
            follows
        });
        let fin = self.fin.unwrap_or(POSITION_MAX);
        let most = profile.buffer_max();
        check(&[
            (
                (1..POSITION_MAX).contains(&self.next),
                "`next` is no position",
            ),
            (
                (1..=most).contains(&self.buffer),
                "its receive buffer is none",
            ),
            (
                self.shift <= shift_max(profile),
                "its windows are shifted too far",
            ),
            (
                self.edge >= 1 && self.edge <= self.next.saturating_add(most),
                "the window that it announced is too large",
            ),
            (stored <= most, "it holds more than its window"),
            (
                self.unread.length() < self.next,
                "more is unread than has arrived",
            ),
            (apart, "what it holds is not in order"),
            (
                end <= self.edge.max(self.next),
                "it holds data beyond its window",
            ),
            (
                fin.saturating_add(1) >= self.next && (ends || fin >= end),
                "data lie behind the end of the stream",
            ),
            (
                !ends || self.held.is_empty(),
                "data lie behind the end of the stream",
            ),
            (
                self.fin.is_none() || fin <= self.edge.max(self.next),
                "the stream ends beyond its window",
            ),
            (
                self.sent >= end && self.sent.saturating_sub(1) <= self.edge.max(end),
                "`sent` is no position",
            ),
            (self.cause < POSITION_MAX, "`cause` is no position"),
            (
                self.cycle & !profile.cycle_mask() == 0,
                "the cycle of the last arrival is none of its profile",
            ),
        ])
    }
}
