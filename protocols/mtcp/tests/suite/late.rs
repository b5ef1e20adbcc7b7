//! Tests of streams on a hop that numbers its packets and keeps no order: packets come seconds late, as after a change
//! of route that leaves a long queue behind.

use std::collections::BTreeMap;

use bytes::Bytes;
use machine::{Machine, RandomStream, earlier};
use mtcp::{Addresses, Config, ConnectionId, Endpoint, Input, Output, Packet};
use redirector::Chunks;
use simulator::testing::{Clock, Next};
use units::{Duration, Instant};

/// Most bytes that wait for a path.
const QUEUE: u64 = 128 << 10;
const SENDER: usize = 0;
const LENGTH: usize = 400_000;
/// Time at which the connection is open; packets may come late from then on.
const OPENED: Instant = Instant::from_millis(100);
/// Time in which they may, and time in which the rest of the stream must arrive then.
const FAULTY: Duration = Duration::from_secs(40);
const HEALED: Duration = Duration::from_secs(120);

/// Delay of a packet of this length that is sent now, from this end; `None` if it is lost.
type Delay = Box<dyn FnMut(Instant, usize, usize) -> Option<Duration>>;

struct Hop {
    ends: [Endpoint<Chunks>; 2],
    clock: Clock<(usize, u64, Packet<Chunks>)>,
    delay: Delay,
    /// Number of packets that each end has sent.
    sent: [u64; 2],
    /// Streams that arrived at each end, and those that have ended.
    received: [Vec<u8>; 2],
    finished: [bool; 2],
    written: [usize; 2],
}

/// Returns the byte of a stream at `place`: its period is no power of two.
fn byte(place: usize) -> u8 {
    (place % 251) as u8 ^ (place / 65_536) as u8
}

impl Hop {
    fn new(config: &Config, delay: Delay) -> Self {
        let end = |name| {
            Endpoint::new(config.clone(), RandomStream::named(1, name)).expect("a configuration")
        };
        let mut hop = Self {
            ends: [end("sender"), end("receiver")],
            clock: Clock::new(Instant::ZERO),
            delay,
            sent: [0; 2],
            received: [Vec::new(), Vec::new()],
            finished: [false; 2],
            written: [0; 2],
        };
        let addresses = Addresses::new(([10, 0, 0, 1], 80).into(), ([10, 0, 0, 2], 4_000).into());
        let addresses = addresses.expect("one family");
        let number = 1;
        hop.input(SENDER, Input::Open { number, addresses });
        hop
    }

    fn input(&mut self, end: usize, input: Input<Chunks>) {
        let now = self.clock.now;
        self.ends[end].handle_input(now, input);
        while let Some(output) = self.ends[end].poll_output() {
            let answer = match output {
                Output::Packet(packet) => {
                    self.send(end, packet);
                    continue;
                }
                Output::Arrived(id, _) => Input::Accept(id),
                Output::Readable(id, bytes) => Input::Read(id, bytes),
                Output::Data(_, content) => {
                    self.receive(end, &content);
                    continue;
                }
                Output::Finished(_) => {
                    self.finished[end] = true;
                    continue;
                }
                Output::Connected(id) => self.write(end, id, 8_000),
                Output::Writable(id, room) => self.write(end, id, room as usize),
                Output::Reset(_, reason) => panic!("reset: {reason:?}"),
                Output::Closed(_) => continue,
            };
            self.ends[end].handle_input(now, answer);
        }
    }

    /// Returns the input that writes up to `room` bytes of the stream, or ends it.
    fn write(&mut self, end: usize, id: ConnectionId, room: usize) -> Input<Chunks> {
        let start = self.written[end];
        if start == LENGTH {
            return Input::Close(id);
        }
        self.written[end] = (start + room).min(LENGTH);
        let bytes: Vec<u8> = (start..self.written[end]).map(byte).collect();
        Input::Write(id, Chunks::from(Bytes::from(bytes)))
    }

