//! A second way between the two hosts: connections of TLS, in order and without loss, at a rate of their own.

use std::collections::VecDeque;

use channel::Link;
use units::{BitRate, Bytes, Duration, Instant};
use wire::address::HopAddress;
use wire::packet::PacketBuffer;

use super::{MOBILE, Pair, Setting, datagram};

/// Where each host is seen by the other.
const ENDS: [&str; 2] = ["tls:10.0.0.2:40001", "tls:10.0.0.1:443"];
/// Port of the gateway.
pub(crate) const PORT: u16 = 443;
const DELAY: Duration = Duration::from_millis(25);
/// Bytes that wait for the rate; more are dropped.
const QUEUE: Duration = Duration::from_millis(100);

/// State of the connections, and of UDP beside them.
#[derive(Default)]
pub(crate) struct Tls {
    /// Their rate; without one there are no connections.
    pub(crate) rate: Option<BitRate>,
    /// True for each host whose datagrams by UDP are lost.
    pub(crate) blocks_udp: [bool; 2],
    /// Time from which each host's end is free.
    free: [Instant; 2],
    /// Datagrams on their way, with the host that they go to.
    on_the_way: [VecDeque<(Instant, PacketBuffer)>; 2],
    /// Number of datagrams of each host by TLS and by UDP.
    pub(crate) datagrams_beside: [u64; 2],
    pub(crate) by_udp: [u64; 2],
}

impl Tls {
    pub(super) fn next(&self) -> Option<Instant> {
        let first = |queue: &VecDeque<(Instant, _)>| queue.front().map(|(at, _)| *at);
        self.on_the_way.iter().filter_map(first).min()
    }
}

impl Pair {
    /// A pair over a named link, whose gateway takes TLS too.
    pub(crate) fn with_tls(link: &str, seed: u64) -> Self {
        let setting = Setting {
            has_tls: true,
            ..Setting::usual(seed)
        };
        Self::with(Link::named(link).expect("a link"), setting)
    }

    /// Ends the requests of the mobile host.
    pub(crate) fn stop_requests(&mut self) {
        self.requests = None;
    }

    /// Returns the address of a host by TLS.
    pub(crate) fn tls_address(host: usize) -> HopAddress {
        ENDS[host].parse().expect("an address")
    }

    /// Takes a datagram of a host, if it goes by TLS or is lost as UDP.
    pub(super) fn goes_beside(
        &mut self,
        host: usize,
        to: HopAddress,
        buffer: &PacketBuffer,
    ) -> bool {
        let (now, fades) = (self.now, self.blackout.contains(&self.now));
        let is_there = to == Self::tls_address(1 - host);
        let tls = &mut self.place.tls;
        if !matches!(to, HopAddress::Tls(_)) {
            tls.by_udp[host] += 1;
            return tls.blocks_udp[host];
        }
        tls.datagrams_beside[host] += 1;
        if let Some(rate) = tls.rate.filter(|_| is_there && !fades) {
            let start = tls.free[host].max(now);
            if start.since(now) < QUEUE {
                let end = start + rate.time_for(Bytes::from(buffer.len()));
                tls.free[host] = end;
                tls.on_the_way[1 - host].push_back((end + DELAY, buffer.clone()));
            }
        }
        true
    }

    /// Delivers what has come by TLS.
    pub(super) fn deliver_by_tls(&mut self) {
        for host in [MOBILE, 1 - MOBILE] {
            while let Some((_, buffer)) =
                self.place.tls.on_the_way[host].pop_front_if(|(at, _)| *at <= self.now)
            {
                let from = Self::tls_address(1 - host);
                self.input(host, datagram(from, self.now, buffer));
            }
        }
    }
}
