//! The identity of the running program.

use std::fs::File;
use std::io::{self, Read};

use experiment::Program;
use ring::digest::{Context, SHA256};

use crate::failure::Failure;

/// Returns this program, for the provenance of results.
pub(crate) fn this() -> Result<Program, Failure> {
    let digest = digest().map_err(|error| {
        Failure::broken(format!(
            "cannot read the program itself, to hash it: {error}"
        ))
    })?;
    Ok(Program {
        lasthop: env!("CARGO_PKG_VERSION").into(),
        rustc: env!("LASTHOP_RUSTC").into(),
        commit: env!("LASTHOP_COMMIT").into(),
        dirty: env!("LASTHOP_DIRTY").parse().ok(),
        digest,
    })
}

/// Returns the first 128 bits of the SHA-256 of the program's file.
fn digest() -> io::Result<String> {
    let mut file = File::open("/proc/self/exe")?;
    let (mut context, mut buffer) = (Context::new(&SHA256), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => context.update(&buffer[..count]),
        }
    }
    let digest = context.finish();
    let begin = digest.as_ref().first_chunk().copied().unwrap_or_default();
    Ok(format!("{:032x}", u128::from_be_bytes(begin)))
}
