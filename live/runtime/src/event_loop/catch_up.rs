//! Steps before the rest of a turn: catching up after a time without processor, and reports of the network.

use edges::bearer::{DatagramBearer, NetworkChange};
use edges::clock;
use edges::tun::PacketDevice;
use hosts::Input;
use units::{Duration, Instant};

use super::{EventLoop, RuntimeError, SETTLING};
use crate::host::DrivenHost;

/// Age from which a deadline counts as missed: the loop rests for 1 ms at most.
const LATE: Duration = Duration::from_millis(2);
/// Largest number of batches read before the host is called at the deadline: the device's share must not wait without
/// end.
const BATCHES_MOST: u32 = 64;

impl<H: DrivenHost, D: PacketDevice, B: DatagramBearer> EventLoop<H, D, B> {
    /// After a missed deadline, passes received datagrams to the host first, so that its decisions take them into
    /// account.
    pub(super) fn catch_up(&mut self) -> Result<(), RuntimeError> {
        let is_missed = |due: Instant| clock::monotonic().since(due) > LATE;
        if !self.host.poll_timeout().is_some_and(is_missed) {
            return Ok(());
        }
        for _ in 0..BATCHES_MOST {
            let batch = self.read_bearer()?;
            self.flush()?;
            if !batch.is_full {
                break;
            }
        }
        Ok(())
    }

    /// Notifies the host of the closed ports that the network has reported. What it sends then may be refused, too.
    pub(super) fn tell_refusals(&mut self) {
        let bearer = &mut self.ports.bearer;
        let refused: Vec<_> = std::iter::from_fn(|| bearer.refused()).collect();
        for at in refused {
            self.tell(clock::monotonic(), Input::PortRefused(at));
        }
    }

    /// Handles a change of the network.
    pub(super) fn hear_news(&mut self) -> Result<(), RuntimeError> {
        let Some(network) = &mut self.ports.network else {
            return Ok(());
        };
        if !network.changed()? {
            return Ok(());
        }
        let footing = self
            .ports
            .bearer
            .follow_network()
            .map_err(RuntimeError::Bearer)?;
        let now = clock::monotonic();
        match footing {
            NetworkChange::Lost => self.tell(now, Input::LinkChanging),
            NetworkChange::Found => {
                self.tell(now, Input::LinkChanging);
                self.link_up(now);
            }
            NetworkChange::Uncertain if self.news_due.is_none() => {
                self.news_due = Some(now + SETTLING);
                self.tell(now, Input::LinkChanging);
            }
            NetworkChange::Unchanged | NetworkChange::Uncertain => {}
        }
        Ok(())
    }
}
