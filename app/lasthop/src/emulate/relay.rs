//! The loop that drives a channel in real time between two packet devices.

use std::io;
use std::os::fd::AsFd;

use channel::{Channel, Direction, Input, Link, Output, PerDirection};
use edges::clock;
use edges::tun::PacketDevice;
use edges::wait::{Interest, Waiter};
use machine::{Machine, earlier};
use thiserror::Error;
use units::{Bytes, Duration, Instant};
use wire::packet::Packet;

use super::alarm::Alarm;
use super::report::{DirectionReport, Lateness, Report};

/// What an Ethernet frame has before its IP packet; the frame check sequence is not counted.
const FRAME_HEADER: usize = 14;
/// How many packets are read from one device before deliveries are looked at again.
const BATCH: usize = 32;
const CONTROL: u64 = 2;

/// Why packets cannot be moved any more.
#[derive(Debug, Error)]
pub(crate) enum RelayError {
    /// A device handed over what the link cannot carry.
    #[error(
        "an interface handed over {bytes} bytes at once, above the link's MTU of {mtu}; turn its \
        segmentation offload off"
    )]
    AboveMtu {
        /// The packet's length.
        bytes: usize,
        /// The largest allowed.
        mtu: usize,
    },
    /// A device is gone.
    #[error("cannot read from the {side} interface: {source}")]
    Device {
        /// `left` or `right`.
        side: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The system cannot wait.
    #[error("cannot wait for packets: {0}")]
    Wait(#[from] io::Error),
}

/// A link in real time between two devices. Time zero of the link is when the relay was made.
pub(crate) struct Relay<D> {
    /// By the direction that they feed: left feeds down and receives what goes up.
    devices: PerDirection<D>,
    channel: Channel<Packet>,
    waiter: Waiter,
    origin: Instant,
    mtu: usize,
    refused: PerDirection<u64>,
    alarm: Alarm,
    link: String,
    seed: u64,
}

impl<D: PacketDevice> Relay<D> {
    /// Begins to emulate `link` with `seed` between `devices`: the left one, the gateway's, is
    /// `devices.down`. No packet may exceed `mtu` bytes.
    pub(crate) fn new(
        link: &Link,
        seed: u64,
        devices: PerDirection<D>,
        mtu: usize,
    ) -> Result<Self, RelayError> {
        let waiter = Waiter::new()?;
        for direction in Direction::BOTH {
            waiter.add(&devices[direction], token(direction), Interest::Readable)?;
        }
        Ok(Self {
            devices,
            channel: Channel::new(link, seed),
            waiter,
            origin: clock::monotonic(),
            mtu,
            refused: PerDirection::default(),
            alarm: Alarm::default(),
            link: link.name().into(),
            seed,
        })
    }

    /// Lets `descriptor`, when it is readable, end a [`step`](Self::step).
    pub(crate) fn watch(&self, descriptor: impl AsFd) -> Result<(), RelayError> {
        Ok(self.waiter.add(descriptor, CONTROL, Interest::Readable)?)
    }

    /// Time zero of the link, by the monotonic clock.
    pub(crate) fn origin(&self) -> Instant {
        self.origin
    }

    /// Moves what is there, then waits for more, for the next delivery, or for `limit` (by the
    /// monotonic clock). True if the watched descriptor is readable.
    pub(crate) fn step(&mut self, limit: Option<Instant>) -> Result<bool, RelayError> {
        let now = clock::monotonic() - self.origin.since_origin();
        let mut more = false;
        for direction in Direction::BOTH {
            more |= self.take_in(direction, now)?;
        }
        self.channel.handle_timeout(now);
        while let Some(output) = self.channel.poll_output() {
            self.hand_out(output);
        }
        let due = self
            .channel
            .poll_timeout()
            .map(|due| self.origin + due.since_origin());
        self.wait(due, limit, more)
    }

    /// Gives the channel what entered in `direction`; true if more may be there.
    fn take_in(&mut self, direction: Direction, now: Instant) -> Result<bool, RelayError> {
        for _ in 0..BATCH {
            let received = self.devices[direction].receive();
            let packet = received.map_err(|source| RelayError::Device {
                side: side(direction),
                source,
            })?;
            let Some(packet) = packet else {
                return Ok(false);
            };
            let bytes = packet.buffer.len();
            if bytes > self.mtu {
                return Err(RelayError::AboveMtu {
                    bytes,
                    mtu: self.mtu,
                });
            }
            let size = Bytes::from(bytes + FRAME_HEADER);
            self.channel.handle_input(
                now,
                Input::Send {
                    direction,
                    size,
                    payload: packet,
                },
            );
        }
        Ok(true)
    }

    fn hand_out(&mut self, output: Output<Packet>) {
        match output {
            Output::Deliver {
                direction,
                mut payload,
            } => {
                let far = direction.reverse();
                // An interface that is down or full loses packets like any other; it is counted.
                if self.devices[far].send(&mut payload).is_err() {
                    self.refused[direction] += 1;
                }
            }
            Output::Drop { .. } | Output::State { .. } => {}
        }
    }

    fn wait(
        &mut self,
        due: Option<Instant>,
        limit: Option<Instant>,
        more: bool,
    ) -> Result<bool, RelayError> {
        let end = earlier(due, limit);
        let timeout = match end {
            _ if more => Some(Duration::ZERO),
            Some(end) => Some(self.alarm.set(end)),
            None => None,
        };
        let (mut rang, mut signalled) = (true, false);
        for ready in self.waiter.wait(timeout)? {
            rang = false;
            signalled |= ready.token == CONTROL;
        }
        if let Some(end) = end.filter(|_| !more) {
            self.alarm.ring(end, rang);
        }
        Ok(signalled)
    }

    /// What the link has seen so far.
    pub(crate) fn report(&self) -> Report {
        let now = clock::monotonic() - self.origin.since_origin();
        let direction = |direction: Direction| {
            let good = self.channel.good_time(direction, Instant::ZERO, now);
            let share = good.as_secs_f64() / now.since_origin().as_secs_f64().max(1e-9);
            let counters = self.channel.counters(direction);
            DirectionReport::new(counters, self.refused[direction], share)
        };
        Report {
            link: self.link.clone(),
            seed: self.seed,
            origin_ns: self.origin.as_nanos(),
            elapsed_ns: now.as_nanos(),
            ended: false,
            down: direction(Direction::Down),
            up: direction(Direction::Up),
            lateness: self.lateness(),
        }
    }

    fn lateness(&self) -> Lateness {
        let sum = &self.alarm.lateness;
        let micros = |span: Duration| span.as_secs_f64() * 1e6;
        Lateness {
            deadlines: sum.deadlines,
            mean_us: micros(sum.total) / sum.deadlines.max(1) as f64,
            worst_us: micros(sum.worst),
            over_2_ms: sum.too_late,
        }
    }
}

const fn token(direction: Direction) -> u64 {
    match direction {
        Direction::Down => 0,
        Direction::Up => 1,
    }
}

/// Where the packets of `direction` enter.
const fn side(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "left",
        Direction::Up => "right",
    }
}
