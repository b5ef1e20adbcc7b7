//! Who listens where: what this end asked of the other one, and what the other end asked of this one.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use units::Instant;

use crate::packet::{Cid, Control, Kind};
use crate::tick::Ticks;
use crate::{Addresses, Config, Output, Packet, Profile, Reason};

/// An address at which this end listens.
#[derive(Debug, Clone, Copy)]
struct Own {
    /// The next time that the other end is told; nothing once it took note.
    at: Option<Instant>,
    attempts: u32,
}

/// Who listens where.
#[derive(Debug)]
pub(crate) struct Listeners {
    own: BTreeMap<SocketAddr, Own>,
    /// Where the other end listens, and whether the driver allowed it yet.
    others: BTreeMap<SocketAddr, bool>,
    /// When the other end is told again.
    next: Option<Instant>,
    ticks: Ticks,
}

impl Listeners {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            own: BTreeMap::new(),
            others: BTreeMap::new(),
            next: None,
            ticks: Ticks::new(&config.timing),
        }
    }

    /// Whether this end listens there.
    pub(crate) fn has_own(&self, address: SocketAddr) -> bool {
        self.own.contains_key(&address)
    }

    /// Whether the other end listens there, and may.
    pub(crate) fn has_other(&self, address: SocketAddr) -> bool {
        self.others.get(&address) == Some(&true)
    }

    /// This end listens; the other one is told.
    pub(crate) fn listen<C>(
        &mut self,
        address: SocketAddr,
        config: &Config,
        now: Instant,
    ) -> Output<C> {
        let fits = Addresses::listening(address).least_profile() <= config.profile;
        let room = self.own.len() < config.limits.listeners || self.has_own(address);
        if !fits || !room {
            let reason = if fits { Reason::Busy } else { Reason::Profile };
            return Output::ListenRefused(address, reason);
        }
        let at = Some(self.ticks.after(now, config.timing.initial_timeout));
        self.own.insert(address, Own { at, attempts: 1 });
        self.find_next();
        packet(Kind::Listen, address, config)
    }

    /// This end does not listen any more.
    pub(crate) fn unlisten<C>(
        &mut self,
        address: SocketAddr,
        config: &Config,
    ) -> Option<Output<C>> {
        self.own.remove(&address)?;
        self.find_next();
        Some(packet(Kind::Unlisten(Reason::Aborted), address, config))
    }

    /// The other end wants to listen.
    pub(crate) fn asked<C>(
        &mut self,
        address: SocketAddr,
        takes: bool,
        config: &Config,
    ) -> Option<Output<C>> {
        match self.others.get(&address) {
            Some(true) => Some(packet(Kind::Listening, address, config)),
            Some(false) => None,
            None if !takes => Some(packet(Kind::Unlisten(Reason::Refused), address, config)),
            None if self.others.len() >= config.limits.listeners => {
                Some(packet(Kind::Unlisten(Reason::Busy), address, config))
            }
            None => {
                self.others.insert(address, false);
                Some(Output::ListenerAsked(address))
            }
        }
    }

    /// The driver allows the other end to listen.
    pub(crate) fn allow<C>(&mut self, address: SocketAddr, config: &Config) -> Option<Output<C>> {
        *self.others.get_mut(&address)? = true;
        Some(packet(Kind::Listening, address, config))
    }

    /// The driver does not.
    pub(crate) fn refuse<C>(
        &mut self,
        address: SocketAddr,
        reason: Reason,
        config: &Config,
    ) -> Option<Output<C>> {
        self.others.remove(&address)?;
        Some(packet(Kind::Unlisten(reason), address, config))
    }

    /// The other end took note.
    pub(crate) fn noted<C>(&mut self, address: SocketAddr) -> Option<Output<C>> {
        let own = self.own.get_mut(&address)?;
        own.at.take()?;
        self.find_next();
        Some(Output::Listening(address))
    }

    /// The other end refuses, or does not listen any more itself.
    pub(crate) fn ended<C>(&mut self, address: SocketAddr, reason: Reason) -> Option<Output<C>> {
        if self.others.remove(&address).is_some() {
            return Some(Output::ListenerGone(address));
        }
        self.own.remove(&address)?;
        self.find_next();
        Some(Output::ListenRefused(address, reason))
    }

    /// When the other end is told again.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.next
    }

    fn find_next(&mut self) {
        self.next = self.own.values().filter_map(|own| own.at).min();
    }

    /// Tells the other end again what it has not answered.
    pub(crate) fn time_out<C>(
        &mut self,
        now: Instant,
        config: &Config,
        outputs: &mut VecDeque<Output<C>>,
    ) {
        if self.next.is_none_or(|at| at > now) {
            return;
        }
        let again = self.ticks.after(now, config.timing.initial_timeout);
        self.own.retain(|address, own| {
            if own.at.is_none_or(|at| at > now) {
                return true;
            }
            if own.attempts >= config.limits.attempts {
                outputs.push_back(Output::ListenRefused(*address, Reason::TimedOut));
                return false;
            }
            own.attempts += 1;
            own.at = Some(again);
            outputs.push_back(packet(Kind::Listen, *address, config));
            true
        });
        self.find_next();
    }
}

/// A control packet about a listener.
fn packet<C>(kind: Kind, address: SocketAddr, config: &Config) -> Output<C> {
    let addresses = Addresses::listening(address);
    let profile: Profile = addresses.least_profile();
    Output::Packet(Packet::Control(Control {
        profile,
        kind,
        lean: config.lean,
        connection: Cid::NONE,
        reverse: Cid::NONE,
        sequence: 0,
        acknowledgment: 0,
        buffer: config.buffer(profile),
        packet: config.packet,
        shift: 0,
        addresses,
    }))
}
