//! The bytes of files: what was written, and what was read ahead.

mod extents;
mod ranges;

pub(crate) use extents::Extents;
pub(crate) use ranges::Ranges;
