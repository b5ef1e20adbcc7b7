//! The end of a gateway whose split connections go on with another process.

use edges::bearer::DatagramBearer;
use edges::clock;
use edges::parcel::Parcel;
use edges::tun::PacketDevice;
use hosts::Input;

use super::EventLoop;
use crate::control::Control;
use crate::host::DrivenHost;
use crate::sockets::Sockets;
use crate::succession::{STORED_AS, Successor};

impl<H: DrivenHost, D: PacketDevice, B: DatagramBearer> EventLoop<H, D, B> {
    /// Hands the split connections over, if there are any and somebody takes them: a successor that has asked, which
    /// waits for the end of this process, or the supervisor.
    pub(super) fn hand_over(&mut self) {
        if self.host.is_mobile() {
            // Its successor begins as after any end.
            return drop(self.take_successor());
        }
        let control = self.ports.control.as_ref();
        let is_wanted =
            control.is_some_and(Control::has_successor) || self.ports.supervisor.is_some();
        if !is_wanted || self.work.sockets.is_none() {
            return;
        }
        // What remains, the next process writes.
        self.work
            .sockets
            .iter_mut()
            .for_each(Sockets::flush_written);
        self.carry_out();
        self.tell(clock::monotonic(), Input::HandOver);
        let succession = self
            .work
            .sockets
            .as_mut()
            .and_then(Sockets::take_succession);
        let Some((succession, space)) = succession else {
            return;
        };
        let count = succession.count();
        match succession.pack(space) {
            Ok(parcel) => {
                tracing::info!("{count} sockets of split connections are handed over");
                self.leave_to(parcel);
            }
            Err(error) => {
                tracing::warn!(
                    "{count} sockets of split connections cannot be handed over: {error}"
                );
            }
        }
    }

    fn leave_to(&mut self, parcel: Parcel) {
        match (&mut self.ports.control, &self.ports.supervisor) {
            (Some(control), _) if control.has_successor() => control.leave(parcel),
            (_, Some(supervisor)) => {
                // What it had kept for this process has no content any more.
                supervisor.forget(STORED_AS);
                supervisor.store(&parcel, STORED_AS);
            }
            _ => {}
        }
    }

    /// Returns the process that waits for the end of this one, if one does.
    pub fn take_successor(&mut self) -> Option<Successor> {
        self.ports.control.as_mut()?.take_successor()
    }
}
