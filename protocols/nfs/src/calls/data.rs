//! READ, WRITE and COMMIT: the content of files.

use rpc::xdr::{Reader, Writer};

use crate::outcome::request;
use crate::value::{fields, numbers, verifier};
use crate::{Attributes, FileHandle, Limits, Malformed, Value, WeakCacheData};

/// READ: reads data of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Read {
    /// The file.
    pub file: FileHandle,
    /// Offset of the data in the file, in bytes.
    pub offset: u64,
    /// Largest number of bytes to read.
    pub count: u32,
}

fields!(Read {
    file,
    offset,
    count
});
request!(Read, Read => ReadData<'r>, Option<Attributes>);

/// Data of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadData<'a> {
    /// The file's attributes.
    pub attributes: Option<Attributes>,
    /// True if the file ends behind the data.
    pub end_of_file: bool,
    /// Data, borrowed from the answer.
    pub data: &'a [u8],
}

/// Reads data whose `count`, at byte `at`, came before the fields in between.
fn read_data<'a>(
    reader: &mut Reader<'a>,
    limits: &Limits,
    at: usize,
    count: u32,
) -> Result<&'a [u8], Malformed> {
    let data = reader.opaque("data", limits.data)?;
    if data.len() != count as usize {
        return Err(Malformed::Count {
            what: "count",
            at,
            said: count,
            present: data.len(),
        });
    }
    Ok(data)
}

/// Returns the count of `data`, which is sent before it.
fn count(data: &[u8]) -> u32 {
    u32::try_from(data.len()).expect("what is sent is shorter than 4 GiB")
}

impl<'a> Value<'a> for ReadData<'a> {
    fn read(
        _what: &'static str,
        reader: &mut Reader<'a>,
        limits: &Limits,
    ) -> Result<Self, Malformed> {
        let attributes = Value::read("attributes", reader, limits)?;
        let (at, count) = (reader.at(), reader.u32("count")?);
        Ok(Self {
            attributes,
            end_of_file: reader.bool("end_of_file")?,
            data: read_data(reader, limits, at, count)?,
        })
    }

    fn write(&self, out: &mut Writer<'_>) {
        self.attributes.write(out);
        out.u32(count(self.data))
            .bool(self.end_of_file)
            .opaque(self.data);
    }
}

/// Stability of written data (`stable_how`). Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Stability {
    /// In the server's memory: a crash loses them until a COMMIT.
    Unstable = 0,
    /// The data and the metadata needed to find them are on the disk.
    DataStable = 1,
    /// The data and all attributes are on the disk.
    FileStable = 2,
}

numbers!(Stability {
    Unstable,
    DataStable,
    FileStable,
});

verifier! {
    /// Identifier of one run of a server: when it changes, unstable data may be lost (`writeverf3`).
    WriteVerifier
}

/// WRITE: writes data to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Write<'a> {
    /// The file.
    pub file: FileHandle,
    /// Offset of the data in the file, in bytes.
    pub offset: u64,
    /// Stability that the data must have when the server answers.
    pub stability: Stability,
    /// Data, borrowed from the caller.
    pub data: &'a [u8],
}

impl<'a> Value<'a> for Write<'a> {
    fn read(
        _what: &'static str,
        reader: &mut Reader<'a>,
        limits: &Limits,
    ) -> Result<Self, Malformed> {
        let file = Value::read("file", reader, limits)?;
        let offset = reader.u64("offset")?;
        let (at, count) = (reader.at(), reader.u32("count")?);
        Ok(Self {
            file,
            offset,
            stability: Value::read("stability", reader, limits)?,
            data: read_data(reader, limits, at, count)?,
        })
    }

    fn write(&self, out: &mut Writer<'_>) {
        self.file.write(out);
        out.u64(self.offset).u32(count(self.data));
        self.stability.write(out);
        out.opaque(self.data);
    }
}

request!(Write<'_>, Write => Written, WeakCacheData);

/// Result of a WRITE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Written {
    /// Attributes of the file.
    pub file: WeakCacheData,
    /// Number of bytes written, from the first on.
    pub count: u32,
    /// Their stability.
    pub stability: Stability,
    /// Verifier of the server's run in which they were written.
    pub verifier: WriteVerifier,
}

fields!(Written {
    file,
    count,
    stability,
    verifier
});

/// COMMIT: makes unstable data stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Commit {
    /// The file.
    pub file: FileHandle,
    /// Offset of the data in the file, in bytes.
    pub offset: u64,
    /// Number of bytes; 0 for all from `offset` on.
    pub count: u32,
}

fields!(Commit {
    file,
    offset,
    count
});
request!(Commit, Commit => Committed, WeakCacheData);

/// Result of a COMMIT: all data written under the same verifier are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Committed {
    /// Attributes of the file.
    pub file: WeakCacheData,
    /// Verifier of the server's current run.
    pub verifier: WriteVerifier,
}

fields!(Committed { file, verifier });
