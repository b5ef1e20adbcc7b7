//! Two endpoints with any number of connections between them; packets are handed over in order.

use std::collections::VecDeque;
use std::fmt::Debug;

use machine::{Machine, RandomStream};
use mtcp::{Addresses, Config, ConnectionId, Endpoint, Input, Output, Packet};
use redirector::{Chunks, Content, Count};
use units::{Duration, Instant};

/// Bytes that are written at a time.
const CHUNK: usize = 64 << 10;
/// Usual number of packets in flight.
const BETWEEN: usize = 256;

/// A stream without end, a chunk at a time.
pub(crate) trait Source: Content + Clone + Debug {
    /// Returns the next chunk.
    fn chunk() -> Self;
}

impl Source for Count {
    fn chunk() -> Self {
        Self(CHUNK as u64)
    }
}

impl Source for Chunks {
    fn chunk() -> Self {
        static ZEROS: [u8; CHUNK] = [0; CHUNK];
        Self::from(bytes::Bytes::from_static(&ZEROS))
    }
}

/// The endpoint that opens and sends, the other one, and the packets between them.
pub(crate) struct Pair<C> {
    ends: [Endpoint<C>; 2],
    now: Instant,
    between: VecDeque<(usize, Packet<C>)>,
    /// Number of packets with data that have crossed.
    data: u64,
    /// Bytes that the hop takes each time that it is free; if there is no limit, it takes everything.
    grant: Option<u64>,
}

impl<C: Source> Pair<C> {
    /// Returns `connections` connections that have not sent anything yet.
    pub(crate) fn connected(config: &Config, connections: u64, grant: Option<u64>) -> Self {
        let end = |name| {
            Endpoint::new(config.clone(), RandomStream::named(1, name)).expect("a configuration")
        };
        let mut pair = Self {
            ends: [end("gateway"), end("mobile")],
            now: Instant::ZERO,
            between: VecDeque::with_capacity(BETWEEN),
            data: 0,
            grant,
        };
        pair.input(0, Input::Room(grant.map_or(u64::MAX, |_| 0)));
        for number in 0..connections {
            let source = ([10, 0, 0, 2], number as u16).into();
            let addresses = Addresses::new(([10, 0, 0, 1], 80).into(), source);
            let addresses = addresses.expect("one family");
            pair.input(0, Input::Open { number, addresses });
        }
        pair
    }

    fn input(&mut self, end: usize, input: Input<C>) {
        self.ends[end].handle_input(self.now, input);
        while let Some(output) = self.ends[end].poll_output() {
            let answer = match output {
                Output::Packet(packet) => {
                    self.between.push_back((1 - end, packet));
                    continue;
                }
                Output::Arrived(id, _) => Input::Accept(id),
                Output::Readable(id, bytes) => Input::Read(id, bytes),
                Output::Writable(id @ ConnectionId::Opened(_), room)
                    if room >= CHUNK as u64 / 8 =>
                {
                    Input::Write(id, C::chunk())
                }
                _ => continue,
            };
            self.ends[end].handle_input(self.now, answer);
        }
        std::hint::black_box(self.ends[end].poll_timeout());
    }

    /// Returns the next packet on the way, or one that the free hop takes.
    fn next(&mut self) -> Option<(usize, Packet<C>)> {
        if self.between.is_empty()
            && let Some(grant) = self.grant
        {
            self.input(0, Input::Room(grant));
        }
        self.between.pop_front()
    }

    /// Hands packets over until `count` with data have crossed; every `lost`th of them does not arrive.
    pub(crate) fn exchange(&mut self, count: u64, lost: Option<u64>) {
        let end = self.data + count;
        while self.data < end {
            self.now += Duration::from_micros(100);
            let Some((to, packet)) = self.next() else {
                let timers = self.ends.each_ref().map(Endpoint::poll_timeout);
                let next = timers.into_iter().flatten().min().expect("a timer runs");
                self.now = next.max(self.now);
                for end in [0, 1] {
                    self.ends[end].handle_timeout(self.now);
                    self.input(end, Input::Damaged);
                }
                continue;
            };
            let data = carries_data(&packet);
            self.data += u64::from(data);
            if !data || lost.is_none_or(|lost| !self.data.is_multiple_of(lost)) {
                self.input(to, Input::Packet(packet));
            }
        }
    }
}

fn carries_data<C: Content>(packet: &Packet<C>) -> bool {
    matches!(packet, Packet::Data(data) if data.content.length() > 0)
}
