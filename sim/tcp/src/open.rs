//! The handshake: segments that arrive before both ends know each other's numbers.

use units::SeqNumber;
use wire::TcpSegment;
use wire::tcp::{TcpFlags, TcpSegmentOptions};

use crate::{Endpoint, State};

/// Segment size of a SYN without the option (RFC 9293 §3.7.1), in bytes.
const DEFAULT_SEGMENT: u16 = 536;
/// Smallest segment size accepted; with less, segments would be mostly headers.
const LEAST_SEGMENT: u64 = 64;
/// Room that timestamps take in each segment, padding included, in bytes.
const TIMESTAMPS: u64 = 12;
/// Largest window scale (RFC 7323 §2.3).
const SCALE_MAX: u8 = 14;

impl Endpoint {
    /// Processes a segment for an end that has no connection.
    pub(crate) fn arrive_closed(&mut self, segment: &TcpSegment) {
        if segment.flags.contains(TcpFlags::RST) {
            return;
        }
        self.news.reply = Some(if segment.flags.contains(TcpFlags::ACK) {
            self.reset(segment.acknowledgment, None)
        } else {
            let end = segment.sequence + segment.sequence_length();
            self.reset(SeqNumber(0), Some(end))
        });
    }

    /// Processes a segment for an end that listens.
    pub(crate) fn arrive_listening(&mut self, segment: &TcpSegment) {
        if segment.flags.contains(TcpFlags::RST) {
            return;
        }
        if segment.flags.contains(TcpFlags::ACK) {
            let reset = self.reset(segment.acknowledgment, None);
            self.news.reply = Some(TcpSegment {
                destination: segment.source,
                ..reset
            });
        } else if segment.flags.contains(TcpFlags::SYN) {
            self.connection.remote = segment.source;
            self.synchronize(segment);
            self.enter(State::SynReceived);
        }
    }

    /// Processes a segment for an end that has sent its SYN.
    pub(crate) fn arrive_syn_sent(&mut self, segment: &TcpSegment) {
        let acknowledges = segment.flags.contains(TcpFlags::ACK);
        let ours = self.sender.numbers.number(1);
        let expected = self.sender.flight.end == 1 && segment.acknowledgment == ours;
        if acknowledges && !expected {
            if !segment.flags.contains(TcpFlags::RST) {
                self.news.reply = Some(self.reset(segment.acknowledgment, None));
            }
            return;
        }
        if segment.flags.contains(TcpFlags::RST) {
            if acknowledges {
                self.end(true);
            }
            return;
        }
        if !segment.flags.contains(TcpFlags::SYN) {
            return;
        }
        self.synchronize(segment);
        if acknowledges {
            self.acknowledge(segment);
        } else {
            // Both ends opened at once: the SYN is sent again, now with an acknowledgement.
            self.sender.flight.next = 0;
            self.enter(State::SynReceived);
        }
        self.take_data(segment);
    }

    /// Processes the peer's SYN and its options.
    fn synchronize(&mut self, segment: &TcpSegment) {
        let options = &segment.options;
        let config = &self.config;
        let theirs = options.maximum_segment_size.unwrap_or(DEFAULT_SEGMENT);
        let mut size = u64::from(theirs.min(config.maximum_segment_size));
        if let (true, Some(timestamps)) = (config.timestamps, options.timestamps) {
            self.agreed.timestamps = Some(timestamps.value);
            size = size.saturating_sub(TIMESTAMPS);
        }
        let size = size.max(LEAST_SEGMENT);
        let (mut ours, mut their_scale) = (0, 0);
        if let (true, Some(scale)) = (config.window_scaling, options.window_scale) {
            self.agreed.scaling = true;
            ours = own_scale(config.receive_buffer.get());
            their_scale = scale.min(SCALE_MAX);
        }
        self.receiver.synchronize(segment.sequence, size);
        let sack_permitted = options.sack_permitted;
        self.receiver.agreed(ours, sack_permitted);
        self.sender.agreed(size, their_scale);
        self.sender
            .set_window(segment.window.into(), segment.sequence);
    }

    /// Completes the handshake.
    pub(crate) fn establish(&mut self) {
        self.news.connected = true;
        self.news.writable = true;
        if self.state < State::Established {
            self.enter(State::Established);
        }
        if self.sender.is_closed() {
            self.enter(self.state.closed_here());
        }
    }

    /// Fills in the options of this end's SYN: in an answer to a SYN, only those that it offered.
    pub(crate) fn offer(&self, options: &mut TcpSegmentOptions) {
        let config = &self.config;
        let answers = self.receiver.is_synchronized();
        options.maximum_segment_size = Some(config.maximum_segment_size);
        if config.window_scaling && (!answers || self.agreed.scaling) {
            options.window_scale = Some(own_scale(config.receive_buffer.get()));
        }
        options.sack_permitted = config.recovery.policy.reads_sack();
        if config.timestamps && !answers {
            options.timestamps = Some(wire::tcp::Timestamps {
                value: self.clock.count() as u32,
                echo: 0,
            });
        }
    }
}

/// Returns the smallest scale with which a header can advertise the whole buffer.
fn own_scale(buffer: u64) -> u8 {
    (0..SCALE_MAX)
        .find(|scale| u16::try_from(buffer >> scale).is_ok())
        .unwrap_or(SCALE_MAX)
}
