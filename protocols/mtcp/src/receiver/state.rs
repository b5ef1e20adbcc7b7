//! The conversion of a receiver to its serializable state, and back.

use redirector::Content;

use super::held::Run;
use super::size::Size;
use super::{Cause, Progress, Receiver};
use crate::Config;
use crate::numbers::Numbers;
use crate::state::{ConnectionState, Receiving};

impl<C: Content> Receiver<C> {
    /// Takes the receiver out as its state, with data `taken` for the application and not handed over; it is of no
    /// use afterwards.
    pub(crate) fn suspend(&mut self, taken: C) -> Receiving<C> {
        let progress = &self.progress;
        let mut unread = taken;
        unread.append(self.ready.take(u64::MAX));
        Receiving {
            first: self.numbers.first(),
            next: progress.next,
            edge: progress.edge,
            fin: progress.fin,
            sent: progress.sent,
            buffer: self.size.buffer,
            shift: self.size.shift,
            cycle: self.cause.cycle,
            cause: self.cause.position,
            unread,
            held: self.held.suspend(),
        }
    }

    /// Resumes the receiver of `state`, which was checked. It acknowledges at once.
    pub(crate) fn resume(config: &Config, state: &mut ConnectionState<C>) -> Self {
        let profile = state.profile;
        let receiving = &mut state.receiving;
        let mut receiver = Self::new(config, profile);
        receiver.numbers = Numbers::new(receiving.first, profile);
        let ended = receiving.fin.is_some_and(|fin| fin < receiving.next);
        let end = receiving.next - u64::from(ended);
        receiver.progress = Progress {
            next: receiving.next,
            edge: receiving.edge,
            fin: receiving.fin,
            sent: receiving.sent,
            told: end - receiving.unread.length(),
        };
        let largest = u64::from(config.largest_buffer(profile));
        receiver.size = Size {
            buffer: receiving.buffer,
            most: largest
                .min(u64::from(u16::MAX) << receiving.shift)
                .max(receiving.buffer),
            shift: receiving.shift,
            ..Size::default()
        };
        receiver.cause = Cause {
            cycle: receiving.cycle,
            position: receiving.cause,
            ..Cause::default()
        };
        receiver.order.resume(receiving.cycle);
        receiver.rules.segment = (usize::from(state.packet) - profile.header_length()) as u64;
        let content = std::mem::take(&mut receiving.unread);
        if content.length() > 0 {
            receiver.ready.append(Run { content, pieces: 1 });
        }
        for (start, content) in receiving.held.drain(..) {
            receiver.held.insert(start, content);
        }
        receiver.due.now = true;
        receiver
    }
}
