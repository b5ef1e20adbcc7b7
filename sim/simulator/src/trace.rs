//! The common parts of files that are written during a run.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;

use thiserror::Error;

/// Size of the write buffer, in bytes.
const BUFFER: usize = 1 << 16;

/// Reason why a trace is incomplete.
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

/// The first write error, kept until the end since an observer can only stop the run.
#[derive(Debug)]
pub(crate) struct FirstError {
    what: &'static str,
    error: Option<io::Error>,
}

impl FirstError {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, error: None }
    }

    /// Writes unless a write failed before; returns `Break` if it fails.
    pub(crate) fn guard(&mut self, write: impl FnOnce() -> io::Result<()>) -> ControlFlow<()> {
        if self.error.is_none() {
            self.error = write().err();
        }
        match self.error {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        }
    }

    /// Flushes `writer`, and returns the first error.
    pub(crate) fn finish<W: Write>(self, writer: BufWriter<W>) -> Result<W, TraceError> {
        let what = self.what;
        let failed = |source| TraceError::new(what, source);
        if let Some(source) = self.error {
            // Dropping the buffer itself would try to write its rest once more.
            drop(writer.into_parts());
            return Err(failed(source));
        }
        let whole = writer.into_inner();
        whole.map_err(|error| failed(error.into_error()))
    }
}
