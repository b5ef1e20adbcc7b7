//! A thread that has a running gateway take what others have changed in the registry.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use runtime::control::ask_reload;

use super::Folders;
use super::client::Client;
use super::copied::Copied;
use super::watch::Watch;
use crate::config::Source;
use crate::failure::Failure;

/// Time between a change and the reload: further changes come with it.
const GATHERING: Duration = Duration::from_millis(20);
/// First and longest time between attempts.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// What the thread does.
pub(crate) struct Follower {
    client: Arc<Client>,
    folders: Folders,
    /// The control socket of the gateway.
    socket: PathBuf,
}

impl Follower {
    /// Creates one for the registry that `client` reaches, of the gateway with this configuration and control socket.
    pub(crate) fn new(
        client: Arc<Client>,
        source: &Source,
        socket: &Path,
    ) -> Result<Self, Failure> {
        Ok(Self {
            client,
            folders: Folders::of(source)?,
            socket: socket.into(),
        })
    }

    /// Starts the thread.
    pub(crate) fn start(self) -> io::Result<()> {
        let thread = thread::Builder::new().name("registry".into());
        thread.spawn(move || self.run()).map(drop)
    }

    fn run(&self) {
        let [first, longest] = PAUSES;
        let (mut pause, mut is_away) = (first, false);
        loop {
            match self.client.watch(self.revision() + 1) {
                Ok(watch) => {
                    if is_away {
                        tracing::info!("the registry answers again");
                    }
                    // One with fewer changes is another one.
                    if is_away || watch.revision < self.revision() {
                        self.reload();
                    }
                    is_away = false;
                    if self.take(watch) {
                        pause = first;
                        continue;
                    }
                }
                Err(error) if is_away => tracing::debug!("{error}"),
                Err(error) => {
                    tracing::warn!(
                        "{error}; nobody joins, and nobody is invited or revoked, until it does"
                    );
                    is_away = true;
                }
            }
            thread::sleep(pause);
            pause = (pause * 2).min(longest);
        }
    }

    /// Has the gateway take the next change; returns false if it has not.
    fn take(&self, mut watch: Watch) -> bool {
        let Some(revision) = watch.wait() else {
            return true;
        };
        thread::sleep(GATHERING);
        if self.client.has_written(revision) {
            return true;
        }
        self.reload();
        self.revision() >= revision
    }

    /// Returns the last change of the registry that is in the folders.
    fn revision(&self) -> i64 {
        Copied::read(&self.folders).version.revision
    }

    fn reload(&self) {
        match ask_reload(&self.socket) {
            Ok(Ok(report)) => tracing::info!("from the registry: {report}"),
            Ok(Err(error)) => tracing::warn!("a change in the registry is not taken: {error}"),
            Err(error) => tracing::warn!("a change in the registry is not taken yet: {error}"),
        }
    }
}
