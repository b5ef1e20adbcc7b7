//! Data packets that arrive.

use redirector::Content;
use units::Instant;

use super::{Connection, Phase};
use crate::packet::{Data, Kind};
use crate::sender::AckResult;

impl<C: Content + Clone> Connection<C> {
    /// Handles a data packet, and its number on a hop that numbers packets. Returns false if the packet does not fit
    /// the connection.
    pub(crate) fn arrive(&mut self, mut data: Data<C>, number: Option<u64>, now: Instant) -> bool {
        if let Phase::Aborted(reason) = self.phase {
            // The peer does not know yet that the connection was reset.
            self.news.control = Some(Kind::Reset(reason));
            return true;
        }
        let made = matches!(self.phase, Phase::Answered | Phase::Open | Phase::Lingering);
        if !made || data.profile != self.agreed.profile {
            return false;
        }
        let content = std::mem::take(&mut data.content);
        let empty = content.length() == 0 && !data.flags.fin;
        let arrival = self.receiver.arrived(number, now);
        let received = &mut self.receiver.received;
        received.packets += 1;
        let brought = self.sender.acknowledge(&data, empty, arrival, received);
        let completes = self.phase == Phase::Answered;
        if brought == AckResult::Impossible || (completes && brought == AckResult::Old) {
            return false;
        }
        if completes {
            self.establish(now);
        }
        let acknowledged = brought == AckResult::News;
        self.news.writable |= acknowledged;
        let answers = self.asking.hear(now);
        let heard = self.sender.heard(data.reply);
        self.receiver.measure(heard, now);
        let news = self.receiver.take(&data, content, answers, arrival);
        if news || acknowledged {
            self.asking.news(&self.config.timing);
        }
        if data.flags.poll {
            let unheard = self.sender.unheard(data.reply);
            self.receiver.answer(data.reply, unheard);
        }
        true
    }
}
