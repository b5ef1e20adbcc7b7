//! Messages from the server.

use bytes::Bytes;
use units::{Duration, Instant};

use crate::message::{Reply, ReplyError, transaction};
use crate::{Class, Failure, Output, RoundTrip};

use super::Client;

/// Number of malformed replies to a call that are ignored; the next one ends the call. They may have been damaged on
/// their way. Linux: 2.
const MALFORMED_MAX: u32 = 2;

/// Limit of the reordering estimate: more replies to later calls always show a loss. No more calls are in flight.
const REORDERING_MAX: u32 = 1_024;

impl Client {
    /// Handles a datagram, or the next bytes of the stream.
    pub(super) fn receive(&mut self, now: Instant, bytes: &Bytes) {
        self.counters.received.bytes += bytes.len() as u64;
        let Some(stream) = &mut self.stream else {
            self.message(now, bytes);
            return;
        };
        if let Ok(records) = stream.read(now, bytes) {
            for record in &records {
                self.message(now, record);
            }
        } else {
            self.counters.received.broken_streams += 1;
            self.give_up_stream();
        }
    }

    fn message(&mut self, now: Instant, bytes: &Bytes) {
        self.counters.received.messages += 1;
        let reply = match Reply::parse(bytes) {
            Ok(reply) => reply,
            Err(error) => {
                self.malformed(now, bytes, error);
                return;
            }
        };
        if self.is_under_way(reply.xid) {
            if let Ok(results) = reply.outcome
                && self.is_cut(reply.xid, results)
            {
                self.counters.received.malformed += 1;
                if !self.is_believed_now(reply.xid) {
                    return;
                }
            }
            match reply.outcome {
                Ok(_) => self.counters.received.replies += 1,
                Err(_) => self.counters.received.refusals += 1,
            }
            let result = reply.outcome.map(|results| bytes.slice_ref(results));
            self.answered(now, reply.xid, result.map_err(Failure::from));
        } else if let Some(call) = self.recent.get_mut(reply.xid) {
            self.counters.received.late += 1;
            let (class, sample) = (call.class, call.doubtful.take());
            let overtaken_by = std::mem::take(&mut call.overtaken_by);
            // Two replies to two transmissions: the first reply answered the first.
            if let Some(sample) = sample {
                self.sample(class, sample);
                let learned = &mut self.learned[class.index()];
                let harmless = overtaken_by.saturating_mul(2).min(REORDERING_MAX);
                learned.reordering = learned.reordering.max(harmless);
            }
            self.heard(now);
        } else {
            self.counters.received.unknown += 1;
        }
    }

    fn is_under_way(&self, xid: u32) -> bool {
        let call = self.table.get(xid);
        call.is_some_and(|call| call.sent.is_some())
    }

    fn malformed(&mut self, now: Instant, bytes: &[u8], error: ReplyError) {
        self.counters.received.malformed += 1;
        let Some(xid) = transaction(bytes).filter(|xid| self.is_under_way(*xid)) else {
            return;
        };
        if self.is_believed_now(xid) {
            self.end(now, xid, Err(Failure::Malformed(error)));
            self.fill(now);
        }
    }

    /// Returns true if `results` fail the check of the call's results.
    fn is_cut(&self, xid: u32, results: &[u8]) -> bool {
        let call = self.table.get(xid);
        let check = call.zip(self.check);
        check.is_some_and(|(call, check)| !check(call.procedure, results))
    }

    /// Counts a malformed reply to a call. Returns true if it is accepted as the server's answer: at once over a
    /// stream, which damages nothing and where the call is not sent again, or after enough repetitions.
    fn is_believed_now(&mut self, xid: u32) -> bool {
        let Some(call) = self.table.get_mut(xid) else {
            return false;
        };
        call.doubts.malformed += 1;
        self.stream.is_some() || call.doubts.malformed > MALFORMED_MAX
    }

    /// Handles the reply to a call in flight.
    fn answered(&mut self, now: Instant, xid: u32, result: Result<Bytes, Failure>) {
        let Some((class, sent)) = self.table.get(xid).map(|call| (call.class, call.sent)) else {
            return;
        };
        if let Some(sent) = sent {
            let passed = self.link.passed(now);
            let elapsed = (passed - sent.worked_first).min(now.since(sent.first));
            let since_last = (passed - sent.worked_last).min(now.since(sent.last));
            if sent.count == 1 || self.shows_loss(class, since_last) {
                self.sample(class, since_last);
            }
            self.end(now, xid, result);
            if let Some(ended) = self.recent.get_mut(xid).filter(|_| sent.count == 2) {
                ended.doubtful = Some(elapsed);
            }
            self.heard(now);
            self.overtake(now, class, sent.first_place);
        }
        self.fill(now);
    }

    /// Returns true if the time from the last transmission to the reply shows that earlier transmissions were lost:
    /// it is as short as that of the fastest calls, so nothing queues on the way, and the reply answers the last
    /// transmission.
    fn shows_loss(&self, class: Class, since_last: Duration) -> bool {
        self.round_trip(class)
            .is_some_and(|known| known.is_fastest(since_last))
    }

    fn sample(&mut self, class: Class, sample: Duration) {
        let learned = &mut self.learned[class.index()];
        let round_trip = learned.round_trip;
        let updated = round_trip.map_or(RoundTrip::first(sample), |known| known.with(sample));
        learned.round_trip = Some(updated);
        learned.timeouts = 0;
    }

    fn heard(&mut self, now: Instant) {
        if let Some(after) = self.silence.heard(now) {
            self.outputs.push_back(Output::Answering { after });
            self.works_again(now, now - after);
        }
        if self.table.is_empty() {
            self.silence.idle();
        }
    }
}
