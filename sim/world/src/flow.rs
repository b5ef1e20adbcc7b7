//! TCP connections whose packets cross the hop: their ends, as kernels have them.

use std::net::{Ipv4Addr, SocketAddrV4};

use machine::Machine;
use tcp::{Config, Connection, Endpoint, Input, Output};
use units::{Bytes, Instant, SeqNumber};
use wire::TcpSegment;
use wire::checksum::fill_transport_checksum;
use wire::packet::{Checksum, Packet, PacketBuffer};
use wire::tcp::TcpFlags;

use crate::process::Identity;

/// Address of the fixed host.
pub(crate) const FIXED: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// One end of a connection and its application.
#[derive(Debug)]
struct End {
    endpoint: Endpoint,
    written: u64,
    received: u64,
    /// Bytes that have arrived and that the application has not read.
    unread: u64,
    reads: bool,
    has_closed: bool,
    has_finished: bool,
    is_reset: bool,
    /// Highest sequence number that it has acknowledged.
    acknowledged: Option<SeqNumber>,
}

impl End {
    fn acknowledges(&mut self, segment: &TcpSegment) {
        let own = &mut self.acknowledged;
        if segment.flags.contains(TcpFlags::ACK)
            && own.is_none_or(|own| own < segment.acknowledgment)
        {
            *own = Some(segment.acknowledgment);
        }
    }
}

/// A connection: its end at the mobile host, and its end at the fixed host.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Number of the mobile host.
    pub(crate) mobile: usize,
    ends: [End; 2],
    /// Side that opened it.
    opener: usize,
    has_begun: bool,
}

impl Flow {
    /// Returns a connection that `opener` opens, with a port that no other one has.
    pub(crate) fn new(mobile: usize, opener: usize, port: u16) -> Self {
        let address = Identity::Mobile(mobile).inner();
        let ports = if opener == 0 { [port, 80] } else { [22, port] };
        let places = [
            SocketAddrV4::new(address, ports[0]),
            SocketAddrV4::new(FIXED, ports[1]),
        ];
        let config = Config {
            send_buffer: Bytes::kibi(256),
            receive_buffer: Bytes::kibi(256),
            ..Config::modern()
        };
        let end = |side: usize| {
            let connection = Connection {
                local: places[side],
                remote: places[1 - side],
                initial_sequence: SeqNumber(u32::from(port) << 16 | side as u32),
            };
            let endpoint = if side == opener {
                Endpoint::new(connection, config.clone())
            } else {
                Endpoint::listening(connection, config.clone())
            };
            End {
                endpoint: endpoint.expect("a valid configuration"),
                written: 0,
                received: 0,
                unread: 0,
                reads: true,
                has_closed: false,
                has_finished: false,
                is_reset: false,
                acknowledged: None,
            }
        };
        Self {
            mobile,
            ends: [end(0), end(1)],
            opener,
            has_begun: false,
        }
    }

    pub(crate) fn open(&mut self, now: Instant) {
        self.has_begun = true;
        self.ends[self.opener]
            .endpoint
            .handle_input(now, Input::Connect);
    }

    pub(crate) fn write(&mut self, now: Instant, side: usize, count: u64) {
        let end = &mut self.ends[side];
        if !end.has_closed && !end.is_reset {
            end.written += count;
            end.endpoint.handle_input(now, Input::Write(count));
        }
    }

    pub(crate) fn finish(&mut self, now: Instant, side: usize) {
        let end = &mut self.ends[side];
        if !std::mem::replace(&mut end.has_closed, true) {
            end.endpoint.handle_input(now, Input::Close);
        }
    }

    pub(crate) fn reset(&mut self, now: Instant, side: usize) {
        let end = &mut self.ends[side];
        end.is_reset = true;
        end.endpoint.handle_input(now, Input::Abort);
    }

    pub(crate) fn set_reading(&mut self, now: Instant, side: usize, reads: bool) {
        let end = &mut self.ends[side];
        end.reads = reads;
        if reads {
            let unread = std::mem::take(&mut end.unread);
            end.endpoint.handle_input(now, Input::Read(unread));
        }
    }

