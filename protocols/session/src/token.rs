//! Proofs that a host receives what is sent to an address: bits that only this host can make, for one address and for a
//! short time. Nothing is stored for them.

use blake2::Blake2sMac;
use blake2::digest::{Mac, consts::U32};
use std::net::SocketAddr;
use units::{Duration, Instant};
use wire::address::HopAddress;
use zeroize::Zeroizing;

use crate::endpoint::Endpoint;
use crate::entropy::draw;
use crate::output::PeerId;

/// Time after which the challenge to an address is another one; an answer counts for that time at least, and for twice
/// that time at most.
const PATH_CHANGES: Duration = Duration::from_secs(10);

/// The secret of all tokens of one start of a host.
pub(crate) struct TokenKey(Zeroizing<[u8; 32]>);

impl TokenKey {
    fn token(&self, purpose: [u8; 8], period: u64, address: HopAddress) -> [u8; 32] {
        let mac =
            Blake2sMac::<U32>::new_from_slice(&*self.0).expect("BLAKE2s takes keys of 32 bytes");
        let mac = mac.chain_update(purpose).chain_update(period.to_le_bytes());
        let mac = match address {
            HopAddress::Udp(SocketAddr::V4(at)) => mac
                .chain_update([4])
                .chain_update(at.ip().octets())
                .chain_update(at.port().to_le_bytes()),
            HopAddress::Udp(SocketAddr::V6(at)) => mac
                .chain_update([6])
                .chain_update(at.ip().octets())
                .chain_update(at.port().to_le_bytes()),
            HopAddress::Ethernet(at) => mac.chain_update([2]).chain_update(at.0),
            HopAddress::Tls(SocketAddr::V4(at)) => mac
                .chain_update([44])
                .chain_update(at.ip().octets())
                .chain_update(at.port().to_le_bytes()),
            HopAddress::Tls(SocketAddr::V6(at)) => mac
                .chain_update([66])
                .chain_update(at.ip().octets())
                .chain_update(at.port().to_le_bytes()),
            HopAddress::Relay(at) => mac
                .chain_update([8])
                .chain_update(at.by.to_le_bytes())
                .chain_update(at.to.to_le_bytes()),
        };
        mac.finalize().into_bytes().into()
    }
}

impl Endpoint {
    /// Returns the challenge to an address that `peer` seems to have now: 64 bits that only a host which receives
    /// there can return. The same address gets the same challenge for some seconds.
    pub fn path_challenge(&mut self, now: Instant, peer: PeerId, address: HopAddress) -> u64 {
        self.challenge_in(period(now), peer, address)
    }

    /// Returns true if `answer` is the challenge that went to this address within the last 10 s, and at most 20 s ago.
    pub fn is_path_answer(
        &mut self,
        now: Instant,
        peer: PeerId,
        address: HopAddress,
        answer: u64,
    ) -> bool {
        let present = period(now);
        let periods = [Some(present), present.checked_sub(1)];
        let mut challenges = periods
            .into_iter()
            .flatten()
            .map(|period| self.challenge_in(period, peer, address));
        challenges.any(|challenge| challenge == answer)
    }

    /// Returns the token of `purpose` for an address in one of the periods of time.
    pub(crate) fn token(&mut self, purpose: [u8; 8], period: u64, address: HopAddress) -> [u8; 32] {
        let entropy = &mut *self.entropy;
        let key = self
            .identity
            .tokens
            .get_or_insert_with(|| TokenKey(Zeroizing::new(draw(entropy))));
        key.token(purpose, period, address)
    }

    fn challenge_in(&mut self, period: u64, peer: PeerId, address: HopAddress) -> u64 {
        let mut purpose = *b"path----";
        purpose[4..].copy_from_slice(&peer.0.to_le_bytes());
        let [b0, b1, b2, b3, b4, b5, b6, b7, ..] = self.token(purpose, period, address);
        u64::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7])
    }
}

fn period(now: Instant) -> u64 {
    now.as_nanos() / PATH_CHANGES.as_nanos()
}
