//! The loop that drives one air between a gateway and several mobile hosts in real time.

use std::collections::BTreeMap;
use std::net::IpAddr;

use channel::shared::{Input, Output, SharedChannel};
use channel::{Direction, Link, PerDirection};
use edges::tun::PacketDevice;
use machine::Machine;
use units::{Bytes, Instant};
use wire::ip::{Ipv4View, Ipv6View};
use wire::packet::Packet;

use super::clockwork::{BATCH, FRAME_HEADER, LinkClock, receive};
use super::error::RelayError;
use super::report::{CellReport, DirectionReport, MobileReport};

/// Token of the gateway's device; a mobile host's is its number.
const LEFT: u64 = u64::MAX - 2;

/// Settings of a mobile host on the air.
pub(super) struct Member<D> {
    /// Name of its interface.
    pub(super) name: String,
    pub(super) device: D,
    /// Destinations of its packets; no other member has these.
    pub(super) addresses: Vec<IpAddr>,
    /// Link whose error model applies to it.
    pub(super) errors: Link,
}

/// One air in real time between the device of a gateway and those of mobile hosts.
pub(super) struct Cell<D> {
    left: D,
    members: Vec<Member<D>>,
    owners: BTreeMap<IpAddr, usize>,
    channel: SharedChannel<Packet>,
    clockwork: LinkClock,
    mtu: usize,
    refused: Vec<PerDirection<u64>>,
    unroutable: u64,
    link: String,
    seed: u64,
}

impl<D: PacketDevice> Cell<D> {
    /// Starts to emulate `link` with `seed` between `left`, the gateway's device, and `members`. No packet may exceed
    /// `mtu` bytes.
    pub(super) fn new(
        link: &Link,
        seed: u64,
        left: D,
        members: Vec<Member<D>>,
        mtu: usize,
    ) -> Result<Self, RelayError> {
        let clockwork = LinkClock::new()?;
        clockwork.add(&left, LEFT)?;
        let mut owners = BTreeMap::new();
        for (number, member) in members.iter().enumerate() {
            clockwork.add(&member.device, number as u64)?;
            owners.extend(member.addresses.iter().map(|address| (*address, number)));
        }
        let errors: Vec<_> = members.iter().map(|member| &member.errors).collect();
        Ok(Self {
            channel: SharedChannel::new(link, seed, &errors),
            refused: vec![PerDirection::default(); members.len()],
            left,
            members,
            owners,
            clockwork,
            mtu,
            unroutable: 0,
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
    pub(super) fn step(&mut self, limit: Option<Instant>) -> Result<bool, RelayError> {
        let now = self.clockwork.now();
        let mut more = false;
        for index in 0..self.clockwork.ready().len() {
            more |= match self.clockwork.ready()[index] {
                LEFT => self.take_down(now)?,
                mobile => self.take_up(now, mobile as usize)?,
            };
        }
        self.channel.handle_timeout(now);
        while let Some(output) = self.channel.poll_output() {
            self.hand_out(output);
        }
        let due = self.channel.poll_timeout();
        self.clockwork.wait(due, limit, more)
    }

    /// Takes packets of the gateway; returns true if there may be more.
    fn take_down(&mut self, now: Instant) -> Result<bool, RelayError> {
        for _ in 0..BATCH {
            let Some(packet) = receive(&mut self.left, "left", self.mtu)? else {
                return Ok(false);
            };
            match destination(&packet).and_then(|to| self.owners.get(&to)) {
                Some(&mobile) => self.offer(now, Direction::Down, mobile, packet),
                None => self.unroutable += 1,
            }
        }
        Ok(true)
    }

    /// Takes packets of a mobile host; returns true if there may be more.
    fn take_up(&mut self, now: Instant, mobile: usize) -> Result<bool, RelayError> {
        for _ in 0..BATCH {
            let device = &mut self.members[mobile].device;
            let Some(packet) = receive(device, "right", self.mtu)? else {
                return Ok(false);
            };
            self.offer(now, Direction::Up, mobile, packet);
        }
        Ok(true)
    }

    fn offer(&mut self, now: Instant, direction: Direction, mobile: usize, payload: Packet) {
        let size = Bytes::from(payload.len() + FRAME_HEADER);
        let input = Input {
            direction,
            mobile,
            size,
            payload,
        };
        self.channel.handle_input(now, input);
    }

    fn hand_out(&mut self, mut output: Output<Packet>) {
        if output.lost.is_some() {
            return;
        }
        let far = match output.direction {
            Direction::Down => &mut self.members[output.mobile].device,
            Direction::Up => &mut self.left,
        };
        // An interface that is down or full loses packets like any other; the loss is counted.
        if far.send(&mut output.payload).is_err() {
            self.refused[output.mobile][output.direction] += 1;
        }
    }

    /// Returns the counters of the air so far, as the last report or an earlier one.
    pub(super) fn report(&self, ended: bool) -> CellReport {
        let now = self.clockwork.now();
        CellReport {
            link: self.link.clone(),
            seed: self.seed,
            origin_ns: self.clockwork.origin().as_nanos(),
            elapsed_ns: now.as_nanos(),
            ended,
            unroutable_packets: self.unroutable,
            mobiles: (0..self.members.len())
                .map(|mobile| self.report_of(mobile, now))
                .collect(),
            lateness: self.clockwork.lateness(),
        }
    }

    fn report_of(&self, mobile: usize, now: Instant) -> MobileReport {
        let direction = |way: Direction| {
            let good = self.channel.good_time((way, mobile), Instant::ZERO, now);
            let share = good.as_secs_f64() / now.since_origin().as_secs_f64().max(1e-9);
            let counters = self.channel.counters(way, mobile);
            DirectionReport::new(counters, self.refused[mobile][way], share)
        };
        let airtime = |way| self.channel.airtime(way, mobile).as_secs_f64() * 1e3;
        let member = &self.members[mobile];
        MobileReport {
            device: member.name.clone(),
            errors: member.errors.name().into(),
            down: direction(Direction::Down),
            up: direction(Direction::Up),
            airtime_down_ms: airtime(Direction::Down),
            airtime_up_ms: airtime(Direction::Up),
        }
    }
}

/// Returns the destination of an IP packet, whose payload may be invalid.
fn destination(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = || Some(Ipv4View::parse(bytes).ok()?.destination().into());
    let v6 = || Some(Ipv6View::parse(bytes).ok()?.destination().into());
    v4().or_else(v6)
}
