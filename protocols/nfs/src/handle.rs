//! File handles.

use std::fmt;

use rpc::xdr::{Reader, Writer};

use crate::{Limits, Malformed, Value};

/// Maximum length of a handle, in bytes (RFC 1813, `NFS3_FHSIZE`).
pub const HANDLE_MAX: usize = 64;

/// Identifier of a file or directory for its whole lifetime, whatever its name (RFC 1813 §2.5, `nfs_fh3`). Only its
/// server interprets the bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileHandle {
    // Bytes beyond the length are zero, so that equal handles are equal values.
    bytes: [u8; HANDLE_MAX],
    length: u8,
}

impl FileHandle {
    /// Returns the handle `bytes`, or none if there are more than [`HANDLE_MAX`].
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut handle = Self {
            bytes: [0; HANDLE_MAX],
            length: u8::try_from(bytes.len()).ok()?,
        };
        handle.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(handle)
    }

    /// Returns the handle's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for FileHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileHandle(")?;
        for byte in self.bytes() {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

impl Value<'_> for FileHandle {
    fn read(
        what: &'static str,
        reader: &mut Reader<'_>,
        _limits: &Limits,
    ) -> Result<Self, Malformed> {
        let bytes = reader.opaque(what, HANDLE_MAX)?;
        Ok(Self::new(bytes).expect("the reader keeps the limit"))
    }

    fn write(&self, out: &mut Writer<'_>) {
        out.opaque(self.bytes());
    }
}
