//! A TCP connection between the mobile host and a fixed host, through the pair.

use std::net::SocketAddrV4;

use machine::Machine;
use tcp::{Config, Connection, Counters, Endpoint, Input, Output};
use units::{Instant, SeqNumber};
use wire::TcpSegment;
use wire::checksum::fill_transport_checksum;
use wire::flow::FlowKey;
use wire::packet::{Checksum, Packet, PacketBuffer};

use crate::{GATEWAY, MOBILE};

const PLACES: [&str; 2] = ["10.9.0.2:5000", "192.0.2.1:80"];

/// The two ends, by the host that they stand behind, and what each has read.
pub struct Ends {
    endpoints: [Endpoint; 2],
    /// Port of the mobile host's end.
    port: u16,
    read: [u64; 2],
    finished: [bool; 2],
    /// Ends that gave the connection up, or saw the other one do so.
    pub reset: [bool; 2],
    /// Segments that came to each end with a closed window.
    pub closed: [u64; 2],
    /// Sender, and number of bytes.
    transfer: (usize, u64),
    /// Packets whose content was not what their place in the stream says, or that were no segments.
    pub wrong: u64,
    /// The longest packet that came.
    pub longest: usize,
}

impl Ends {
    /// Two ends of this kind that do not know each other yet.
    pub fn new(config: &Config) -> Self {
        Self::numbered(config, 0)
    }

    /// The same with other ports for each number.
    pub fn numbered(config: &Config, number: u16) -> Self {
        let place = |host: usize| -> SocketAddrV4 {
            let place: SocketAddrV4 = PLACES[host].parse().expect("an address");
            SocketAddrV4::new(*place.ip(), place.port() + number)
        };
        let connection = |host: usize| Connection {
            local: place(host),
            remote: place(1 - host),
            initial_sequence: SeqNumber(0xffff_0000 + host as u32),
        };
        let mobile = Endpoint::new(connection(MOBILE), config.clone());
        let fixed = Endpoint::listening(connection(GATEWAY), config.clone());
        Self {
            endpoints: [mobile, fixed].map(|end| end.expect("the configuration is right")),
            port: place(MOBILE).port(),
            read: [0; 2],
            finished: [false; 2],
            reset: [false; 2],
            closed: [0; 2],
            transfer: (MOBILE, 0),
            wrong: 0,
            longest: 0,
        }
    }

    /// The mobile host connects, and `host` sends `bytes` and closes.
    pub fn begin(&mut self, now: Instant, host: usize, bytes: u64) {
        self.endpoints[MOBILE].handle_input(now, Input::Connect);
        self.transfer = (host, bytes);
    }

    /// Returns true if a packet is of this connection.
    pub fn have(&self, packet: &Packet) -> bool {
        let flow = packet.ip().map(|ip| FlowKey::of(&ip));
        flow.is_some_and(|flow| [flow.source_port, flow.destination_port].contains(&self.port))
    }

    /// A packet has come to `host`.
    pub fn take(&mut self, now: Instant, host: usize, packet: &Packet) {
        self.longest = self.longest.max(packet.len());
        let mut bytes = packet.to_vec();
        if packet.checksum == Checksum::Partial {
            // As the kernel takes it.
            fill_transport_checksum(&mut bytes).expect("a packet");
        }
        match TcpSegment::parse(&bytes) {
            Ok((segment, true)) => {
                self.closed[host] += u64::from(segment.window == 0);
                self.endpoints[host].handle_input(now, Input::Segment(segment));
            }
            _ => self.wrong += 1,
        }
    }

    /// The next packet that an end sends, with the host behind which it stands.
    pub fn poll_packet(&mut self, now: Instant) -> Option<(usize, Packet)> {
        for host in [MOBILE, GATEWAY] {
            while let Some(output) = self.endpoints[host].poll_output() {
                match output {
                    Output::Segment(segment) => return Some((host, packet(&segment))),
                    Output::Readable(bytes) => {
                        self.read[host] += bytes;
                        self.endpoints[host].handle_input(now, Input::Read(bytes));
                    }
                    Output::Finished => self.finished[host] = true,
                    Output::Connected if self.transfer.0 == host => {
                        let end = &mut self.endpoints[host];
                        end.handle_input(now, Input::Write(self.transfer.1));
                        end.handle_input(now, Input::Close);
                    }
                    Output::Reset => self.reset[host] = true,
                    Output::Connected | Output::Writable(_) => {}
                }
            }
        }
        None
    }

    /// Acts at a deadline of either end.
    pub fn handle_timeout(&mut self, now: Instant) {
        for endpoint in &mut self.endpoints {
            endpoint.handle_timeout(now);
        }
    }

    /// Returns the time when an end acts next by itself.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let [mobile, fixed] = &self.endpoints;
        machine::earlier(mobile.poll_timeout(), fixed.poll_timeout())
    }

    /// Returns the bytes that `host` has read, and true if those were all.
    pub fn read(&self, host: usize) -> (u64, bool) {
        (self.read[host], self.finished[host])
    }

    /// Returns the counters of the end behind `host`.
    pub fn counters(&self, host: usize) -> Counters {
        self.endpoints[host].counters()
    }
}

fn packet(segment: &TcpSegment) -> Packet {
    let mut buffer = PacketBuffer::with_room(32 + segment.packet_length(), 32);
    segment.encode(buffer.grow(segment.packet_length()));
    Packet::new(buffer)
}
