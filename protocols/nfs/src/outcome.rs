//! The answers of procedures: a result, or the reason for a failure.

use rpc::xdr::{Reader, Writer};

use crate::value::{Numbered, read_numbered};
use crate::{Limits, Malformed, Procedure, Status, Value};

/// Status number of success.
const DONE: u32 = 0;

/// An answer: `D` on success, a status `S` and `F` on failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<D, F = (), S = Status> {
    /// The call succeeded.
    Done(D),
    /// The call failed.
    Failed {
        /// Reason for the failure.
        status: S,
        /// Further results that come with the failure.
        rest: F,
    },
}

impl<D, F, S> Outcome<D, F, S> {
    /// Returns the result of a successful call.
    ///
    /// # Errors
    /// The server's status.
    pub fn done(self) -> Result<D, S> {
        match self {
            Self::Done(done) => Ok(done),
            Self::Failed { status, .. } => Err(status),
        }
    }
}

impl<'a, D: Value<'a>, F: Value<'a>, S: Numbered> Value<'a> for Outcome<D, F, S> {
    fn read(
        _what: &'static str,
        reader: &mut Reader<'a>,
        limits: &Limits,
    ) -> Result<Self, Malformed> {
        let mut ahead = reader.clone();
        if ahead.u32("status")? == DONE {
            *reader = ahead;
            return Ok(Self::Done(D::read("result", reader, limits)?));
        }
        Ok(Self::Failed {
            status: read_numbered("status", reader)?,
            rest: F::read("result", reader, limits)?,
        })
    }

    fn write(&self, out: &mut Writer<'_>) {
        match self {
            Self::Done(done) => done.write(out.u32(DONE)),
            Self::Failed { status, rest } => rest.write(out.u32(status.number())),
        }
    }
}

/// Arguments of a procedure that answers with an [`Outcome`].
pub trait Request {
    /// The procedure.
    const PROCEDURE: Procedure;
    /// Result on success, borrowed from the answer.
    type Done<'r>: Value<'r>;
    /// Result besides the status on failure.
    type Failed: for<'r> Value<'r>;
}

/// Answer to the request `R`.
pub type Answer<'r, R> = Outcome<<R as Request>::Done<'r>, <R as Request>::Failed>;

/// Implements [`Request`] for a type of arguments.
macro_rules! request {
    ($request:ty, $procedure:ident => $done:ty, $failed:ty) => {
        impl $crate::Request for $request {
            const PROCEDURE: $crate::Procedure = $crate::Procedure::$procedure;
            type Done<'r> = $done;
            type Failed = $failed;
        }
    };
}

pub(crate) use request;
