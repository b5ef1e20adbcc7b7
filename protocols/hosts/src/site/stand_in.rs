//! A gateway that stands in for the home of its guests while that is silent: their new connections leave here.

use std::collections::BTreeMap;
use std::net::IpAddr;

use units::{Duration, Instant};
use wire::flow::FlowKey;
use wire::ip::{Protocol, Transport};
use wire::packet::Packet;

use super::{Watch, WatchStep};
use crate::route::Routes;

/// Time between two questions to a home that is silent.
const ASK_SILENT: Duration = Duration::from_secs(1);
/// Most flows of a guest that leave here.
const FLOWS_MOST: usize = 1_024;
/// Time without a packet after which a flow has ended: that of a connection (RFC 5382, section 5), and of all others
/// (RFC 4787, section 4.3).
const IDLE_TCP: Duration = Duration::from_secs(7_440);
const IDLE: Duration = Duration::from_secs(300);

/// The homes of this gateway's guests, as far as they are watched.
#[derive(Debug, Default)]
pub(crate) struct Homes {
    /// True if this gateway stands in for them.
    pub(crate) stands_in: bool,
    watches: BTreeMap<usize, HomeWatch>,
}

/// The watch on a home.
#[derive(Debug, Default)]
struct HomeWatch {
    watch: Watch,
    /// Time of the latest datagram to it, and from it.
    sent: Instant,
    heard: Instant,
    is_silent: bool,
    /// True if a guest is served here because of that.
    stands_in: bool,
    /// True if it has revoked this gateway.
    has_dismissed: bool,
}

impl HomeWatch {
    /// Returns the time from which its silence is remarkable, if something is expected of it.
    fn expected(&self) -> Option<Instant> {
        (self.sent >= self.heard).then(|| self.heard + Watch::QUIET)
    }
}

/// A step of the watch on a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HomeStep {
    /// It has sent something just now.
    Wait,
    /// It is asked for a sign of life.
    Ask,
    /// It is asked, and is taken for silent from now on.
    FallsSilent,
}

impl Homes {
    /// Notes a datagram to a home, which should answer; returns the time of the next step, if there was none before.
    pub(crate) fn sent(&mut self, now: Instant, home: usize) -> Option<Instant> {
        if !self.stands_in {
            return None;
        }
        let home = self.watches.entry(home).or_default();
        home.sent = now;
        if home.watch.due().is_some() {
            return None;
        }
        home.watch.rest(home.expected().map(|at| at.max(now)));
        home.watch.due()
    }

    /// Notes a sign of life of a home; returns true if a guest was served here because it had been silent.
    pub(crate) fn heard(&mut self, now: Instant, home: usize) -> bool {
        let Some(home) = self.watches.get_mut(&home) else {
            return false;
        };
        home.heard = now;
        if home.watch.is_asking() || home.is_silent {
            home.watch.answered();
        }
        (home.is_silent, home.has_dismissed) = (false, false);
        std::mem::take(&mut home.stands_in)
    }

    /// Notes that a home has revoked this gateway.
    pub(crate) fn dismissed(&mut self, home: usize) {
        if self.stands_in {
            self.watches.entry(home).or_default().has_dismissed = true;
        }
    }

    /// Takes a home that has said goodbye for silent, unless it has revoked this gateway; returns true if it is.
    pub(crate) fn has_left(&mut self, home: usize) -> bool {
        if self.stands_in {
            let home = self.watches.entry(home).or_default();
            home.is_silent |= !home.has_dismissed;
        }
        self.is_silent(home)
    }

    /// Notes that a guest is served here because its home is silent; returns true if it is the first one.
    pub(crate) fn stand_in(&mut self, home: usize) -> bool {
        let watch = self.watches.get_mut(&home);
        watch.is_some_and(|watch| !std::mem::replace(&mut watch.stands_in, true))
    }

    /// Ends the watch on a home that has no guest here.
    pub(crate) fn rest(&mut self, home: usize) {
        self.watches
            .retain(|known, watch| *known != home || watch.has_dismissed);
    }

    /// Forgets a home, which is no peer any more.
    pub(crate) fn forget(&mut self, home: usize) {
        self.watches.remove(&home);
    }

    /// Returns true if a home is silent.
    pub(crate) fn is_silent(&self, home: usize) -> bool {
        self.watches.get(&home).is_some_and(|home| home.is_silent)
    }

    /// Returns the step that is due for a home with this round trip, and the time of the next one.
    pub(crate) fn step(
        &mut self,
        now: Instant,
        home: usize,
        round_trip: Duration,
    ) -> Option<(HomeStep, Option<Instant>)> {
        let home = self.watches.get_mut(&home)?;
        if !home.watch.is_asking() && home.expected().is_none_or(|at| at > now) {
            home.watch.rest(home.expected());
            return Some((HomeStep::Wait, home.watch.due()));
        }
        let is_over = home.watch.step(now, round_trip)? == WatchStep::Move;
        let falls_silent = is_over && !home.is_silent && !home.has_dismissed;
        home.is_silent |= falls_silent;
        if home.is_silent {
            home.watch.rest(Some(now + ASK_SILENT));
        }
        let step = if falls_silent {
            HomeStep::FallsSilent
        } else {
            HomeStep::Ask
        };
        Some((step, home.watch.due()))
    }
}

/// Flows of a guest that leave at the gateway which stands in for its home. They stay there when the home is back, as
/// other hosts know them by this gateway's address.
#[derive(Debug, Default)]
pub(crate) struct Exits {
    /// Inner addresses for which the system of this gateway is ready.
    open: Routes,
    flows: BTreeMap<FlowKey, Instant>,
}

