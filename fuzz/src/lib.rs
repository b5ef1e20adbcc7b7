//! Inputs on which nothing may panic: a function for each decoder and each core that receives bytes from a peer.
//!
//! `tests/replay.rs` calls them with a committed corpus and with random bytes on every run of the tests;
//! the binaries in `targets/` call the same functions under libFuzzer:
//! `cd fuzz/targets && cargo +nightly fuzz run --fuzz-dir . hop_frame`.

mod cores;
mod decoders;
mod draw;
mod files;
mod fileserver;
#[path = "../../protocols/mount/tests/suite/model/mod.rs"]
mod mount_model;
mod mtcp;
mod nfs;
mod rpc;
mod scheduler;
mod session;
mod split;
mod tcp;

pub use cores::{arq_tape, host_datagrams, session_datagrams};
pub use decoders::{hop_frame, ip_packet, link_file, records, signal_lines};
pub use draw::{corpus, draw, mutate};
pub use files::files_tape;
pub use fileserver::fileserver_calls;
pub use mtcp::{mtcp_packet, mtcp_tape};
pub use nfs::{nfs_answers, nfs_calls, nfs_url};
pub use rpc::{rpc_messages, rpc_tape};
pub use scheduler::scheduler_tape;
pub use session::{key_texts, session_tape};
pub use split::split_tape;
pub use tcp::tcp_tape;

/// The name of a function to fuzz, and the function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("hop_frame", hop_frame),
    ("records", records),
    ("ip_packet", ip_packet),
    ("link_file", link_file),
    ("signal_lines", signal_lines),
    ("session_datagrams", session_datagrams),
    ("session_tape", session_tape),
    ("key_texts", key_texts),
    ("arq_tape", arq_tape),
    ("host_datagrams", host_datagrams),
    ("scheduler_tape", scheduler_tape),
    ("split_tape", split_tape),
    ("tcp_tape", tcp_tape),
    ("mtcp_packet", mtcp_packet),
    ("mtcp_tape", mtcp_tape),
    ("rpc_messages", rpc_messages),
    ("rpc_tape", rpc_tape),
    ("nfs_calls", nfs_calls),
    ("nfs_answers", nfs_answers),
    ("nfs_url", nfs_url),
    ("files_tape", files_tape),
    ("mount_tape", mount_tape),
    ("fileserver_calls", fileserver_calls),
];

/// Runs programs on two hosts that mount one server, beside a reference file system: the model of `protocols/mount`.
pub fn mount_tape(bytes: &[u8]) {
    drop(mount_model::run(bytes));
}

/// Splits `bytes` into pieces, each after two bytes with its length modulo 2,048.
fn pieces(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let length = usize::from(u16::from_be_bytes(*length)) % 2_048;
        let (piece, rest) = rest.split_at(length.min(rest.len()));
        bytes = rest;
        Some(piece)
    })
}
