//! Inputs on which nothing may panic: a function for each decoder and each core that receives bytes from a peer.
//!
//! `tests/replay.rs` calls them with a committed corpus and with random bytes on every run of the tests;
//! `cargo xtask fuzz` calls the same functions under libFuzzer, by the program in `targets/`.

mod cores;
mod cursor;
mod decoders;
mod files;
mod fileserver;
mod host;
#[path = "../../protocols/mount/tests/suite/model/mod.rs"]
mod mount_model;
mod mtcp;
mod nfs;
mod outcome;
mod rpc;
mod scheduler;
mod split;
mod tcp;
mod world;

pub use cores::{arq_tape, host_datagrams, session_datagrams};
pub use decoders::{hop_frame, ip_packet, link_file, records, signal_lines};
pub use files::files_tape;
pub use fileserver::fileserver_calls;
pub use host::host_frames;
use machine::Step;
use mount::{Input, Output, Tape};
pub use mtcp::{mtcp_packet, mtcp_tape};
pub use nfs::{nfs_answers, nfs_calls, nfs_url};
use outcome::note;
pub use outcome::{Pair, traced};
pub use rpc::{rpc_messages, rpc_tape};
pub use scheduler::scheduler_tape;
pub use split::split_tape;
pub use tcp::tcp_tape;
use world::WORLD_TAPE_MAX;
pub use world::world_tape;

/// A function to fuzz.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name, which its folder in `corpus/` has too.
    pub name: &'static str,
    /// The function: it panics if its input breaks what must hold.
    pub run: fn(&[u8]),
    /// Length of the longest useful input, in bytes.
    pub longest: usize,
    /// Number of random inputs in each check.
    pub rounds: u64,
}

impl Target {
    const fn new(name: &'static str, run: fn(&[u8])) -> Self {
        Self {
            name,
            run,
            longest: 4_096,
            rounds: 3_000,
        }
    }

    /// Returns the target with other limits, since one input takes milliseconds.
    const fn slow(self, longest: usize, rounds: u64) -> Self {
        Self {
            longest,
            rounds,
            ..self
        }
    }
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target::new("hop_frame", hop_frame),
    Target::new("records", records),
    Target::new("ip_packet", ip_packet),
    Target::new("link_file", link_file),
    Target::new("signal_lines", signal_lines),
    Target::new("session_datagrams", session_datagrams).slow(2_048, 300),
    Target::new("arq_tape", arq_tape),
    Target::new("host_datagrams", host_datagrams),
    Target::new("host_frames", host_frames).slow(2_048, 30),
    Target::new("scheduler_tape", scheduler_tape),
    Target::new("split_tape", split_tape).slow(2_048, 300),
    Target::new("tcp_tape", tcp_tape),
    Target::new("mtcp_packet", mtcp_packet),
    Target::new("mtcp_tape", mtcp_tape).slow(2_048, 300),
    Target::new("rpc_messages", rpc_messages),
    Target::new("rpc_tape", rpc_tape),
    Target::new("nfs_calls", nfs_calls),
    Target::new("nfs_answers", nfs_answers),
    Target::new("nfs_url", nfs_url),
    Target::new("files_tape", files_tape),
    Target::new("mount_tape", mount_tape).slow(2_048, 300),
    Target::new("fileserver_calls", fileserver_calls),
    Target::new("world_tape", world_tape).slow(WORLD_TAPE_MAX, 3),
];

/// Runs programs on two hosts that mount one server, beside a reference file system: the model of `protocols/mount`.
pub fn mount_tape(bytes: &[u8]) {
    let (_, tapes) = mount_model::run(bytes);
    for step in tapes.iter().flat_map(Tape::steps) {
        match step {
            Step::Input(_, Input::Files(answer)) => note(&answer.result),
            Step::Output(Output::Answer(_, answer)) => note(answer),
            Step::Output(Output::Files(request)) => note(&request.operation),
            Step::Input(..) | Step::Timeout(_) | Step::Output(_) => {}
        }
    }
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
