//! One connection of the agent: data in both directions.

use planted::Bug;
use units::{Instant, SeqNumber};
use wire::tcp::{AirLoss, SeqRange, TcpFlags};

use crate::download::{DataPassage, Download, Passage};
use crate::effects::{Context, Effects};
use crate::segment::Revision;
use crate::upload::Upload;
use crate::{Header, Segment};

/// A connection.
#[derive(Debug)]
pub(crate) struct Flow<P> {
    download: Download<P>,
    upload: Upload,
    /// End of each side's stream, behind its FIN, once it was seen.
    fixed_end: Option<SeqNumber>,
    mobile_end: Option<SeqNumber>,
}

impl<P: Segment> Flow<P> {
    pub(crate) fn new() -> Self {
        Self {
            download: Download::new(),
            upload: Upload::new(),
            fixed_end: None,
            mobile_end: None,
        }
    }

    /// Returns the cost of the flow's cache, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.download.bytes()
    }

    /// Returns true if all data of `range` for the mobile host are cached.
    pub(crate) fn keeps(&self, range: SeqRange) -> bool {
        self.download.keeps(range)
    }

    /// Sends all cached data for the mobile host again.
    pub(crate) fn resume(&mut self, context: &Context<'_>, effects: &mut Effects<P>) {
        self.download.resume(context, effects);
    }

    /// Repeats the last segment for the mobile host.
    pub(crate) fn probe(&mut self, context: &Context<'_>, effects: &mut Effects<P>) {
        self.download.probe(context, effects);
    }

    /// Handles a segment from the fixed host.
    pub(crate) fn take_from_fixed(
        &mut self,
        context: &Context<'_>,
        packet: P,
        header: &Header,
        effects: &mut Effects<P>,
    ) {
        let synchronizes = header.flags.contains(TcpFlags::SYN);
        if synchronizes {
            self.download.synchronize(header);
            self.upload.answer_synchronized(context.now, header);
        }
        let mut passage = DataPassage::Forward;
        if !synchronizes && header.occupies() {
            passage = self.download.data(context, &packet, header, effects);
            if planted::is(Bug::AgentAcknowledges)
                && let Some(last) = self.download.last()
            {
                let acknowledgment = header.range().end;
                let own = Header {
                    acknowledgment,
                    ..last.repeated()
                };
                effects.send_to_fixed(P::acknowledgment(&own));
            }
        }
        if header.flags.contains(TcpFlags::FIN) {
            self.fixed_end = Some(header.range().end);
        }
        let mut revision = Revision::default();
        if header.flags.contains(TcpFlags::ACK) {
            if self.upload.is_news(header.acknowledgment) {
                passage = DataPassage::Forward;
            }
            revision.air_loss = self.upload.acknowledged(context, header);
            effects.counters.marked += u64::from(revision.air_loss.is_some());
        }
        if header.is_negative_acknowledgment() {
            // Only the agent requests repairs.
            revision.hide_cause = true;
            revision.air_loss = Some(AirLoss::None);
        }
        match (passage, self.download.last()) {
            (DataPassage::Answer, Some(last)) => {
                effects.counters.answered += 1;
                effects.send_to_fixed(P::acknowledgment(&last.repeated()));
            }
            _ => effects.send_to_mobile(revision.applied_to(packet), false),
        }
    }

    /// Handles a segment from the mobile host.
    pub(crate) fn take_from_mobile(
        &mut self,
        context: &Context<'_>,
        packet: P,
        header: &Header,
        effects: &mut Effects<P>,
    ) {
        let synchronizes = header.flags.contains(TcpFlags::SYN);
        if synchronizes {
            self.upload.synchronize(header);
            self.download.answer_synchronized(header);
        }
        if header.flags.contains(TcpFlags::FIN) {
            self.mobile_end = Some(header.range().end);
        }
        if !synchronizes && header.occupies() {
            self.upload.data(context, header, effects);
        }
        let mut passage = Passage::Forward(Revision::default());
        if header.flags.contains(TcpFlags::ACK) {
            self.upload.answered(context.now);
            passage = self.download.acknowledged(context, header, effects);
        }
        if let Passage::Forward(revision) = passage {
            effects.counters.marked += u64::from(revision.air_loss.is_some());
            effects.send_to_fixed(revision.applied_to(packet));
        }
    }

    /// Returns true if both ends have closed, and each has acknowledged the other's FIN.
    pub(crate) fn is_closed(&self) -> bool {
        let known = |end: Option<SeqNumber>, last: Option<&Header>| {
            end.zip(last)
                .is_some_and(|(end, last)| end <= last.acknowledgment)
        };
        known(self.fixed_end, self.download.last()) && known(self.mobile_end, self.upload.last())
    }

    pub(crate) fn deadline(&self, context: &Context<'_>) -> Option<Instant> {
        machine::earlier(self.download.deadline(), self.upload.deadline(context))
    }

    pub(crate) fn timeout(&mut self, context: &Context<'_>, effects: &mut Effects<P>) {
        self.download.timeout(context, effects);
        if self
            .upload
            .deadline(context)
            .is_some_and(|due| due <= context.now)
        {
            self.upload.ask(context, effects);
        }
    }
}
