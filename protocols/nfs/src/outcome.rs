//! What every procedure answers: what was done, or why nothing was.

use rpc::xdr::{Reader, Writer};

use crate::value::{Numbered, read_numbered};
use crate::{Limits, Malformed, Procedure, Status, Value};

/// The number that says that all is well.
const DONE: u32 = 0;

/// An answer: with `D` if it was done, with a status `S` and `F` if it was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<D, F = (), S = Status> {
    /// It was done.
    Done(D),
    /// It was not done.
    Failed {
        /// Why not.
        status: S,
        /// What the server tells all the same.
        rest: F,
    },
}

impl<D, F, S> Outcome<D, F, S> {
    /// What was done, or why nothing was.
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

/// The arguments of a procedure that answers with an [`Outcome`].
pub trait Request {
    /// The procedure.
    const PROCEDURE: Procedure;
    /// What it answers when it is done, borrowed from the answer.
    type Done<'r>: Value<'r>;
    /// What it answers beside the status when it is not.
    type Failed: for<'r> Value<'r>;
}

/// What request `R` is answered with.
pub type Answer<'r, R> = Outcome<<R as Request>::Done<'r>, <R as Request>::Failed>;

/// Says which request belongs to which procedure and which answer.
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
