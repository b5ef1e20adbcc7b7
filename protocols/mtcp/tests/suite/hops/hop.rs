//! One transfer over a hop in virtual time, on which bits and time change the state of the channel.

use std::collections::VecDeque;

use machine::{Machine, RandomStream, earlier};
use mtcp::{Addresses, Config, ConnectionId, Counters, Endpoint, Input, Output, Packet};
use redirector::{Content, Count};
use units::{BitRate, Bytes, Duration, Instant};

/// Framing of a packet, in bytes: an Ethernet header.
const FRAMING: usize = 14;

/// Properties of the air.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hop {
    pub(crate) rate: BitRate,
    /// One-way delay.
    pub(crate) delay: Duration,
    /// True if both directions share the air.
    pub(crate) half_duplex: bool,
    /// Mean number of bits to the next bad state, and in it (Haas and Warkhedi 2000).
    pub(crate) bits: Option<[u64; 2]>,
    /// Mean time between fades, and mean duration of a fade; both directions fade at once.
    pub(crate) fades: Option<[Duration; 2]>,
    /// Data packets of ten thousand that are lost, independently of each other.
    pub(crate) independent: u64,
}

impl Hop {
    pub(crate) fn clean(rate: BitRate, delay: Duration) -> Self {
        Self {
            rate,
            delay,
            half_duplex: false,
            bits: None,
            fades: None,
            independent: 0,
        }
    }

    fn airtime(&self, bytes: usize) -> Duration {
        self.rate.time_for(Bytes::from(bytes + FRAMING))
    }

    /// Returns the time from a full packet's start to the end of its acknowledgement.
    pub(crate) fn round_trip(&self, config: &Config) -> Duration {
        let acknowledgment = config.profile.header_length();
        let packet = self.airtime(config.packet.into());
        // On a shared air the acknowledgement waits until the next packet has crossed.
        let wait = if self.half_duplex {
            packet
        } else {
            Duration::ZERO
        };
        self.delay * 2 + packet + wait + self.airtime(acknowledgment)
    }

    /// Returns `count` bandwidth-delay products.
    pub(crate) fn products(&self, count: u64, config: &Config) -> Bytes {
        let nanos = u128::from(self.round_trip(config).as_nanos());
        let bits = u128::from(self.rate.bits_per_second()) * nanos / 1_000_000_000;
        Bytes::new(bits as u64 / 8 * count)
    }
}

/// A state that changes after a random number of units.
struct Chain {
    means: [u64; 2],
    bad: bool,
    left: u64,
    random: RandomStream,
    /// Number of bad states so far, and units in them.
    periods: u64,
    bad_units: u64,
}

impl Chain {
    fn new(means: [u64; 2], mut random: RandomStream) -> Self {
        let left = random.exponential(means[0]).max(1);
        Self {
            means,
            bad: false,
            left,
            random,
            periods: 0,
            bad_units: 0,
        }
    }

    /// Advances by `units`. Returns true if any unit was bad.
    fn pass(&mut self, mut units: u64) -> bool {
        let mut met = self.bad;
        while units >= self.left {
            units -= self.left;
            self.bad_units += if self.bad { self.left } else { 0 };
            self.bad = !self.bad;
            self.periods += u64::from(self.bad);
            met |= self.bad && units > 0;
            let mean = self.means[usize::from(self.bad)];
            self.left = self.random.exponential(mean).max(1);
        }
        self.bad_units += if self.bad { units } else { 0 };
        self.left -= units;
        met
    }
}

/// Result of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    /// Bytes of data that arrived in order.
    pub(crate) bytes: u64,
    pub(crate) span: Duration,
    /// Number of data packets sent, and of the lost ones.
    pub(crate) packets: u64,
    pub(crate) lost: u64,
    /// Number of fades, and the time in them.
    pub(crate) fades: u64,
    pub(crate) faded: Duration,
    /// Largest window that the receiver announced, in bytes.
    pub(crate) window: u64,
    pub(crate) sender: Counters,
}

impl Outcome {
    /// Returns the bytes per second.
    pub(crate) fn rate(&self) -> f64 {
        self.bytes as f64 / self.span.as_secs_f64()
    }

    /// Returns the share of data packets that were lost.
    pub(crate) fn loss(&self) -> f64 {
        self.lost as f64 / self.packets.max(1) as f64
    }
}

/// The sender is end 0.
pub(crate) struct Run {
    hop: Hop,
    ends: [Endpoint<Count>; 2],
    now: Instant,
    queues: [VecDeque<Packet<Count>>; 2],
    /// Time until which each end sends; on a shared air, until which the sending end does.
    busy: [Instant; 2],
    /// Index of the end that sent last.
    turn: usize,
    arrivals: VecDeque<(Instant, usize, Packet<Count>)>,
    chains: [Option<Chain>; 2],
    fades: Option<Chain>,
    faded_to: Instant,
    random: RandomStream,
    received: u64,
    packets: u64,
    lost: u64,
    shift: u32,
    window: u64,
}

const CONNECTION: ConnectionId = ConnectionId::Opened(1);

