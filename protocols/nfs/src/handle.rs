//! What a server calls a file.

use std::fmt;

use rpc::xdr::{Reader, Writer};

use crate::{Limits, Malformed, Value};

/// The longest handle, in bytes (RFC 1813, `NFS3_FHSIZE`).
pub const HANDLE_MAX: usize = 64;

/// Names a file or directory for as long as it lives, whatever it is called (RFC 1813 §2.5,
/// `nfs_fh3`). Only its server knows what the bytes mean.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileHandle {
    // What lies behind the length is zero, so that equal handles are equal values.
    bytes: [u8; HANDLE_MAX],
    length: u8,
}

impl FileHandle {
    /// The handle `bytes`; none if there are more than [`HANDLE_MAX`].
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut handle = Self {
            bytes: [0; HANDLE_MAX],
            length: u8::try_from(bytes.len()).ok()?,
        };
        handle.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(handle)
    }

    /// The handle's bytes.
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
