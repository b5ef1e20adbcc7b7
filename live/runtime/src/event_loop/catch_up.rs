//! What comes before the rest of a turn: after a time without processor, and of the network.

use edges::bearer::DatagramBearer;
use edges::clock;
use edges::tun::PacketDevice;
use hosts::Input;
use units::{Duration, Instant};

use super::{EventLoop, RuntimeError};
use crate::host::Driven;

/// A deadline that passed so long ago was missed: the loop rests for 1 ms at most.
const LATE: Duration = Duration::from_millis(2);
/// So many batches are read at most before the deadline is told: the device's share must not wait without end.
const BATCHES_MOST: u32 = 64;

impl<H: Driven, D: PacketDevice, B: DatagramBearer> EventLoop<H, D, B> {
    /// If a deadline was missed: hands in what has come meanwhile, so that nothing is judged without it.
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

    /// Tells of a port that the network says is closed. Of what it says more the socket stays ready.
    pub(super) fn tell_refusals(&mut self) {
        if let Some(at) = self.ports.bearer.refused() {
            self.tell(clock::monotonic(), Input::PortRefused(at));
        }
    }
}
