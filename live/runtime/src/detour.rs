//! Turns of new flows around the hop and across it again, in a thread of its own: another process makes them.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use hosts::EventKind;

/// The way of new flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Across the hop.
    Across,
    /// Around it.
    Around,
}

/// A thread that turns new flows.
pub struct Detour(Sender<Way>);

impl Detour {
    /// Starts a thread that turns them with `turn`, which may block. It ends with the detour.
    ///
    /// # Errors
    /// If no thread is available.
    pub fn start(turn: impl Fn(Way) -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let (ask, asked) = channel();
        let work = move || {
            // Turns are seconds apart, so they do not pile up.
            while let Ok(way) = asked.recv() {
                if let Err(error) = turn(way) {
                    tracing::error!("cannot turn new flows: {error}");
                }
            }
        };
        thread::Builder::new().name("detour".into()).spawn(work)?;
        Ok(Self(ask))
    }

    /// Turns new flows if this event demands it.
    pub(crate) fn follow(&self, event: &EventKind) {
        let way = if matches!(event, EventKind::DetourBegan { .. }) {
            Way::Around
        } else if matches!(event, EventKind::DetourEnded { .. }) {
            Way::Across
        } else {
            return;
        };
        // Without its thread nothing can be turned, which that thread has reported.
        let _ = self.0.send(way);
    }
}