impl Run {
    pub(crate) fn new(hop: Hop, config: &Config, seed: u64) -> Self {
        let end = |name| {
            let random = RandomStream::named(seed, name);
            Endpoint::new(config.clone(), random).expect("a configuration")
        };
        let chain = |name| {
            hop.bits
                .map(|means| Chain::new(means, RandomStream::named(seed, name)))
        };
        let nanos = |span: [Duration; 2]| span.map(Duration::as_nanos);
        Self {
            hop,
            ends: [end("gateway"), end("mobile")],
            now: Instant::ZERO,
            queues: [VecDeque::new(), VecDeque::new()],
            busy: [Instant::ZERO; 2],
            turn: 0,
            arrivals: VecDeque::new(),
            chains: [chain("down"), chain("up")],
            fades: hop
                .fades
                .map(|span| Chain::new(nanos(span), RandomStream::named(seed, "fades"))),
            faded_to: Instant::ZERO,
            random: RandomStream::named(seed, "losses"),
            received: 0,
            packets: 0,
            lost: 0,
            shift: config
                .profile
                .window_shift(config.receive_buffer.get() as u32),
            window: 0,
        }
    }

    /// Runs a transfer without end; bytes that arrive in the time after `warm_up` count.
    pub(crate) fn transfer(mut self, warm_up: Duration, span: Duration) -> Outcome {
        let ends = [([10, 0, 0, 1], 80).into(), ([10, 0, 0, 2], 4_000).into()];
        let addresses = Addresses::new(ends[0], ends[1]).expect("one family");
        for end in [0, 1] {
            self.input(end, Input::Room(0));
        }
        self.input(
            0,
            Input::Open {
                number: 1,
                addresses,
            },
        );
        self.input(0, Input::Write(CONNECTION, Count(1 << 40)));
        self.run(Instant::ZERO + warm_up);
        let before = (self.received, self.packets, self.lost);
        self.run(Instant::ZERO + warm_up + span);
        Outcome {
            bytes: self.received - before.0,
            span,
            packets: self.packets - before.1,
            lost: self.lost - before.2,
            fades: self.fades.as_ref().map_or(0, |chain| chain.periods),
            faded: Duration::from_nanos(self.fades.as_ref().map_or(0, |chain| chain.bad_units)),
            window: self.window,
            sender: self.ends[0].counters(),
        }
    }

    fn input(&mut self, end: usize, input: Input<Count>) {
        self.ends[end].handle_input(self.now, input);
        self.drain(end);
    }

    fn drain(&mut self, end: usize) {
        while let Some(output) = self.ends[end].poll_output() {
            let answer = match output {
                Output::Packet(packet) => {
                    self.queues[end].push_back(packet);
                    continue;
                }
                Output::Arrived(id, _) => Input::Accept(id),
                Output::Readable(id, bytes) => Input::Read(id, bytes),
                Output::Data(_, Count(bytes)) => {
                    self.received += bytes;
                    continue;
                }
                _ => continue,
            };
            self.ends[end].handle_input(self.now, answer);
        }
    }

    fn run(&mut self, end: Instant) {
        loop {
            self.send();
            let timers = earlier(self.ends[0].poll_timeout(), self.ends[1].poll_timeout());
            let arrival = self.arrivals.front().map(|(at, ..)| *at);
            let free = self.busy.into_iter().filter(|at| *at > self.now).min();
            let next = earlier(earlier(timers, arrival), free);
            let Some(next) = next.filter(|next| *next <= end) else {
                self.now = end;
                return;
            };
            self.now = next.max(self.now);
            while let Some((_, to, packet)) = self.arrivals.pop_front_if(|(at, ..)| *at <= self.now)
            {
                self.input(to, Input::Packet(packet));
            }
            for end in [0, 1] {
                if self.ends[end]
                    .poll_timeout()
                    .is_some_and(|at| at <= self.now)
                {
                    self.ends[end].handle_timeout(self.now);
                    self.drain(end);
                }
            }
        }
    }

    /// Sends packets on the free air; an end is polled for data only when it is free.
    fn send(&mut self) {
        for from in [1 - self.turn, self.turn] {
            let busy = if self.hop.half_duplex {
                self.busy[0].max(self.busy[1])
            } else {
                self.busy[from]
            };
            if busy > self.now {
                continue;
            }
            if self.queues[from].is_empty() {
                self.input(from, Input::Room(1));
                self.input(from, Input::Room(0));
            }
            if let Some(packet) = self.queues[from].pop_front() {
                self.turn = from;
                self.transmit(from, packet);
            }
        }
    }

    fn transmit(&mut self, from: usize, packet: Packet<Count>) {
        let length = packet.length();
        let data = matches!(&packet, Packet::Data(data) if data.content.length() > 0);
        if let Packet::Data(data) = &packet
            && from == 1
        {
            self.window = self.window.max(u64::from(data.window) << self.shift);
        }
        let sent = self.now + self.hop.airtime(length);
        let bits = 8 * (length + FRAMING) as u64;
        let mut lost = self.chains[from]
            .as_mut()
            .is_some_and(|chain| chain.pass(bits));
        if let Some(fades) = &mut self.fades {
            fades.pass(self.now.since(self.faded_to).as_nanos());
            lost |= fades.pass(sent.since(self.now).as_nanos());
            self.faded_to = sent;
        }
        lost |= data && self.random.below(10_000) < self.hop.independent;
        self.busy[from] = sent;
        self.packets += u64::from(data);
        self.lost += u64::from(data && lost);
        if !lost {
            let at = sent + self.hop.delay;
            let place = self.arrivals.partition_point(|(other, ..)| *other <= at);
            self.arrivals.insert(place, (at, 1 - from, packet));
        }
    }
}