    /// Handles a packet that arrived at a side; the error is a promise and a sentence.
    pub(crate) fn arrived(
        &mut self,
        now: Instant,
        side: usize,
        packet: &Packet,
    ) -> Result<(), (&'static str, String)> {
        let mut bytes = packet.to_vec();
        if packet.checksum == Checksum::Partial {
            // As the kernel takes it.
            let filled = fill_transport_checksum(&mut bytes);
            filled.map_err(|error| ("R1", error.to_string()))?;
        }
        match TcpSegment::parse(&bytes) {
            Ok((segment, true)) => {
                let own = self.ends[1 - side].acknowledged;
                let acknowledges =
                    segment.flags.contains(TcpFlags::ACK) && !segment.flags.contains(TcpFlags::RST);
                if acknowledges && own.is_none_or(|own| own < segment.acknowledgment) {
                    let text = format!("{} got an acknowledgement of no receiver", self.name());
                    return Err(("R2", text));
                }
                self.ends[side]
                    .endpoint
                    .handle_input(now, Input::Segment(segment));
                Ok(())
            }
            Ok((_, false)) => {
                let text = format!("a segment for {} arrived changed", self.name());
                Err(("R1", text))
            }
            Err(error) => Err(("R1", format!("{} got no segment: {error}", self.name()))),
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        for end in &mut self.ends {
            end.endpoint.handle_timeout(now);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let [mobile, fixed] = &self.ends;
        machine::earlier(
            mobile.endpoint.poll_timeout(),
            fixed.endpoint.poll_timeout(),
        )
    }

    /// Returns the next packet, with the side that sends it.
    pub(crate) fn poll_packet(&mut self, now: Instant) -> Option<(usize, Packet)> {
        for (side, end) in self.ends.iter_mut().enumerate() {
            while let Some(output) = end.endpoint.poll_output() {
                match output {
                    Output::Segment(segment) => {
                        end.acknowledges(&segment);
                        return Some((side, packet(&segment)));
                    }
                    Output::Readable(bytes) => {
                        end.received += bytes - std::mem::replace(&mut end.unread, bytes);
                        if end.reads {
                            end.unread = 0;
                            end.endpoint.handle_input(now, Input::Read(bytes));
                        }
                    }
                    Output::Finished => end.has_finished = true,
                    Output::Reset => end.is_reset = true,
                    Output::Connected | Output::Writable(_) => {}
                }
            }
        }
        None
    }

    /// Checks that no stream ends short (R1); the error is a sentence.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (reader, writer) in [
            (&self.ends[0], &self.ends[1]),
            (&self.ends[1], &self.ends[0]),
        ] {
            let (received, written) = (reader.received, writer.written);
            if received > written
                || (reader.has_finished && (!writer.has_closed || received < written))
            {
                let text = format!("{} ended after {received} of {written} bytes", self.name());
                return Err(text);
            }
        }
        Ok(())
    }

    /// Returns true if both directions are complete, or the connection was reset at a side.
    pub(crate) fn has_ended(&self) -> bool {
        let [mobile, fixed] = &self.ends;
        let is_whole = mobile.has_finished && fixed.has_finished;
        is_whole || mobile.is_reset || fixed.is_reset || !self.has_begun
    }

    /// Returns the bytes that have arrived at both sides.
    pub(crate) fn received(&self) -> u64 {
        self.ends.iter().map(|end| end.received).sum()
    }

    /// Returns the state of the connection in words.
    pub(crate) fn name(&self) -> String {
        let [mobile, fixed] = &self.ends;
        format!(
            "the connection of mobile {} (up {} of {}, down {} of {}, states {:?} and {:?})",
            self.mobile,
            fixed.received,
            mobile.written,
            mobile.received,
            fixed.written,
            mobile.endpoint.state(),
            fixed.endpoint.state()
        )
    }
}

fn packet(segment: &TcpSegment) -> Packet {
    let mut buffer = PacketBuffer::with_room(32 + segment.packet_length(), 32);
    segment.encode(buffer.grow(segment.packet_length()));
    Packet::new(buffer)
}
