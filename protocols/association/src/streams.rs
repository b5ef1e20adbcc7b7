//! The streams of split TCP: they cross the hop as MTCP, in the plain lane, and never wait in a queue there.

use std::collections::VecDeque;

use bytes::Bytes;
use machine::{ConfigError, Machine, RandomStream};
use mtcp::{Endpoint, Packet};
use redirector::{Chunks, Content};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};
use wire::packet::{HEADROOM, PacketBuffer};

use crate::sending::{self, Sending};
use crate::{Profile, StreamId, StreamNews, StreamRequest};

/// Configuration of the streams of one association.
#[derive(Debug, Clone)]
pub struct StreamConfig {
    /// Profile that both ends agreed on.
    pub profile: Profile,
    /// Size of a connection's receive buffer and send buffer. A given size is fixed, and in the paper's profile at
    /// most 32,767 bytes of it count; without one, the wide profile grows the buffer as the hop and the application
    /// need it.
    pub receive_buffer: Option<units::Bytes>,
    /// Most connections at one time.
    pub connections: usize,
    /// True if this end keeps no timers for established connections, and leaves them to the other end.
    pub lean: bool,
    /// Source of connection names; others must not know it.
    pub random: RandomStream,
}

/// First and largest size of a growing receive buffer; least limit on all receive buffers of an association; largest
/// send buffer of a connection; and the paper's largest buffer.
const BUFFER_FIRST: units::Bytes = units::Bytes::kibi(32);
const BUFFER_MOST: units::Bytes = units::Bytes::mebi(16);
const BUFFERS_IN_ALL: units::Bytes = units::Bytes::mebi(64);
const SEND_BUFFER_MOST: units::Bytes = units::Bytes::mebi(16);
const PAPER_BUFFER: units::Bytes = units::Bytes::new(32_767);
/// Most memory of a connection beside its data.
const CONNECTION: units::Bytes = units::Bytes::kibi(4);
/// The packets of a usual hop, in bytes.
const PACKET: usize = 1_400;

/// Inputs of [`Streams`].
#[derive(Debug)]
pub(crate) enum Input {
    /// A request of the driver.
    Asked(StreamRequest<Chunks>),
    /// A packet has crossed the hop in the frame with this number.
    Arrived(u64, PacketBuffer),
    /// The lane takes this many bytes now.
    Room(u64),
}

/// Outputs of [`Streams`].
#[derive(Debug)]
pub(crate) enum Output {
    /// A packet to send across the hop.
    Cross(PacketBuffer),
    /// News for the driver.
    News(StreamNews<Chunks>),
}

/// Counters of streams, for the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamStatus {
    /// Profile of the streams.
    pub profile: Profile,
    /// Connections that exist, including those that only answer retransmissions.
    pub connections: usize,
    /// Counters since the peer began.
    pub counters: mtcp::Counters,
}

/// All connections with one other end.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) profile: Profile,
    pub(crate) endpoint: Endpoint<Chunks>,
    pub(crate) sending: Sending,
    /// Limit on their memory.
    most: units::Bytes,
    pub(crate) outputs: VecDeque<Output>,
    /// Length of the longest packet, and round-trip time, that were last reported to the endpoint.
    longest: u16,
    expected: Duration,
}

impl StreamConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// [`ConfigError`] if it is not valid.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.settings(PACKET).check()
    }

    fn settings(&self, packet: usize) -> mtcp::Config {
        let usual = match self.profile {
            Profile::Paper => mtcp::Config::paper(),
            Profile::Wide => mtcp::Config::wide(),
        };
        let auto = self.receive_buffer.is_none() && self.profile == Profile::Wide;
        let buffer = match (self.receive_buffer, self.profile) {
            (Some(buffer), _) => buffer,
            (None, Profile::Paper) => PAPER_BUFFER,
            (None, Profile::Wide) => BUFFER_MOST,
        };
        mtcp::Config {
            lean: self.lean,
            // In a fade the lane fills up, and takes nothing more.
            timing: mtcp::Timing {
                back_off: true,
                ..usual.timing
            },
            packet: u16::try_from(packet).unwrap_or(u16::MAX),
            send_buffer: buffer.min(SEND_BUFFER_MOST),
            receive_buffer: buffer,
            auto_buffer: auto.then(|| mtcp::AutoBuffer {
                start: BUFFER_FIRST,
                // All connections can begin, with as much again to grow.
                total: BUFFERS_IN_ALL.max(units::Bytes::new(
                    2 * BUFFER_FIRST.get() * self.connections as u64,
                )),
            }),
            limits: mtcp::Limits {
                connections: self.connections,
                // The driver chooses better which half-open connections to end.
                half_open: self.connections,
                ..usual.limits
            },
            ..usual
        }
    }
}

