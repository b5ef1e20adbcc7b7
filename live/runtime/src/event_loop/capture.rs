//! The capture: its client, and the copies of what crosses the hop.

use edges::bearer::DatagramBearer;
use edges::clock;
use edges::tun::PacketDevice;

use super::{EventLoop, Work};
use crate::capture::{Ask, Tap};
use crate::host::DrivenHost;

impl<H: DrivenHost, D: PacketDevice, B: DatagramBearer> EventLoop<H, D, B> {
    /// Begins a capture, or refuses it.
    pub(super) fn begin_capture(&mut self, ask: Ask) {
        let other = self.work.tap.as_deref();
        let begun = Tap::begin(ask, &self.waiter, other, &mut self.host);
        if let Some(tap) = begun {
            self.work.tap = Some(Box::new(tap));
        }
    }

    /// Handles what the client of the capture reports; returns false if this is not its token.
    pub(super) fn serve_capture(&mut self, token: u64) -> bool {
        let tap = self.work.tap.as_deref_mut();
        let Some(tap) = tap.filter(|tap| tap.is_for(token)) else {
            return false;
        };
        if tap.ready(&mut self.host).is_err() {
            self.end_capture();
        }
        true
    }

    /// Sends what was captured, as much as the client takes now. It never waits for the client.
    pub(super) fn send_captured(&mut self) {
        let goes_on = self.work.tap.as_mut().map(|tap| tap.flush());
        if matches!(goes_on, Some(Ok(false) | Err(_))) {
            self.end_capture();
        }
    }

    /// Sends the last counts to the client of a capture, before the loop ends.
    pub(super) fn finish_capture(&mut self) {
        if let Some(tap) = &mut self.work.tap {
            tap.end(clock::monotonic(), &mut self.host);
            self.send_captured();
        }
    }

    fn end_capture(&mut self) {
        self.work.tap = None;
        self.host.set_tap(None);
    }
}

/// Passes the host's copies to the capture.
pub(super) fn take_copies<H: DrivenHost>(host: &mut H, work: &mut Work) {
    if let Some(tap) = &mut work.tap {
        while let Some(copy) = host.poll_tapped() {
            tap.frame(&copy);
        }
    }
}
