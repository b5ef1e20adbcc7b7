//! Changes to the system and to files that the host demands, made in a thread of their own: another process makes them.

use std::io;
use std::net::IpAddr;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use hosts::{EventKind, ExitChange, Input, Told};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::results::Results;

/// The way of new flows of a mobile host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Across the hop.
    Across,
    /// Around it.
    Around,
}

/// Inner addresses of a mobile host, and a change of where packets with them leave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The addresses.
    pub networks: Vec<IpNet>,
    /// What is new.
    pub change: ExitChange,
}

impl Exit {
    /// Returns one of these addresses with their prefix lengths.
    pub(crate) fn of(prefixes: &[(IpAddr, u8)], change: ExitChange) -> Self {
        let network = |(address, length): &(IpAddr, u8)| IpNet::new(*address, *length).ok();
        Self {
            networks: prefixes.iter().filter_map(network).collect(),
            change,
        }
    }
}

/// Result of changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Changed {
    /// Inner addresses with which packets may leave here now.
    pub ready: Vec<IpNet>,
    /// What could not be done, for the user.
    pub refused: Vec<String>,
}

/// A change to the system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// New flows of this mobile host take this way.
    Way(Way),
    /// Packets of a mobile host leave elsewhere, or its addresses are announced anew.
    Exit(Exit),
    /// Gateways have told this host other things than before.
    Told(Vec<Told>),
}

impl Change {
    /// Returns the change that an event demands, if it demands one.
    pub(crate) fn of(event: &EventKind) -> Option<Self> {
        match event {
            EventKind::DetourBegan { .. } => Some(Self::Way(Way::Around)),
            EventKind::DetourEnded { .. } => Some(Self::Way(Way::Across)),
            _ => None,
        }
    }
}

/// A thread that makes changes.
pub struct Changes {
    ask: Sender<Change>,
    pub(crate) done: Results,
}

impl Changes {
    /// Starts a thread that calls `make`, which may block, with all changes that were demanded since the last call, in
    /// their order. The thread ends with the value that is returned.
    ///
    /// # Errors
    /// If no thread or descriptor is available.
    pub fn start(
        make: impl Fn(Vec<Change>) -> io::Result<Changed> + Send + 'static,
    ) -> io::Result<Self> {
        let (ask, asked) = channel();
        let (reporter, done) = Results::new()?;
        let work = move || {
            while let Ok(first) = asked.recv() {
                let changes = std::iter::once(first).chain(asked.try_iter());
                let Changed { ready, refused } = make(changes.collect()).unwrap_or_else(|error| {
                    tracing::error!("cannot change the system: {error}");
                    Changed::default()
                });
                for why in refused {
                    tracing::warn!("{why}");
                }
                if !ready.is_empty() {
                    let prefix = |network: IpNet| (network.addr(), network.prefix_len());
                    let prefixes = ready.into_iter().map(prefix).collect();
                    reporter.report(Input::ExitsOpen(prefixes));
                }
            }
        };
        thread::Builder::new().name("changes".into()).spawn(work)?;
        Ok(Self { ask, done })
    }

    /// Has a change made.
    pub(crate) fn make(&self, change: Change) {
        // Without its thread nothing can be changed, which that thread has reported.
        let _ = self.ask.send(change);
    }
}
