//! The conversion of a connection to its serializable state, and back.

use std::sync::Arc;

use redirector::Content;
use units::Instant;

use super::{Connection, Identity, Phase};
use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::state::{ConnectionState, ResumeError};
use crate::{Config, ConnectionId};

impl<C: Content + Clone> Connection<C> {
    /// Returns true if it can be suspended: it has not ended, and is established, or at least this end has agreed to
    /// it. In the latter case the peer may not know of the agreement; its reset answers a poll, which needs timers.
    pub(crate) fn is_whole(&self) -> bool {
        let is_agreed = match self.phase {
            Phase::Open => true,
            Phase::Answered => !self.config.lean,
            _ => false,
        };
        is_agreed && self.news.outcome.is_none()
    }

    /// Takes the connection out as its state; the connection is of no use afterwards.
    pub(crate) fn suspend(&mut self) -> ConnectionState<C> {
        let taken = self.news.data.take().unwrap_or_default();
        ConnectionState {
            own: self.names.own,
            peer: self.names.peer,
            addresses: self.addresses,
            profile: self.agreed.profile,
            packet: self.agreed.packet,
            lean: [self.config.lean, self.agreed.lean_peer],
            finished_first: self.news.finished_first,
            sending: self.sender.suspend(),
            receiving: self.receiver.suspend(taken),
        }
    }

    /// Resumes the connection of `state`, which was checked. It polls the peer for its state, and reports to the
    /// driver how much can be read and written.
    ///
    /// # Errors
    /// If an end with this configuration cannot resume it.
    pub(crate) fn resume(
        id: ConnectionId,
        mut state: ConnectionState<C>,
        config: &Arc<Config>,
        now: Instant,
    ) -> Result<Self, ResumeError> {
        if state.profile > config.profile {
            return Err(ResumeError::Profile);
        }
        let [lean, lean_peer] = state.lean;
        if config.lean && (!lean || lean_peer) {
            return Err(ResumeError::Lean);
        }
        let identity = Identity {
            id,
            own: state.own,
            addresses: state.addresses,
            first: state.sending.first,
        };
        let config = Arc::clone(config);
        let mut connection = Self::new(&identity, Phase::Open, state.profile, config);
        connection.names.peer = state.peer;
        connection.agreed.packet = state.packet;
        connection.agreed.lean_peer = lean_peer;
        connection.news.finished_first = state.finished_first;
        connection.news.writable = true;
        connection.sender = Sender::resume(&connection.config, &mut state, now);
        connection.receiver = Receiver::resume(&connection.config, &mut state);
        if lean_peer {
            connection.receiver.must_ask();
        }
        connection.asking.start(now, now);
        connection.asking.at = None;
        if !connection.config.lean {
            connection.asking.ask(now);
        }
        Ok(connection)
    }

    /// Returns the bytes by which its receive buffer exceeds the initial one of its profile.
    pub(crate) fn grown(&self) -> u64 {
        let first = u64::from(self.config.buffer(self.agreed.profile));
        self.receiver.buffer().saturating_sub(first)
    }
}
