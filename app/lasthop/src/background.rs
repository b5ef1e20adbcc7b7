//! Daemons in the background, without a service manager.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use runtime::control::{ask_status_page, process_at};
use serde_json::Value;

use crate::failure::Failure;
use crate::state::State;

/// Time that a daemon may take until it answers.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between two queries.
const PAUSE: Duration = Duration::from_millis(20);
/// Most bytes of a log that are shown.
const SHOWN: u64 = 4_096;

/// Returns true if a daemon answers at `socket`.
pub(crate) fn is_running(socket: &Path) -> bool {
    // One page is enough, and a gateway may have thousands of peers.
    ask_status_page::<Value>(socket, 0).is_ok()
}

/// Starts the daemon of `role` with its configuration in `state`, and waits until it answers at `socket`.
pub(crate) fn start(role: &str, state: &State, socket: &Path) -> Result<(), Failure> {
    start_with(&[role], state, socket)
}

/// Does so in the place of the daemon that runs.
pub(crate) fn succeed(role: &str, state: &State, socket: &Path) -> Result<(), Failure> {
    start_with(&[role, "--take-over"], state, socket)
}

fn start_with(arguments: &[&str], state: &State, socket: &Path) -> Result<(), Failure> {
    let log = state.log();
    let failed = |error: io::Error| {
        Failure::broken(format!(
            "cannot start the daemon, whose log is {}: {error}",
            log.display()
        ))
    };
    let mut options = OpenOptions::new();
    let mut file = options
        .create(true)
        .append(true)
        .read(true)
        .mode(0o600)
        .open(&log)
        .map_err(failed)?;
    let begin = file.seek(SeekFrom::End(0)).map_err(failed)?;
    let mut daemon = Command::new(std::env::current_exe().map_err(failed)?)
        .args(arguments)
        .args(["--detached", "--config"])
        .arg(state.configuration())
        .stdin(Stdio::null())
        .stdout(file.try_clone().map_err(failed)?)
        .stderr(file.try_clone().map_err(failed)?)
        .spawn()
        .map_err(failed)?;
    let end = Instant::now() + PATIENCE;
    while process_at(socket).ok() != Some(daemon.id()) || !is_running(socket) {
        if daemon.try_wait().map_err(failed)?.is_some() {
            let said = said_since(&mut file, begin).map_err(failed)?;
            let error = said
                .split_once("error: ")
                .map_or(&*said, |(_, error)| error);
            return Err(Failure::setting(error.trim()));
        }
        if Instant::now() > end {
            let log = log.display();
            return Err(Failure::broken(format!(
                "the daemon has not answered for {} s; see its log {log}",
                PATIENCE.as_secs()
            )));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Returns the end of what was written to a log from this place on.
fn said_since(log: &mut File, begin: u64) -> io::Result<String> {
    let end = log.seek(SeekFrom::End(0))?;
    log.seek(SeekFrom::Start(begin.max(end.saturating_sub(SHOWN))))?;
    let mut bytes = Vec::new();
    log.take(SHOWN).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Leaves the terminal and the folder of the command that started this daemon.
pub(crate) fn detach() -> Result<(), Failure> {
    // A process that leads a session already has no terminal to leave.
    let _ = rustix::process::setsid();
    rustix::process::chdir("/").map_err(Failure::broken)
}
