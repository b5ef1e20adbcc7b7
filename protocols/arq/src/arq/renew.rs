//! The continuation of an association with other frame numbers, and at another place.

use units::Instant;

use super::{Arq, Diagnosis};
use crate::acknowledge::Acknowledger;
use crate::inbox::Inbox;
use crate::outbox::Outbox;
use crate::pace::{Pace, Timers};
use crate::round_trip::RoundTrip;
use crate::{Config, Report, ReportError};

/// The state of one end that decides what is delivered: its flows and packets, and what it has received. What was
/// measured of the hop, and what was in flight, is left behind.
#[derive(Debug)]
pub struct Transfer {
    outbox: Outbox,
    inbox: Inbox,
}

impl Arq {
    /// Ends this end, so that another one can go on with its flows.
    pub fn into_transfer(self) -> Transfer {
        Transfer {
            outbox: self.outbox,
            inbox: self.inbox,
        }
    }

    /// Returns an end that goes on with the flows of another one. Nothing is sent again before
    /// [`renew`](Self::renew). The limits on brief packets and on packets a second stay those of the other end.
    pub fn from_transfer(config: Config, transfer: Transfer) -> Self {
        let new = Self::new(config);
        let shares = new.shares;
        let mut arq = Self {
            outbox: transfer.outbox,
            inbox: transfer.inbox,
            ..new
        };
        arq.set_shares(shares);
        arq
    }

    /// Returns what this end has received.
    pub fn report(&self) -> Report {
        self.inbox.report()
    }

    /// Begins anew with the other end's report: frames are numbered from 0, everything in flight is forgotten, and
    /// what the other end lacks is sent again, before anything else. The other end has to do the same, and no frame
    /// from before may reach either end after it.
    ///
    /// # Errors
    /// If the other end lacks what this end has not any more; nothing has changed then.
    pub fn renew(&mut self, now: Instant, report: &Report) -> Result<(), ReportError> {
        self.outbox.renew(now, report)?;
        self.ledger.renew();
        self.acknowledger = Acknowledger::default();
        self.round_trip = RoundTrip::default();
        self.diagnosis = Diagnosis::default();
        self.pace = Pace {
            last_heard: now,
            unlinked: self.pace.unlinked,
            due: Timers {
                tidy: (self.outbox.flows() > 0).then(|| now + super::TIDY),
                release: self.inbox.flush_at(now),
                ..Timers::default()
            },
            ..Pace::default()
        };
        Ok(())
    }
}