impl StreamConfig {
    /// Returns the limit on the memory of the streams.
    pub fn memory_most(&self) -> units::Bytes {
        self.memory(&self.settings(PACKET))
    }

    fn memory(&self, settings: &mtcp::Config) -> units::Bytes {
        let connections = self.connections as u64;
        let received = match &settings.auto_buffer {
            Some(auto) => auto.total.get(),
            None => settings.receive_buffer.get().saturating_mul(connections),
        };
        let each = CONNECTION.get() + sending::FIRST;
        units::Bytes::new(received.saturating_add(sending::IN_ALL + each * connections))
    }
}

impl Streams {
    /// Returns no streams yet, for packets of at most `packet` bytes.
    ///
    /// # Errors
    /// [`ConfigError`] if the configuration is not valid.
    pub(crate) fn new(config: StreamConfig, packet: usize) -> Result<Self, ConfigError> {
        let settings = config.settings(packet);
        Ok(Self {
            profile: config.profile,
            most: config.memory(&settings),
            sending: Sending::new(settings.send_buffer.get()),
            endpoint: Endpoint::new(settings, config.random)?,
            outputs: VecDeque::new(),
            longest: u16::MAX,
            expected: Duration::ZERO,
        })
    }

    /// Returns the bytes of memory held for connections, and their limit.
    pub(crate) fn memory(&self) -> (units::Bytes, units::Bytes) {
        (self.endpoint.memory(), self.most)
    }

    /// Sets the length of the longest packet that the hop carries.
    pub(crate) fn fit(&mut self, now: Instant, packet: usize) {
        let longest = u16::try_from(packet).unwrap_or(u16::MAX);
        if std::mem::replace(&mut self.longest, longest) != longest {
            let input = mtcp::Input::Longest(longest);
            self.endpoint.handle_input(now, input);
        }
    }

    /// Reports a round-trip time of the hop to the endpoint, if it changed by more than a quarter.
    pub(crate) fn expect(&mut self, now: Instant, round_trip: Duration) {
        let change = self.expected.abs_diff(round_trip);
        if change > self.expected / 4 {
            self.expected = round_trip;
            let input = mtcp::Input::RoundTrip(round_trip);
            self.endpoint.handle_input(now, input);
        }
    }

    pub(crate) fn status(&self) -> StreamStatus {
        StreamStatus {
            profile: self.profile,
            connections: self.endpoint.connections(),
            counters: self.endpoint.counters(),
        }
    }

    fn asked(&mut self, now: Instant, request: StreamRequest<Chunks>) {
        let input = match request {
            StreamRequest::Open { number, addresses } => mtcp::Input::Open { number, addresses },
            StreamRequest::Accept(id) => mtcp::Input::Accept(id),
            StreamRequest::Refuse(id, reason) => mtcp::Input::Refuse(id, reason),
            StreamRequest::Read(id, count) => mtcp::Input::Read(id, count),
            StreamRequest::Close(id) => mtcp::Input::Close(id),
            StreamRequest::Abort(id, reason) => {
                self.sending.forget(id);
                mtcp::Input::Abort(id, reason)
            }
            StreamRequest::Write(id, content) => {
                let count = content.length();
                let input = mtcp::Input::Write(id, content);
                self.endpoint.handle_input(now, input);
                let offer = self.sending.wrote(id, count);
                return self.offer(id, offer);
            }
        };
        self.endpoint.handle_input(now, input);
    }

