//! Many small files over a veth pair without loss.

use super::Measured;
use super::lan::without_loss;
use super::row::Row;
use crate::failure::Failure;

/// Bytes of each file.
const BYTES: u64 = 4_000;

/// Ours copies them with `-r`, all in one command; nfs-cp takes a file at a time, in a loop of the shell.
pub(super) fn run(measured: &Measured) -> Result<Vec<Row>, Failure> {
    let files = measured.options.files;
    println!("## {files} files of {BYTES} bytes, without loss\n");
    without_loss(measured, "small", BYTES, files)
}
