//! Signals, as an RPC client wants to know of them.

use rpc::LinkEvent;
use signals::{Event, Signal};

/// Follows the signals of one hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Follower {
    wrong: Option<Wrong>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Handoff,
    Fade,
}

impl Follower {
    /// What a signal means for calls under way, if anything.
    pub fn hear(&mut self, signal: &Signal) -> Option<LinkEvent> {
        match signal.event {
            Event::HandoffImpending { .. } => {
                self.wrong = Some(Wrong::Handoff);
                Some(LinkEvent::HandoffImpending)
            }
            Event::Fade | Event::Disconnected => {
                self.wrong.get_or_insert(Wrong::Fade);
                Some(LinkEvent::FadeBegan)
            }
            // The hop holds calls of files.
            Event::Restored { held, .. } => match self.wrong.take() {
                // All was well, and that is what a newcomer is told.
                None if signal.past => None,
                Some(Wrong::Handoff) if !held => Some(LinkEvent::HandoffDone),
                _ => Some(LinkEvent::FadeEnded { kept: held }),
            },
        }
    }

    /// Nobody tells any more: the daemon has ended, and with it what it had kept.
    pub fn deafen(&mut self) -> Option<LinkEvent> {
        self.wrong
            .take()
            .map(|_| LinkEvent::FadeEnded { kept: false })
    }
}
