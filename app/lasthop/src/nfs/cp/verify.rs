//! The SHA-256 of a file.

use std::sync::mpsc::Sender;

use bytes::Bytes;
use ring::digest::{Context, Digest, SHA256};

use super::origin::Opened;
use crate::nfs::problem::Problem;
use crate::nfs::transfer::{Arrival, Sink, Transfer};

struct Hash(Context);

impl Sink for Hash {
    fn put(&mut self, mut offset: u64, data: Vec<Bytes>, to: &Sender<Arrival>) {
        for data in data {
            self.0.update(&data);
            let count = data.len() as u64;
            let _ = to.send(Arrival::Written(offset, Ok(count)));
            offset += count;
        }
    }
}

/// Returns the SHA-256 of a file, read with `window` bytes in flight.
pub(super) fn digest(file: &Opened, window: u64) -> Result<Vec<u8>, Problem> {
    let mut hash = Hash(Context::new(&SHA256));
    let transfer = Transfer {
        source: &*file.source,
        sink: &mut hash,
        from: 0,
        until: file.meta.size,
        window: &|| window,
        progress: &|_| {},
    };
    transfer.run()?;
    let digest: Digest = hash.0.finish();
    Ok(digest.as_ref().to_vec())
}
