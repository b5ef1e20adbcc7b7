//! The input of frames from the other end.

use std::collections::VecDeque;

use units::Instant;
use wire::hop::{Chunk, Frame, expand};
use wire::ip::Ecn;
use wire::packet::{Packet, PacketBuffer};

use super::Arq;
use crate::Output;
use crate::receiver::Refused;

impl Arq {
    pub(super) fn receive(&mut self, now: Instant, arrived: Instant, ecn: Ecn, bytes: &[u8]) {
        let Ok(frame) = Frame::parse(bytes) else {
            self.stats.received.frames_malformed += 1;
            return;
        };
        let wire_bytes = bytes.len() + self.config.overhead;
        self.path.received(bytes.len());
        let number = expand(frame.number, self.acknowledger.largest());
        let missed = number.saturating_sub(self.acknowledger.expected());
        let had_missed = self.pace.has_missed;
        self.pace.has_missed |= missed > 0;
        self.inbox.pass_turn(now);
        let (mut asks, mut fits, mut after_long, mut is_long) = (false, true, false, false);
        for chunk in frame.chunks() {
            match chunk {
                Ok(Chunk::Ack(ack)) => self.acknowledged(now, arrived, &ack),
                Ok(Chunk::Padding(_)) => is_long = true,
                Ok(chunk) => {
                    asks = true;
                    after_long |= chunk == Chunk::Probe { after_long: true };
                    fits &= self.take_in(number, &chunk);
                }
                Err(_) => self.stats.received.frames_malformed += 1,
            }
        }
        if after_long && missed == 1 {
            // The frame that was expected to be lost if too long carried no acknowledgement.
            self.pace.has_missed = had_missed;
        }
        let received = &mut self.stats.received;
        received.frames += 1;
        received.wire_bytes += wire_bytes as u64;
        // A chunk without room must come again, so the frame counts as not received.
        if fits {
            let arrival = self.acknowledger.arrived(arrived, number, wire_bytes);
            let missed = arrival.skipped.saturating_sub(u64::from(after_long));
            received.frames_missed += missed;
            if arrival.is_late && !is_long {
                self.diagnosis.losses.forgive_missed(received);
            } else {
                self.diagnosis.losses.missed(missed);
            }
            self.acknowledger.marks.arrived(ecn);
            if asks {
                self.acknowledger.asked(arrived);
            }
        }
        if let Some(at) = self.inbox.flush_at(now) {
            self.pace.due.release.get_or_insert(at);
        }
    }

    /// Releases only a few packets in the current turn, if [`Config::packets`](crate::Config::packets) is set.
    pub fn shorten_turn(&mut self, now: Instant) {
        self.inbox.shorten_turn(now);
    }

    /// Releases received segments of long packets, and packets that wait for their turn. It runs by timeout, at the
    /// same instant, so that a driver which hands in a batch of frames gets long packets for them. Returns the time
    /// when there is more to release.
    pub(super) fn release(&mut self, now: Instant) -> Option<Instant> {
        self.inbox.pass_turn(now);
        let (inbox, outputs, received) =
            (&mut self.inbox, &mut self.outputs, &mut self.stats.received);
        let goes_on = inbox.flush(&mut |packet| deliver(packet, outputs, received));
        let next = self.inbox.flush_at(now).filter(|_| goes_on);
        self.stats.received.turns_exhausted += u64::from(next.is_some());
        next
    }

    /// Takes in the data of a chunk in the frame with this number; returns false if there is no room for it.
    fn take_in(&mut self, number: u64, chunk: &Chunk<'_>) -> bool {
        let (inbox, outputs, received) =
            (&mut self.inbox, &mut self.outputs, &mut self.stats.received);
        let mut deliver = |packet| deliver(packet, outputs, received);
        let result = match *chunk {
            Chunk::Stream {
                flow,
                offset,
                end,
                bytes,
            } => inbox.stream(flow, offset, bytes, end, &mut deliver),
            Chunk::Brief {
                packet,
                offset,
                end,
                bytes,
                ..
            } => inbox.brief(packet, offset, bytes, end, &mut deliver),
            Chunk::Transport(bytes) => {
                received.packets += 1;
                received.bytes += bytes.len() as u64;
                outputs.push_back(Output::Transport(number, PacketBuffer::copy_of(bytes)));
                Ok(())
            }
            Chunk::Ack(_) | Chunk::Probe { .. } | Chunk::Padding(_) => Ok(()),
        };
        match result {
            Ok(()) => {}
            Err(Refused::Repeated) => received.chunks_repeated += 1,
            Err(Refused::Limit | Refused::Broken) => received.chunks_refused += 1,
        }
        result != Err(Refused::Limit)
    }
}

pub(super) fn deliver(
    packet: Packet,
    outputs: &mut VecDeque<Output>,
    received: &mut crate::ReceivedStats,
) {
    received.packets += 1;
    received.bytes += packet.len() as u64;
    outputs.push_back(Output::Packet(packet));
}
