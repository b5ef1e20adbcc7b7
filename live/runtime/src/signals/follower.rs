//! Conversion of signals to link events for an RPC client.

use rpc::LinkEvent;
use signals::{Event, Signal};

/// State of one hop, from its signals.
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
    /// Returns the effect of a signal on calls in progress, if there is one.
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
            // The hop holds calls for files.
            Event::Restored { held, .. } => match self.wrong.take() {
                // There was no problem; a new subscriber gets this signal too.
                None if signal.past => None,
                Some(Wrong::Handoff) if !held => Some(LinkEvent::HandoffDone),
                _ => Some(LinkEvent::FadeEnded { kept: held }),
            },
        }
    }

    /// Handles the end of the daemon, with which its held packets are lost.
    pub fn deafen(&mut self) -> Option<LinkEvent> {
        self.wrong
            .take()
            .map(|_| LinkEvent::FadeEnded { kept: false })
    }
}
