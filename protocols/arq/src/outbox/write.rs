//! The writers of content into a frame.

use units::Instant;
use wire::hop::FrameWriter;
use wire::packet::Packet;

use super::{Outbox, ROOM_MIN};
use crate::flow::{Ending, Flow};
use crate::inbox::HELD_MAX;
use crate::ledger::Content;
use crate::stats::SentStats;

impl Outbox {
    /// Writes the next content of a flow into `frame`; returns `None` if there is no room for it.
    pub(super) fn write(
        &mut self,
        now: Instant,
        slot: usize,
        frame: &mut FrameWriter,
        may_extend: bool,
        stats: &mut SentStats,
    ) -> Option<Content> {
        let flow = self.table.get(slot)?;
        let queued = flow.queued();
        let written = if flow.stream.is_some() {
            let span = &mut self.span;
            let how = (may_extend, self.fresh_first && may_extend);
            let write = |flow: &mut Flow| write_stream(slot, flow, frame, span, how, stats);
            self.table.change(slot, write).flatten()
        } else if flow.is_transport() {
            let packet = self.table.change(slot, Flow::dequeue).flatten();
            packet.map(|packet| write_transport(frame, &packet))
        } else {
            let brief = &mut self.brief;
            self.table.change(slot, |flow| {
                if let Some(packet) = flow.dequeue() {
                    brief.push(now, packet, flow.is_repaired());
                }
            });
            self.fill_brief(frame)
        };
        self.queued -= queued - self.table.get(slot).map_or(0, Flow::queued);
        written
    }
}

/// Writes a packet of the split transport.
fn write_transport(frame: &mut FrameWriter, packet: &Packet) -> Content {
    let bytes = &packet[..];
    frame.transport(bytes.len(), |out| out.copy_from_slice(bytes));
    Content::Transport(bytes.len() as u16)
}

/// Writes the next range of a held flow's stream; returns `None` if the frame has no room for it.
fn write_stream(
    slot: usize,
    flow: &mut Flow,
    frame: &mut FrameWriter,
    span: &mut u64,
    (may_extend, fresh): (bool, bool),
    stats: &mut SentStats,
) -> Option<Content> {
    let number = flow.stream.as_ref()?.number;
    let room = frame.stream_room(number);
    if room < ROOM_MIN {
        return None;
    }
    while may_extend
        && flow
            .stream
            .as_ref()
            .is_some_and(|s| !s.has_repairs(fresh) && s.unsent() < room as u64)
    {
        let Some(packet) = flow.dequeue() else { break };
        if let Some(stream) = &mut flow.stream {
            stream.push(packet);
        }
    }
    let ending = flow.ending == Some(Ending::Due);
    let stream = flow.stream.as_mut()?;
    let room_beyond = HELD_MAX.saturating_sub(*span).min(room as u64);
    let next = stream.next_range(room, fresh && room_beyond > 0);
    let repair = stream.has_sent(&next);
    let range = if repair {
        next
    } else {
        next.start..next.end.min(next.start + room_beyond)
    };
    let end = ending && range.end == stream.end();
    if end {
        flow.ending = Some(Ending::Sent);
    }
    let length = range.end - range.start;
    if repair {
        stats.bytes_repeated += length;
    }
    let before = stream.span();
    frame.stream(number, range.start, length as usize, end, |out| {
        stream.send(&range, out);
    });
    *span += stream.span() - before;
    Some(Content::Stream {
        slot,
        flow: number,
        range,
        end,
        again: repair,
    })
}