    /// Reports to the driver the bytes that it may write.
    fn offer(&mut self, id: StreamId, offer: Option<u64>) {
        let writable = |room| Output::News(StreamNews::Writable(id, room));
        self.outputs.extend(offer.map(writable));
    }

    fn arrived(&mut self, now: Instant, number: u64, buffer: &[u8]) {
        let bytes = Bytes::copy_from_slice(buffer);
        let input = match Packet::parse(&bytes) {
            Ok(packet) => {
                let whole = bytes.clone();
                let packet = packet.map(|content| whole.slice_ref(content).into());
                mtcp::Input::Numbered(number, packet)
            }
            Err(_) => mtcp::Input::Damaged,
        };
        self.endpoint.handle_input(now, input);
    }

    fn drain(&mut self) {
        while let Some(output) = self.endpoint.poll_output() {
            let news = match output {
                mtcp::Output::Packet(packet) => {
                    self.outputs.push_back(Output::Cross(write(&packet)));
                    continue;
                }
                mtcp::Output::Writable(id, room) => {
                    let offer = self.sending.has_room(id, room);
                    self.offer(id, offer);
                    continue;
                }
                mtcp::Output::Closed(id) => {
                    self.sending.forget(id);
                    continue;
                }
                mtcp::Output::Reset(id, reason) => {
                    self.sending.forget(id);
                    StreamNews::Reset(id, reason)
                }
                mtcp::Output::Arrived(id, addresses) => StreamNews::Arrived(id, addresses),
                mtcp::Output::Connected(id) => StreamNews::Connected(id),
                mtcp::Output::Readable(id, count) => StreamNews::Readable(id, count),
                mtcp::Output::Data(id, content) => StreamNews::Data(id, content),
                mtcp::Output::Finished(id) => StreamNews::Finished(id),
            };
            self.outputs.push_back(Output::News(news));
        }
    }
}

impl Machine for Streams {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        match input {
            Input::Asked(input) => self.asked(now, input),
            Input::Arrived(number, buffer) => self.arrived(now, number, &buffer),
            Input::Room(bytes) => self.endpoint.handle_input(now, mtcp::Input::Room(bytes)),
        }
        self.drain();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
        self.drain();
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout()
    }
}