impl Exits {
    /// Notes that the system is ready for these inner addresses, each with a prefix length in bits.
    pub(crate) fn open(&mut self, prefixes: &[(IpAddr, u8)]) {
        for (network, length) in prefixes {
            self.open.add(*network, *length, 0);
        }
    }

    /// Returns true if a packet leaves here: its flow does, or begins with this packet and `may_begin` here. A
    /// connection that began elsewhere must not: its other end would reset it, as it would come from another address.
    pub(crate) fn lead(&mut self, now: Instant, packet: &Packet, may_begin: bool) -> bool {
        let Some(ip) = packet.ip() else { return false };
        if self.open.owner(ip.source()).is_none() {
            return false;
        }
        let flow = FlowKey::of(&ip);
        let used = self.flows.get_mut(&flow);
        if let Some(used) = used.filter(|used| now.since(**used) < idle(&flow)) {
            *used = now;
            return true;
        }
        let begins = match ip.transport() {
            Transport::Tcp(tcp) => tcp.asks_for_connection(),
            _ => flow.protocol != Protocol::TCP,
        };
        let leads = may_begin && begins;
        if leads {
            self.make_room();
            self.flows.insert(flow, now);
        }
        leads
    }

    /// Forgets the flow that was idle for the longest time, if there are too many.
    fn make_room(&mut self) {
        if self.flows.len() >= FLOWS_MOST {
            let oldest = self.flows.iter().min_by_key(|(_, used)| **used);
            if let Some(flow) = oldest.map(|(flow, _)| *flow) {
                self.flows.remove(&flow);
            }
        }
    }
}

fn idle(flow: &FlowKey) -> Duration {
    if flow.protocol == Protocol::TCP {
        IDLE_TCP
    } else {
        IDLE
    }
}

#[cfg(test)]
mod tests {
    use wire::packet::PacketBuffer;

    use super::*;

    const UDP: u8 = 17;
    const TCP: u8 = 6;
    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;

    /// Returns a packet of a flow with this number, and with these flags if it is one of TCP.
    fn packet(protocol: u8, number: u16, flags: u8) -> Packet {
        let mut bytes = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, protocol, 0, 0];
        bytes.extend([10, 9, 0, 2, 192, 0, 2, 1]);
        bytes.extend(number.to_be_bytes());
        // The length of a datagram of UDP, and the data offset and flags of TCP.
        bytes.extend([
            0, 53, 0, 20, 0, 0, 0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0,
        ]);
        Packet::new(PacketBuffer::copy_of(&bytes))
    }

    /// Returns exits for which the system is ready.
    fn exits() -> Exits {
        let mut exits = Exits::default();
        exits.open(&[(IpAddr::from([10, 9, 0, 2]), 32)]);
        exits
    }

    #[test]
    fn a_flow_leaves_where_it_began() {
        let (mut exits, now) = (exits(), Instant::from_millis(1));
        assert!(!Exits::default().lead(now, &packet(UDP, 1, 0), true));
        for (protocol, flags, begins) in [(UDP, 0, true), (TCP, SYN, true), (TCP, ACK, false)] {
            let number = 1 + u16::from(flags);
            let packet = packet(protocol, number, flags);
            assert!(!exits.lead(now, &packet, false));
            assert_eq!(exits.lead(now, &packet, true), begins, "{protocol} {flags}");
            assert_eq!(
                exits.lead(now, &packet, false),
                begins,
                "{protocol} {flags}"
            );
        }
        let later = now + IDLE;
        assert!(!exits.lead(later, &packet(UDP, 1, 0), false));
        assert!(exits.lead(later, &packet(TCP, 1 + u16::from(SYN), ACK), false));
    }

    #[test]
    fn the_flow_that_was_idle_for_longest_makes_room() {
        let mut exits = exits();
        for number in 0..=FLOWS_MOST as u16 {
            let now = Instant::from_millis(number.into());
            assert!(exits.lead(now, &packet(UDP, number, 0), true));
        }
        assert_eq!(exits.flows.len(), FLOWS_MOST);
        let now = Instant::from_millis(FLOWS_MOST as u64);
        assert!(!exits.lead(now, &packet(UDP, 0, 0), false));
        assert!(exits.lead(now, &packet(UDP, 1, 0), false));
    }

    #[test]
    fn a_home_that_answers_is_not_silent() {
        let mut homes = Homes {
            stands_in: true,
            ..Homes::default()
        };
        let at = Instant::from_millis;
        assert_eq!(homes.sent(at(5_000), 1), Some(at(5_000)));
        let ask = homes.step(at(5_000), 1, Duration::ZERO);
        assert_eq!(ask, Some((HomeStep::Ask, Some(at(5_250)))));
        homes.heard(at(5_100), 1);
        // Only what is sent after that is expected to be answered.
        assert_eq!(homes.sent(at(5_200), 1), Some(at(5_800)));
        homes.heard(at(5_300), 1);
        let wait = homes.step(at(5_800), 1, Duration::ZERO);
        assert_eq!(wait, Some((HomeStep::Wait, None)));
        assert_eq!(homes.sent(at(5_900), 1), Some(at(6_000)));
        let mut due = Some(at(6_000));
        while let Some(now) = due.filter(|_| !homes.is_silent(1)) {
            due = homes.step(now, 1, Duration::ZERO).and_then(|(_, due)| due);
        }
        assert_eq!(due, Some(at(7_000) + ASK_SILENT));
        assert!(homes.stand_in(1) && !homes.stand_in(1));
        assert!(homes.heard(at(9_000), 1));
        assert!(!homes.is_silent(1));
    }
}
