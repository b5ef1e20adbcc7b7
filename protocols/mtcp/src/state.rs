//! A connection in the middle of its transfer, as data: so that another endpoint can go on with it.

use redirector::Content;
use serde::{Deserialize, Serialize};
use units::Duration;

use crate::packet::Cid;
use crate::{Addresses, Profile};

/// One end of a connection that is made, with everything that was not sent, acknowledged or read yet. Taken out by
/// [`Endpoint::suspend`](crate::Endpoint::suspend), and brought in by [`Endpoint::resume`](crate::Endpoint::resume),
/// which checks it: it may come from anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionState<C> {
    pub(crate) own: Cid,
    pub(crate) peer: Cid,
    pub(crate) addresses: Addresses,
    pub(crate) profile: Profile,
    /// The longest packet that both ends take, in bytes.
    pub(crate) packet: u16,
    /// Whether this end, and the other one, keep no timers.
    pub(crate) lean: [bool; 2],
    /// This end's stream ended before the other's.
    pub(crate) finished_first: bool,
    pub(crate) sending: Sending<C>,
    pub(crate) receiving: Receiving<C>,
}

/// The sending half. Positions are bytes from the SYN on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sending<C> {
    /// The number of the SYN.
    pub(crate) first: u32,
    pub(crate) acknowledged: u64,
    /// What was sent and is not acknowledged, in its order.
    pub(crate) flight: Vec<Sent<C>>,
    pub(crate) unsent: C,
    pub(crate) ending: Ending,
    /// Where the other end's window ends.
    pub(crate) edge: u64,
    /// Its largest window so far, and by how much windows are shifted.
    pub(crate) window: u64,
    pub(crate) shift: u32,
    /// The retransmission cycle.
    pub(crate) cycle: u64,
    /// The smoothed round trip and its mean deviation; zero before there is a sample.
    pub(crate) round_trip: [Duration; 2],
}

/// What one packet carried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sent<C> {
    pub(crate) content: C,
    pub(crate) fin: bool,
    pub(crate) cycle: u64,
    /// It was sent again since the last timeout; it is to be; it arrived.
    pub(crate) resent: bool,
    pub(crate) due: bool,
    pub(crate) arrived: bool,
}

/// How far the end of the stream has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ending {
    /// More may be written.
    Open,
    /// Nothing more will be.
    Closed,
    /// The end was sent.
    Sent,
}

/// The receiving half.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Receiving<C> {
    /// The number of the SYN.
    pub(crate) first: u32,
    /// The position that is expected next.
    pub(crate) next: u64,
    /// Where the window ends that was announced.
    pub(crate) edge: u64,
    /// The end of the stream, if it was seen.
    pub(crate) fin: Option<u64>,
    /// The end of what the other end is known to have sent.
    pub(crate) sent: u64,
    /// The buffer in bytes, and by how many bits windows are shifted.
    pub(crate) buffer: u64,
    pub(crate) shift: u32,
    /// The cycle of the last arrival, and where its data began.
    pub(crate) cycle: u16,
    pub(crate) cause: u64,
    /// What the application has not read.
    pub(crate) unread: C,
    /// What arrived beyond a hole, by its position.
    pub(crate) held: Vec<(u64, C)>,
}

/// Why a connection is not resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// The state contradicts itself, or is beyond what a connection may hold.
    #[error("MTCP connection state: {0}; take it anew from the endpoint that had the connection")]
    Invalid(&'static str),
    /// There is a connection under this number.
    #[error("MTCP connection state: the number {0} is taken; choose another one")]
    NumberTaken(u64),
    /// Another connection has its name on the hop.
    #[error(
        "MTCP connection state: another connection is called {0} on the hop; end one of the two"
    )]
    NameTaken(u16),
    /// There are as many connections as are allowed.
    #[error(
        "MTCP connection state: there are `limits.connections` connections; raise it, or end some"
    )]
    Busy,
    /// This end's receive buffers do not hold what was announced to the other end.
    #[error(
        "MTCP connection state: no room for its receive buffer of {0} bytes; raise `receive_buffer`"
    )]
    Buffer(u64),
    /// This end has not its profile.
    #[error("MTCP connection state: it is in the wide profile; set `profile = \"wide\"`")]
    Profile,
    /// The other end counts on timers that this one does not keep.
    #[error("MTCP connection state: its other end expects timers; unset `lean`")]
    Lean,
}

/// The furthest shift of a window that a profile has.
const fn shift_max(profile: Profile) -> u32 {
    profile.window_shift(profile.buffer_max() as u32)
}

/// Positions that no stream reaches: sums of them do not overflow.
const POSITION_MAX: u64 = 1 << 60;

/// The first rule that does not hold.
fn check(rules: &[(bool, &'static str)]) -> Result<(), ResumeError> {
    let broken = rules.iter().find(|(holds, _)| !holds);
    broken.map_or(Ok(()), |&(_, rule)| Err(ResumeError::Invalid(rule)))
}

impl<C: Content> ConnectionState<C> {
    /// Says what contradicts itself, if anything does.
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
                flight.len() <= crate::sender::PIECES_MAX,
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
