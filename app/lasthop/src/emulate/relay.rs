//! The loop that drives a channel in real time between two packet devices.

use channel::{Channel, Direction, Input, Link, Output, PerDirection};
use edges::tun::PacketDevice;
use machine::Machine;
use units::{Bytes, Instant};
use wire::packet::Packet;

use super::clockwork::{BATCH, FRAME_HEADER, LinkClock, receive};
use super::error::RelayError;
use super::report::{DirectionReport, Report};

/// A link in real time between two devices. Time zero of the link is the creation of the relay.
pub(crate) struct Relay<D> {
    /// By the direction of their input: left feeds down and receives packets of up.
    devices: PerDirection<D>,
    channel: Channel<Packet>,
    clockwork: LinkClock,
    mtu: usize,
    refused: PerDirection<u64>,
    link: String,
    seed: u64,
}

impl<D: PacketDevice> Relay<D> {
    /// Starts to emulate `link` with `seed` between `devices`: the left one, the gateway's, is `devices.down`. No
    /// packet may exceed `mtu` bytes.
    pub(crate) fn new(
        link: &Link,
        seed: u64,
        devices: PerDirection<D>,
        mtu: usize,
    ) -> Result<Self, RelayError> {
        let clockwork = LinkClock::new()?;
        for direction in Direction::BOTH {
            clockwork.add(&devices[direction], token(direction))?;
        }
        Ok(Self {
            devices,
            channel: Channel::new(link, seed),
            clockwork,
            mtu,
            refused: PerDirection::default(),
            link: link.name().into(),
            seed,
        })
    }

    /// Returns its clockwork.
    pub(super) fn clockwork(&self) -> &LinkClock {
        &self.clockwork
    }

    /// Moves the waiting packets, then waits for more, for the next delivery, or for `limit` (by the monotonic clock).
    /// Returns true if the watched descriptor is readable.
    pub(crate) fn step(&mut self, limit: Option<Instant>) -> Result<bool, RelayError> {
        let now = self.clockwork.now();
        let mut more = false;
        for direction in Direction::BOTH {
            more |= self.take_in(direction, now)?;
        }
        self.channel.handle_timeout(now);
        while let Some(output) = self.channel.poll_output() {
            self.hand_out(output);
        }
        self.clockwork
            .wait(self.channel.poll_timeout(), limit, more)
    }

    /// Passes the packets of `direction` to the channel; returns true if there may be more.
    fn take_in(&mut self, direction: Direction, now: Instant) -> Result<bool, RelayError> {
        for _ in 0..BATCH {
            let device = &mut self.devices[direction];
            let Some(packet) = receive(device, side(direction), self.mtu)? else {
                return Ok(false);
            };
            let size = Bytes::from(packet.len() + FRAME_HEADER);
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
            Output::Deliver { direction, payload } => self.write(direction, payload),
            Output::DeliverCorrupted {
                direction,
                mut payload,
                flips,
            } => {
                payload.rewrite(|bytes| flips.apply(bytes));
                self.write(direction, payload);
            }
            Output::Drop { .. } | Output::State { .. } => {}
        }
    }

    fn write(&mut self, direction: Direction, mut packet: Packet) {
        // An interface that is down or full loses packets like any other; the loss is counted.
        if self.devices[direction.reverse()].send(&mut packet).is_err() {
            self.refused[direction] += 1;
        }
    }

    /// Returns the counters of the link so far, as the last report or an earlier one.
    pub(crate) fn report(&self, ended: bool) -> Report {
        let now = self.clockwork.now();
        let direction = |direction: Direction| {
            let good = self.channel.good_time(direction, Instant::ZERO, now);
            let share = good.as_secs_f64() / now.since_origin().as_secs_f64().max(1e-9);
            let counters = self.channel.counters(direction);
            DirectionReport::new(counters, self.refused[direction], share)
        };
        Report {
            link: self.link.clone(),
            seed: self.seed,
            origin_ns: self.clockwork.origin().as_nanos(),
            elapsed_ns: now.as_nanos(),
            ended,
            down: direction(Direction::Down),
            up: direction(Direction::Up),
            lateness: self.clockwork.lateness(),
        }
    }
}

const fn token(direction: Direction) -> u64 {
    match direction {
        Direction::Down => 0,
        Direction::Up => 1,
    }
}

/// Returns the side at which the packets of `direction` enter.
const fn side(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "left",
        Direction::Up => "right",
    }
}
