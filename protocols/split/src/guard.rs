//! The guard against connection floods by fixed hosts, some of which may have forged addresses.
//!
//! A SYN costs its sender next to nothing, and may have any source address; it takes a place here until its handshake
//! fails, and frames on the hop. So only a few unknown hosts are admitted at a time. The others get a challenge: an
//! invalid acknowledgement, to which a real host replies at once with a reset that carries our number, and then
//! repeats its request; it loses one round trip. No state is kept for a host that does not exist.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use machine::{RandomStream, TokenBucket};
use units::{Duration, Instant, SeqNumber};
use wire::flow::Ends;
use wire::ip::{IpPacket, Transport};
use wire::packet::{Checksum, Packet};
use wire::tcp::{TcpFlags, connection_challenged};

/// Burst of unknown hosts that are admitted at once, and their rate per second: in the time that a kernel waits for
/// an incomplete handshake, about a minute, they are fewer than may be half open.
const BELIEVED: u32 = 64;
const BELIEVED_A_SECOND: u32 = 4;
/// Largest number of known hosts, and the time that a host stays known.
const KNOWN: usize = 4_096;
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// Secret number for challenges.
#[derive(Clone)]
pub(crate) struct Secret(pub(crate) u64);

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret")
    }
}

impl Secret {
    /// Returns the number with which a host that requests a connection is challenged.
    fn number(&self, ends: &Ends) -> SeqNumber {
        let words = |end: SocketAddr| {
            let address = match end.ip() {
                IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
                IpAddr::V6(address) => address.to_bits(),
            };
            [(address >> 64) as u64, address as u64, end.port().into()]
        };
        // Each step hides its state, so that a host that chooses addresses cannot find two with one number.
        let step = |state, word| RandomStream::named(state ^ word, "challenge").next_u64();
        let all = words(ends.source)
            .into_iter()
            .chain(words(ends.destination));
        SeqNumber(all.fold(self.0, step) as u32)
    }

    /// Returns the challenge that answers a request. None in the one case of 2³² in which it would be a valid
    /// acknowledgement.
    pub(crate) fn challenge(
        &self,
        request: &Packet,
        ends: &Ends,
        sequence: SeqNumber,
    ) -> Option<Packet> {
        let number = self.number(ends);
        let original = request.ip()?;
        let buffer = connection_challenged(&original, number).filter(|_| number != sequence + 1)?;
        Some(Packet::new(buffer).with_checksum(Checksum::Verified))
    }

    /// Returns the host whose address a packet proves, if it does.
    pub(crate) fn proven(&self, packet: &IpPacket<'_>) -> Option<IpAddr> {
        let Transport::Tcp(tcp) = packet.transport() else {
            return None;
        };
        if !tcp.flags().contains(TcpFlags::RST) {
            return None;
        }
        (tcp.sequence_number() == self.number(&Ends::of(packet))).then_some(packet.source())
    }
}

/// Hosts that are admitted.
#[derive(Debug)]
pub(crate) struct Guard {
    /// Token bucket for unknown hosts.
    belief: TokenBucket,
    /// Known hosts, with the time until which they stay known.
    known: BTreeMap<IpAddr, Instant>,
}

impl Guard {
    /// Returns a guard without known hosts.
    pub(crate) fn new() -> Self {
        Self {
            belief: TokenBucket::new(BELIEVED_A_SECOND, BELIEVED),
            known: BTreeMap::new(),
        }
    }

    /// Returns true if a request of `host` is admitted now.
    pub(crate) fn admits(&mut self, now: Instant, host: IpAddr) -> bool {
        let is_known = self.known.get(&host).is_some_and(|until| now < *until);
        is_known || self.belief.take(now)
    }

    /// Notes that the address of `host` is proven.
    pub(crate) fn know(&mut self, now: Instant, host: IpAddr) {
        if self.known.len() >= KNOWN && !self.known.contains_key(&host) {
            self.known.retain(|_, until| now < *until);
        }
        if self.known.len() >= KNOWN && !self.known.contains_key(&host) {
            // A host that is dropped proves its address once more.
            self.known.pop_first();
        }
        self.known.insert(host, now + KNOWN_FOR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    #[test]
    fn a_few_are_believed_and_whoever_is_known_always() {
        let mut guard = Guard::new();
        let start = Instant::ZERO + Duration::from_secs(7);
        let interval = Duration::from_millis(250);
        let believed = |guard: &mut Guard, now| {
            let mut hosts = (0..10_000).map(host);
            hosts
                .by_ref()
                .filter(|host| guard.admits(now, *host))
                .count()
        };
        assert_eq!(believed(&mut guard, start), 64);
        assert_eq!(believed(&mut guard, start + interval * 3), 3);
        guard.know(start, host(5));
        let later = start + interval * 3;
        assert!((0..100).all(|_| guard.admits(later, host(5))));
        assert!(!guard.admits(later, host(6)));
        assert_eq!(believed(&mut guard, later + Duration::from_secs(3_600)), 64);
    }

    #[test]
    fn no_more_are_known_than_have_room() {
        let mut guard = Guard::new();
        for number in 0..KNOWN as u32 + 10 {
            guard.know(Instant::ZERO, host(number));
        }
        assert_eq!(guard.known.len(), KNOWN);
        let later = Instant::ZERO + KNOWN_FOR;
        guard.know(later, host(1));
        assert_eq!(guard.known.len(), 1);
    }

    #[test]
    fn only_who_was_told_the_number_proves_that_it_is_there() {
        let (secret, other) = (Secret(1), Secret(2));
        let mut syn = vec![0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0];
        syn.extend([198, 51, 100, 2, 10, 73, 0, 2, 0x9c, 0x40, 0, 80]);
        syn.extend([0, 0, 0, 7, 0, 0, 0, 0, 0x50, 2, 1, 0, 0, 0, 0, 0]);
        let ends = Ends {
            source: "198.51.100.2:40000".parse().expect("an address"),
            destination: "10.73.0.2:80".parse().expect("an address"),
        };
        let request = Packet::new(wire::packet::PacketBuffer::copy_of(&syn));
        let challenge = secret
            .challenge(&request, &ends, SeqNumber(7))
            .expect("one");
        let parsed = challenge.ip().expect("a packet");
        let Transport::Tcp(tcp) = parsed.transport() else {
            panic!("a segment")
        };
        let number = tcp.acknowledgment_number().0;
        let proven = |secret: &Secret, packet: &[u8]| {
            let packet = IpPacket::parse(packet).expect("a packet");
            secret.proven(&packet)
        };
        let mut reset = syn.clone();
        reset[24..28].copy_from_slice(&number.to_be_bytes());
        assert_eq!(proven(&secret, &reset), None, "it resets nothing");
        reset[33] = TcpFlags::RST.0;
        assert_eq!(proven(&secret, &reset), Some(ends.source.ip()));
        assert_eq!(proven(&other, &reset), None);
        reset[15] ^= 1;
        assert_eq!(proven(&secret, &reset), None, "it is another host's");
    }
}