/// Returns the packet as it crosses the hop.
fn write(packet: &Packet<Chunks>) -> PacketBuffer {
    let length = packet.length();
    let mut buffer = PacketBuffer::with_room(HEADROOM + length, HEADROOM);
    packet.write(buffer.grow(length), |content, out| {
        let mut at = 0;
        for chunk in content.iter() {
            out[at..at + chunk.len()].copy_from_slice(chunk);
            at += chunk.len();
        }
        debug_assert_eq!(at as u64, content.length(), "all of the content");
    });
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every configuration that an operator may choose is valid.
    #[test]
    fn any_number_of_connections_is_acceptable() {
        for profile in [Profile::Paper, Profile::Wide] {
            for receive_buffer in [
                None,
                Some(units::Bytes::kibi(8)),
                Some(units::Bytes::mebi(32)),
            ] {
                for connections in [1, 2_048, 32_768] {
                    let random = RandomStream::named(1, "streams");
                    let config = StreamConfig {
                        profile,
                        receive_buffer,
                        connections,
                        lean: connections == 1,
                        random,
                    };
                    assert_eq!(
                        config.check(),
                        Ok(()),
                        "{profile:?} {receive_buffer:?} {connections}"
                    );
                }
            }
        }
    }

    /// Time of a packet on the hop.
    const WAY: Duration = Duration::from_millis(1);

    /// Two ends, joined by a hop with this delay.
    struct Ends {
        both: [Streams; 2],
        /// Packets on the way, with the time of their arrival and their receiver.
        on_the_way: VecDeque<(Instant, usize, PacketBuffer)>,
        frames: u64,
        /// True while the packets of the second end do not leave.
        is_silent: bool,
        /// Number of packets that the first end has sent.
        sent: u64,
        /// Number of bytes that the first end has received.
        received: u64,
    }

    impl Ends {
        /// Returns two ends with a stream that the first one has opened.
        fn connected() -> Self {
            let end = |seed| {
                let config = StreamConfig {
                    profile: Profile::Wide,
                    receive_buffer: None,
                    connections: 8,
                    lean: false,
                    random: RandomStream::named(seed, "streams"),
                };
                let mut end = Streams::new(config, PACKET).expect("a valid configuration");
                end.handle_input(Instant::ZERO, Input::Room(1 << 20));
                end
            };
            let mut ends = Self {
                both: [end(1), end(2)],
                on_the_way: VecDeque::new(),
                frames: 0,
                is_silent: false,
                sent: 0,
                received: 0,
            };
            let addresses =
                mtcp::Addresses::new(([192, 0, 2, 1], 80).into(), ([10, 9, 0, 2], 40_000).into());
            let addresses = addresses.expect("one family");
            let open = StreamRequest::Open {
                number: 0,
                addresses,
            };
            ends.both[0].handle_input(Instant::ZERO, Input::Asked(open));
            ends.run(Instant::ZERO, Instant::from_millis(500));
            ends
        }

        fn write(&mut self, now: Instant, count: usize) {
            let write =
                StreamRequest::Write(StreamId::Opened(0), Bytes::from(vec![7; count]).into());
            self.both[0].handle_input(now, Input::Asked(write));
        }

        /// Runs both ends from `now` until `end`.
        fn run(&mut self, mut now: Instant, end: Instant) {
            loop {
                self.drain(now);
                let arrival = self.on_the_way.front().map(|(at, ..)| *at);
                let timeouts = self.both.iter().filter_map(Machine::poll_timeout);
                now = match timeouts.chain(arrival).min() {
                    Some(next) if next <= end => next.max(now),
                    _ => return,
                };
                while let Some((_, to, packet)) =
                    self.on_the_way.pop_front_if(|(at, ..)| *at <= now)
                {
                    self.frames += 1;
                    self.both[to].handle_input(now, Input::Arrived(self.frames, packet));
                }
                for end in &mut self.both {
                    end.handle_timeout(now);
                }
            }
        }

        fn drain(&mut self, now: Instant) {
            for from in [0, 1, 0] {
                while let Some(output) = self.both[from].poll_output() {
                    match output {
                        Output::Cross(_) if from == 1 && self.is_silent => {}
                        Output::Cross(packet) => {
                            self.sent += u64::from(from == 0);
                            self.on_the_way.push_back((now + WAY, 1 - from, packet));
                        }
                        Output::News(StreamNews::Arrived(id, _)) => {
                            self.both[from]
                                .handle_input(now, Input::Asked(StreamRequest::Accept(id)));
                        }
                        Output::News(StreamNews::Readable(id, count)) => {
                            let read = StreamRequest::Read(id, count);
                            self.both[from].handle_input(now, Input::Asked(read));
                        }
                        Output::News(StreamNews::Data(_, content)) => {
                            self.received += content.length();
                        }
                        Output::News(_) => {}
                    }
                }
            }
        }
    }

    /// The hop takes each packet of an end whose other end cannot answer, as its own packets get no turn. So silence
    /// is no fade, and the longer it lasts, the longer the end waits before it repeats its packet once more.
    #[test]
    fn an_end_that_gets_no_answer_repeats_its_data_ever_more_seldom() {
        let mut ends = Ends::connected();
        let mut now = Instant::from_millis(500);
        ends.write(now, 50_000);
        ends.run(now, now + Duration::from_millis(500));
        assert_eq!(ends.received, 50_000);
        now = Instant::from_millis(1_000);
        ends.is_silent = true;
        let before = ends.sent;
        ends.write(now, 1_000);
        ends.run(now, now + Duration::from_secs(60));
        let repeated = ends.sent - before;
        // One each round trip would be 30,000.
        assert!((10..100).contains(&repeated), "{repeated}");
        // The end is found again in a quarter of the time that it was silent.
        now += Duration::from_secs(60);
        ends.is_silent = false;
        ends.write(now, 50_000);
        ends.run(now, now + Duration::from_secs(16));
        assert_eq!(ends.received, 101_000);
    }
}
