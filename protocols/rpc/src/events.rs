//! What a client is told and what it asks for.

use std::sync::Arc;

use bytes::Bytes;
use units::{Duration, Instant};

use crate::Class;
use crate::message::{Credentials, Procedure, Refusal, ReplyError};

/// The caller's name of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// A call to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// How the caller will know the answer; no other call may have it until this one has ended.
    pub ticket: Ticket,
    /// What to call.
    pub procedure: Procedure,
    /// What it costs.
    pub class: Class,
    /// Who calls.
    pub credentials: Arc<Credentials>,
    /// The arguments, encoded.
    pub arguments: Bytes,
    /// Ends with [`Failure::Expired`] when there is no reply after so long (a soft call); without it, never (a hard
    /// one).
    pub patience: Option<Duration>,
}

/// What the world can tell a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Make a call. The caller bounds how many wait.
    Call(Request),
    /// Forget a call: there will be no answer. The server may have done what was asked, or do it yet.
    Cancel(Ticket),
    /// A datagram of the server, or the next bytes of the stream.
    Received(Bytes),
    /// There is a stream to the server, a new one.
    Connected,
    /// There is none any more. The driver goes on trying to open one.
    Disconnected,
    /// The hop has news.
    Link(LinkEvent),
}

/// What the hop reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEvent {
    /// Nothing gets through for a while.
    FadeBegan,
    /// It does again.
    FadeEnded {
        /// The hop has kept what it was given meanwhile, and delivers it now.
        kept: bool,
    },
    /// A hand-off is about to begin.
    HandoffImpending,
    /// It is over; what was on its way is lost.
    HandoffDone,
}

/// What a client asks of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send this to the server: one datagram, or the next bytes of the stream.
    Send(Bytes),
    /// A call has ended.
    Answer(Answer),
    /// The server has not answered since then, and calls wait for it. Said once.
    Silent {
        /// When it was heard last, or the first of these calls was made.
        since: Instant,
    },
    /// A server that was said to be silent answers again, after so long.
    Answering {
        /// How long it was silent.
        after: Duration,
    },
    /// The stream is of no more use: close it and open a new one.
    Reconnect,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Which call.
    pub ticket: Ticket,
    /// The results, encoded, or why there are none.
    pub result: Result<Bytes, Failure>,
    /// How often it was sent. More than once: "exists already" and "is not there" may be the work of this very call.
    pub transmissions: u32,
    /// From sending it first to this.
    pub elapsed: Duration,
    /// From sending it last to this. Less than any call takes: it is the answer to an earlier copy.
    pub since_last: Duration,
}

impl Answer {
    /// Whether it was sent more than once, so that the server may have carried it out before it made this reply.
    pub fn is_of_repeated_call(&self) -> bool {
        self.transmissions > 1
    }
}

/// Why a call has no results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The server said no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The server's replies to it cannot be read, again and again.
    #[error("the server sends what is {0}")]
    Malformed(ReplyError),
    /// There was no reply in time. The server may have done what was asked, or do it yet.
    #[error("no reply within {0}")]
    Expired(Duration),
    /// The call is longer than messages may be.
    #[error(
        "a call of {length} bytes where messages have at most {limit}; transfer less, or raise `longest_message`"
    )]
    TooLong {
        /// What it has.
        length: usize,
        /// What is allowed.
        limit: usize,
    },
}
