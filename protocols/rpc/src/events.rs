//! The inputs and outputs of a client.

use std::sync::Arc;

use bytes::Bytes;
use units::{Duration, Instant};

use crate::Class;
use crate::message::{Credentials, Procedure, Refusal, ReplyError};

/// Identifier of a call, chosen by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// A call to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Identifier of the call in its answer; no other call may have it until this one has ended.
    pub ticket: Ticket,
    /// Procedure to call.
    pub procedure: Procedure,
    /// Class of its cost.
    pub class: Class,
    /// Credentials of the caller.
    pub credentials: Arc<Credentials>,
    /// Arguments, encoded.
    pub arguments: Bytes,
    /// Time without a reply after which the call ends with [`Failure::Expired`] (a soft call); if there is none, it
    /// never does (a hard call).
    pub patience: Option<Duration>,
}

/// Inputs of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Make a call. The caller limits the number of waiting calls.
    Call(Request),
    /// Cancel a call: there will be no answer. The server may have executed it, or execute it yet.
    Cancel(Ticket),
    /// A datagram from the server, or the next bytes of the stream.
    Received(Bytes),
    /// A new stream to the server is connected.
    Connected,
    /// The stream is closed. The driver continues to open a new one.
    Disconnected,
    /// The hop reports an event.
    Link(LinkEvent),
}

/// Events that the hop reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEvent {
    /// A fade has begun: no packets get through.
    FadeBegan,
    /// The fade is over.
    FadeEnded {
        /// True if the hop has kept the packets of the fade, and delivers them now.
        kept: bool,
    },
    /// A hand-off is about to begin.
    HandoffImpending,
    /// The hand-off is over; packets that were on their way are lost.
    HandoffDone,
}

/// Outputs of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send this to the server: one datagram, or the next bytes of the stream.
    Send(Bytes),
    /// A call has ended.
    Answer(Answer),
    /// The server has not answered since then, and calls wait for it. Reported once.
    Silent {
        /// Time of its last answer, or of the first waiting call.
        since: Instant,
    },
    /// A server that was reported silent answers again.
    Answering {
        /// Duration of its silence.
        after: Duration,
    },
    /// The stream is of no use any more: close it and open a new one.
    Reconnect,
}

/// End of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Ticket of the call.
    pub ticket: Ticket,
    /// Results, encoded, or the reason why there are none.
    pub result: Result<Bytes, Failure>,
    /// Number of transmissions. If there was more than one, "already exists" and "not found" may be the effect of
    /// this very call.
    pub transmissions: u32,
    /// Time from the first transmission to this answer.
    pub elapsed: Duration,
    /// Time from the last transmission to this answer. If it is less than any call takes, this is the answer to an
    /// earlier copy.
    pub since_last: Duration,
}

impl Answer {
    /// Returns true if it was sent more than once, so that the server may have executed it before it made this reply.
    pub fn is_of_repeated_call(&self) -> bool {
        self.transmissions > 1
    }
}

/// Reason why a call has no results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The server refused the call.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The server's replies to it are malformed, again and again.
    #[error("the server sends what is {0}")]
    Malformed(ReplyError),
    /// There was no reply in time. The server may have executed the call, or execute it yet.
    #[error("no reply within {0}")]
    Expired(Duration),
    /// The call is longer than the limit of messages.
    #[error(
        "a call of {length} bytes where messages have at most {limit}; transfer less, or raise `longest_message`"
    )]
    TooLong {
        /// Length of the call, in bytes.
        length: usize,
        /// Limit, in bytes.
        limit: usize,
    },
}
