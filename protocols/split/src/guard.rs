//! Fixed hosts that ask mobile hosts for connections, of which some may not exist.
//!
//! A first segment costs next to nothing, and may bear any name; it takes a place here until nobody completes what it
//! began, and frames on the hop. So of hosts that are not known only a few are believed at a time. The others are
//! answered with what cannot be right: a host that is there says so at once, with the number that we chose, and asks
//! again; it waits for one round trip more. Nothing is kept for one that is not there.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use machine::{RandomStream, TokenBucket};
use units::{Duration, Instant, SeqNumber};
use wire::flow::Ends;
use wire::ip::{IpPacket, Transport};
use wire::packet::{Checksum, Packet};
use wire::tcp::{TcpFlags, connection_challenged};

/// So many hosts that are not known are believed at once, and so many more in a second: in the time that a kernel waits
/// for who does not complete a connection, about a minute, fewer than may be half open.
const BELIEVED: u32 = 64;
const BELIEVED_A_SECOND: u32 = 4;
/// So many hosts are known at most, for so long.
const KNOWN: usize = 4_096;
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// The number from which challenges are made.
#[derive(Clone)]
pub(crate) struct Secret(pub(crate) u64);

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret")
    }
}

impl Secret {
    /// The number with which a host that asks for a connection is challenged.
    fn number(&self, ends: &Ends) -> SeqNumber {
        let words = |end: SocketAddr| {
            let address = match end.ip() {
                IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
                IpAddr::V6(address) => address.to_bits(),
            };
            [(address >> 64) as u64, address as u64, end.port().into()]
        };
        // Each step hides its state, so that who may choose addresses cannot find two with one number.
        let step = |state, word| RandomStream::named(state ^ word, "challenge").next_u64();
        let all = words(ends.source)
            .into_iter()
            .chain(words(ends.destination));
        SeqNumber(all.fold(self.0, step) as u32)
    }

    /// What a request is answered with. Nothing in the one case of 2³² in which it would be right.
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

    /// Which host a packet proves to be there, if it does.
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

/// Whom it lets pass.
#[derive(Debug)]
pub(crate) struct Guard {
    /// How many that are not known are believed.
    belief: TokenBucket,
    /// Until when hosts are known.
    known: BTreeMap<IpAddr, Instant>,
}

impl Guard {
    /// It knows nobody.
    pub(crate) fn new() -> Self {
        Self {
            belief: TokenBucket::new(BELIEVED_A_SECOND, BELIEVED),
            known: BTreeMap::new(),
        }
    }

    /// Whether `host` may ask now.
    pub(crate) fn admits(&mut self, now: Instant, host: IpAddr) -> bool {
        let is_known = self.known.get(&host).is_some_and(|until| now < *until);
        is_known || self.belief.take(now)
    }

    /// That host is there.
    pub(crate) fn know(&mut self, now: Instant, host: IpAddr) {
        if self.known.len() >= KNOWN && !self.known.contains_key(&host) {
            self.known.retain(|_, until| now < *until);
        }
        if self.known.len() >= KNOWN && !self.known.contains_key(&host) {
            // Whoever is forgotten proves it once more.
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
