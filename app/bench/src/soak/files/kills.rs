//! A server that is killed while files are written to it: each file is complete, or its writer got an error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use ::rig::Namespace;
use serde::Serialize;

use super::rig::Rig;
use crate::soak::random::Random;
use crate::soak::watch::{Done, Fault};

/// Results of the files.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Tally {
    /// Kills while a file was being written.
    pub(super) kills: u32,
    /// Files that are correct, and were reported to be.
    pub(super) whole: u32,
    /// Files for which the writer got an error.
    pub(super) failed: u32,
}

/// The writer of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    /// `lasthop nfs cp`
    Copy,
    /// A program that writes into the mount.
    Mount,
}

/// Writes files of up to `size` bytes and kills the server meanwhile, `kills` times.
pub(super) fn run(
    rig: &mut Rig,
    seed: u64,
    kills: u32,
    size: u64,
    done: &Done,
) -> (Tally, Result<(), Fault>) {
    let mut random = Random::new(seed, 2);
    let mut tally = Tally::default();
    let mut tries = 0;
    while tally.kills < kills {
        tries += 1;
        if tries > 10 * kills {
            let fault = format!(
                "only {} of {tries} files took long enough to be hit",
                tally.kills
            );
            return (tally, Err(fault));
        }
        let way = if tries % 2 == 0 {
            Writer::Mount
        } else {
            Writer::Copy
        };
        let name = format!("killed-{tries}");
        let one = one_kill(rig, &mut random, size, way, &name, &mut tally);
        if let Err(fault) = one {
            return (
                tally,
                Err(format!("seed {seed}, file {tries} ({way:?}): {fault}")),
            );
        }
        done.count();
    }
    (tally, Ok(()))
}

fn one_kill(
    rig: &mut Rig,
    random: &mut Random,
    size: u64,
    way: Writer,
    name: &str,
    tally: &mut Tally,
) -> Result<(), Fault> {
    let length = size / 4 + random.below(size);
    let content = random.bytes(length as usize);
    let source = rig.local("source");
    fs::write(&source, &content).map_err(|error| format!("{}: {error}", source.display()))?;
    let (writer, growing) = match way {
        Writer::Copy => {
            let part = rig.exported(&format!(".{name}.lasthop-part"));
            (rig.copy(&source, name), part)
        }
        Writer::Mount => (write(&source, &rig.mounted(name)), rig.exported(name)),
    };
    let wanted = random.below(length);
    let (before, after) = (random.below(20), random.below(1_500));
    let client = rig.client();
    let said = thread::scope(|scope| {
        let writer = scope.spawn(|| run_writer(writer, &client));
        wait_for(&growing, wanted, &writer);
        thread::sleep(Duration::from_millis(before));
        tally.kills += u32::from(!writer.is_finished());
        rig.kill();
        thread::sleep(Duration::from_millis(after));
        rig.start()
            .map_err(|failure| format!("the server does not come back: {failure}"))?;
        writer
            .join()
            .map_err(|_| Fault::from("the writer panicked"))
    })?;
    let there = fs::read(rig.exported(name)).unwrap_or_default();
    match said {
        Ok(()) if there == content => tally.whole += 1,
        Ok(()) => {
            let at = there
                .iter()
                .zip(&content)
                .position(|(got, wanted)| got != wanted);
            let (got, wanted) = (there.len(), content.len());
            return Err(format!(
                "said to be written, but has {got} of {wanted} bytes, another one at {at:?}"
            ));
        }
        Err(reason) => {
            eprintln!("{name}: {reason}");
            tally.failed += 1;
        }
    }
    // A failed copy may have left nothing, or a part.
    let _ = fs::remove_file(rig.exported(name));
    let _ = fs::remove_file(rig.exported(&format!(".{name}.lasthop-part")));
    Ok(())
}

/// Waits until the server has `wanted` bytes, or the writer has ended.
fn wait_for(growing: &PathBuf, wanted: u64, writer: &ScopedJoinHandle<'_, Result<(), Fault>>) {
    while fs::metadata(growing).map_or(0, |found| found.len()) < wanted && !writer.is_finished() {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Returns a program that writes and checks for errors. It is not one of our threads: a process that starts a server
/// first closes its own open files, which waits for the server.
fn write(source: &Path, target: &Path) -> Command {
    let mut command = Command::new("dd");
    command.args(["bs=100000", "conv=fsync", "status=none"]);
    let end = |which, path: &Path| format!("{which}={}", path.display());
    command.args([end("if", source), end("of", target)]);
    command
}

fn run_writer(mut command: Command, host: &Namespace) -> Result<(), Fault> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::piped());
    let writer = host.spawn(command).map_err(|error| error.to_string())?;
    let output = writer
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into())
}