    fn receive(&mut self, end: usize, content: &Chunks) {
        for chunk in content.iter() {
            for got in chunk {
                let place = self.received[end].len();
                assert_eq!(*got, byte(place), "byte {place} at {}", self.clock.now);
                self.received[end].push(*got);
            }
        }
    }

    fn send(&mut self, from: usize, packet: Packet<Chunks>) {
        self.sent[from] += 1;
        if let Some(delay) = (self.delay)(self.clock.now, from, packet.length()) {
            let arrival = (1 - from, self.sent[from], packet);
            self.clock.add_after(delay, arrival);
        }
    }

    fn run(&mut self, span: Duration) {
        let end = self.clock.now + span;
        loop {
            let timers = self.ends.each_ref().map(Endpoint::poll_timeout);
            match self.clock.advance(end, earlier(timers[0], timers[1])) {
                Next::Event((to, number, packet)) => {
                    self.input(to, Input::Numbered(number, packet));
                }
                Next::Deadline => {
                    for end in [0, 1] {
                        self.ends[end].handle_timeout(self.clock.now);
                        self.input(end, Input::Damaged);
                    }
                }
                Next::End => return,
            }
        }
    }

    fn assert_whole(&self, name: &str) {
        for end in [0, 1] {
            assert_eq!(self.received[end].len(), LENGTH, "{name}: end {end}");
            assert!(
                self.finished[end],
                "{name}: end {end} knows the end of the stream"
            );
        }
    }
}

/// Returns the paper's profile with the largest window that its numbers allow.
fn paper() -> Config {
    Config {
        packet: 1_187,
        send_buffer: units::Bytes::new(32_767),
        receive_buffer: units::Bytes::new(32_767),
        ..Config::paper()
    }
}

/// Returns the delays of paths of this many bytes per second: at each of `changes` the host changes to another one,
/// and what waits on the old one still arrives.
fn paths(rate: u64, changes: &'static [u64]) -> Delay {
    let mut free = BTreeMap::new();
    Box::new(move |now, from, length| {
        let path = changes
            .iter()
            .filter(|at| Instant::from_millis(**at) <= now)
            .count();
        let free = free.entry((from, path)).or_insert(now);
        *free = now.max(*free) + Duration::from_nanos((length as u64 + 100) * 1_000_000_000 / rate);
        let waits = free.since(now);
        if waits > Duration::from_secs(QUEUE / rate) {
            *free = now + Duration::from_secs(QUEUE / rate);
            return None;
        }
        Some(waits + Duration::from_millis(1))
    })
}

#[test]
fn what_waited_on_the_former_path_is_not_taken_for_new_data() {
    for rate in [8_000, 20_000, 100_000] {
        let mut hop = Hop::new(&paper(), paths(rate, &[1_110, 2_500, 6_000, 20_000]));
        hop.run(HEALED * 8);
        hop.assert_whole(&format!("{rate} bytes/s"));
    }
}

#[test]
fn packets_that_come_in_any_order_are_not_taken_for_others() {
    for seed in 0..60 {
        let wide = seed % 4 == 3;
        let config = if wide { Config::wide() } else { paper() };
        let mut random = RandomStream::named(seed, "late");
        let most = Duration::from_millis([20, 300, 1_000, 4_000][seed as usize / 4 % 4]);
        let late = random.next_u64() % 100;
        let delay = move |now, _, _| {
            if now < OPENED || now > OPENED + FAULTY {
                return Some(Duration::from_millis(1));
            }
            let is_late = random.next_u64() % 100 < late;
            let span = if is_late {
                most
            } else {
                Duration::from_millis(3)
            };
            let is_lost = random.next_u64().is_multiple_of(50);
            (!is_lost).then(|| random.uniform(Duration::ZERO, span))
        };
        let mut hop = Hop::new(&config, Box::new(delay));
        hop.run(FAULTY + HEALED);
        hop.assert_whole(&format!("seed {seed}"));
    }
}
