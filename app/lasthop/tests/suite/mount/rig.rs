//! A server, and a directory to mount it at.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::Duration;

use ::rig::needs::can_test;
use edges::fuse::{abort, mounted};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::PROGRAM;
use crate::support::file_server::FileServer;

/// A test that hangs for so long is broken, and takes its mount down lest processes are left that cannot be killed.
const PATIENCE: Duration = Duration::from_mins(2);

/// Runs a command to its end.
pub(crate) fn lasthop(arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env_remove("LASTHOP_LOG");
    command.output().unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a command.
pub(crate) fn start(arguments: &[&str]) -> Running {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env_remove("LASTHOP_LOG");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Running(command.spawn().unwrap())
}

/// A process that has a file open, and writes what it is told. No file of a mount is open in the tests' own process:
/// each program that another test starts would have to close it first, which waits for the server.
pub(crate) struct Writer(Child);

impl Writer {
    /// Makes a file; it is there when this returns.
    pub(crate) fn create(path: &Path) -> Self {
        let child = Command::new("dd")
            .args(["bs=65536", "status=none"])
            .arg(format!("of={}", path.display()))
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until(|| path.exists());
        Self(child)
    }

    /// Has something written to its file, some time.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let input = self.0.stdin.as_mut().unwrap();
        input.write_all(bytes).unwrap();
    }

    /// Closes the file; whether all went well.
    pub(crate) fn close(mut self) -> bool {
        drop(self.0.stdin.take());
        self.0.wait().unwrap().success()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

/// A command that runs.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Sends it a signal, and waits for its end.
    pub(crate) fn end(self, signal: Signal) -> Output {
        self.signal(signal);
        self.0.wait_with_output().unwrap()
    }
}

/// Held by every rig, and by one alone for a test that the others would disturb.
static RIGS: RwLock<()> = RwLock::new(());

/// What other rigs there may be.
enum Company {
    Any(#[expect(dead_code, reason = "held until it is dropped")] RwLockReadGuard<'static, ()>),
    None(#[expect(dead_code, reason = "held until it is dropped")] RwLockWriteGuard<'static, ()>),
}

pub(crate) struct Rig {
    pub(crate) server: FileServer,
    folder: tempfile::TempDir,
    finished: Option<Sender<()>>,
    _company: Company,
}

impl Rig {
    /// Without a mount; none if this system cannot mount.
    pub(crate) fn unmounted() -> Option<Self> {
        let guard = RIGS.read().unwrap_or_else(PoisonError::into_inner);
        Self::in_company(Company::Any(guard))
    }

    /// With a mount, while no other test has one.
    pub(crate) fn alone() -> Option<Self> {
        let guard = RIGS.write().unwrap_or_else(PoisonError::into_inner);
        Some(Self::in_company(Company::None(guard))?.mount(&[]))
    }

    fn in_company(company: Company) -> Option<Self> {
        let may = rustix::process::geteuid().is_root() && Path::new("/dev/fuse").exists();
        if !can_test((!may).then(|| "this needs root and /dev/fuse".into())) {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let (finished, end) = channel::<()>();
        let point = folder.path().to_owned();
        thread::spawn(move || {
            if end.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let _ = abort(&point);
            }
        });
        Some(Self {
            server: FileServer::start(fileserver::Config::default()).unwrap(),
            folder,
            finished: Some(finished),
            _company: company,
        })
    }

    /// With a mount.
    pub(crate) fn mounted(options: &[&str]) -> Option<Self> {
        Some(Self::unmounted()?.mount(options))
    }

    fn mount(self, options: &[&str]) -> Self {
        let url = self.url();
        let arguments = [&["mount", &url, self.point()], options].concat();
        let output = lasthop(&arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(output.stdout.is_empty() && output.stderr.is_empty());
        self
    }

    pub(crate) fn url(&self) -> String {
        let address = self.server.address();
        let port = address.port();
        format!("nfs://{address}/export?mountport={port}")
    }

    pub(crate) fn point(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn is_mounted(&self) -> bool {
        let mut all = mounted().unwrap().into_iter();
        all.any(|one| one.point == self.folder.path()) && self.lives()
    }

    /// What the mount says of itself; null if it does not answer.
    pub(crate) fn status(&self) -> Value {
        let output = lasthop(&["mount", "--status", self.point(), "--json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    /// Waits until so many bytes are written and not safe.
    pub(crate) fn wait_for_unsafe(&self, bytes: u64) {
        wait_until(|| self.status()["unsafe_bytes"].as_u64() >= Some(bytes));
    }

    pub(crate) fn lives(&self) -> bool {
        self.status().is_object()
    }

    /// Kills the mount's process.
    pub(crate) fn kill(&self) {
        let process = self.status()["process"].as_i64().unwrap() as i32;
        let process = Pid::from_raw(process).unwrap();
        kill_process(process, Signal::KILL).unwrap();
        wait_until(|| !self.lives());
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if self.lives() {
            lasthop(&["unmount", "--discard", self.point()]);
        }
        let _ = edges::fuse::unmount(self.folder.path(), true);
        drop(self.finished.take());
    }
}
