//! What files have in common that a run is written to while it goes on.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;

use thiserror::Error;

/// How much is gathered before it is written, in bytes.
const BUFFER: usize = 1 << 16;

/// Why a trace is not whole.
#[derive(Debug, Error)]
#[error("cannot write {what}: {source}; the run was ended there, make room and repeat it")]
pub struct TraceError {
    what: &'static str,
    source: io::Error,
}

impl TraceError {
    pub(crate) fn new(what: &'static str, source: io::Error) -> Self {
        Self { what, source }
    }
}

pub(crate) fn buffered<W: Write>(writer: W) -> BufWriter<W> {
    BufWriter::with_capacity(BUFFER, writer)
}

/// Keeps the first error, as an observer can only end the run.
#[derive(Debug)]
pub(crate) struct FirstError {
    what: &'static str,
    error: Option<io::Error>,
}

impl FirstError {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, error: None }
    }

    /// Writes unless that failed before; `Break` if it fails.
    pub(crate) fn guard(&mut self, write: impl FnOnce() -> io::Result<()>) -> ControlFlow<()> {
        if self.error.is_none() {
            self.error = write().err();
        }
        match self.error {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        }
    }

    /// Writes what `writer` holds back, and tells of the first error.
    pub(crate) fn finish<W: Write>(self, writer: BufWriter<W>) -> Result<W, TraceError> {
        let what = self.what;
        let failed = |source| TraceError::new(what, source);
        if let Some(source) = self.error {
            // Dropping the buffer whole would try to write its rest once more.
            drop(writer.into_parts());
            return Err(failed(source));
        }
        let whole = writer.into_inner();
        whole.map_err(|error| failed(error.into_error()))
    }
}
