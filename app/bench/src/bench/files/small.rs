//! Many small files over a veth pair without loss.

use super::Measured;
use super::lan::without_loss;
use super::row::Row;
use crate::failure::Failure;

/// Bytes of each file.
const BYTES: u64 = 4_000;

/// Measures the copies. Ours copies them with `-r`, all in one command; nfs-cp takes one file at a time, in a shell
/// loop.
pub(super) fn run(measured: &Measured) -> Result<Vec<Row>, Failure> {
    let files = measured.options.files;
    println!("## {files} files of {BYTES} bytes, without loss\n");
    without_loss(measured, "small", BYTES, files)
}
