//! The budget of Diffie-Hellman computations, which strangers cannot use up for others.

use std::collections::BTreeMap;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};

use machine::{TokenBucket, TokenDebt};
use units::{Duration, Instant};
use wire::address::HopAddress;

use crate::identity::Addressed;
use crate::limits::Limits;
use crate::output::DropCause;

/// Largest part of the budget for initiations whose sender has not shown its address: two of three.
const UNPROVEN: (u32, u32) = (2, 3);
/// Time in which a sender that has shown its address earns one more handshake, and its largest burst.
const EACH: Duration = Duration::from_millis(50);
const BURST: u64 = 5;
/// Time after which a sender at rest is forgotten; it has earned its burst again long before.
const FORGOTTEN: Duration = Duration::from_secs(1);

/// Answer to an initiation that asks for a computation.
pub(crate) enum Admission {
    /// It may be computed, with this key.
    Granted(Addressed),
    /// First its sender must show that it receives at its address: the key to which it is addressed, and the secret of
    /// its cookie.
    Unproven(Addressed, [u8; 32]),
    Refused(DropCause),
}

impl Admission {
    /// Returns the answer to an initiation to this key, for which a computation was taken or not.
    pub(crate) fn of(taken: bool, to: Addressed) -> Self {
        if taken {
            Self::Granted(to)
        } else {
            Self::Refused(DropCause::OverBudget)
        }
    }
}

/// The budget.
#[derive(Debug)]
pub(crate) struct Budget {
    whole: TokenBucket,
    /// The part of it for senders that have shown nothing.
    unproven: TokenBucket,
    /// Senders that have shown their addresses and have used computations, in the present period and the one before.
    senders: [BTreeMap<HopAddress, TokenDebt>; 2],
    since: Instant,
}

impl Budget {
    /// Returns the whole budget of a host.
    pub(crate) fn new(limits: &Limits) -> Self {
        let part =
            |whole: u32| (u64::from(whole) * u64::from(UNPROVEN.0) / u64::from(UNPROVEN.1)) as u32;
        let (rate, burst) = (limits.handshakes_per_second, limits.handshake_burst);
        Self {
            whole: TokenBucket::new(rate, burst),
            unproven: TokenBucket::new(part(rate), part(burst)),
            senders: [BTreeMap::new(), BTreeMap::new()],
            since: Instant::ZERO,
        }
    }

    /// Takes a computation; returns true if there was one.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        self.whole.take(now)
    }

    /// Takes a computation for a sender that has shown nothing; returns true if there was one.
    pub(crate) fn take_unproven(&mut self, now: Instant) -> bool {
        self.unproven.take(now) && self.whole.take(now)
    }

    /// Takes a computation for a sender that has shown that it receives at this address; returns true if there was
    /// one, and the sender has not had its share.
    pub(crate) fn take_proven(&mut self, now: Instant, from: HopAddress) -> bool {
        if now.since(self.since) >= FORGOTTEN {
            self.since = now;
            self.senders.swap(0, 1);
            self.senders[0].clear();
        }
        let sender = sender(from);
        let known = self.senders.iter().find_map(|senders| senders.get(&sender));
        let mut debt = known.copied().unwrap_or_default();
        let each = EACH.as_nanos();
        let taken = debt.take(now, each, BURST * each, Duration::as_nanos) && self.whole.take(now);
        if taken {
            // At most one entry for each computation of two periods.
            self.senders[0].insert(sender, debt);
        }
        taken
    }
}

/// Returns the part of an address that stands for one sender: without the port, and a whole network of IPv6.
fn sender(at: HopAddress) -> HopAddress {
    match at {
        HopAddress::Udp(SocketAddr::V4(at)) | HopAddress::Tls(SocketAddr::V4(at)) => {
            HopAddress::Udp((*at.ip(), 0).into())
        }
        HopAddress::Udp(SocketAddr::V6(at)) | HopAddress::Tls(SocketAddr::V6(at)) => {
            let network = Ipv6Addr::from_bits(at.ip().to_bits() >> 64 << 64);
            HopAddress::Udp(SocketAddrV6::new(network, 0, 0, 0).into())
        }
        HopAddress::Ethernet(_) | HopAddress::Relay(_) => at,
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
