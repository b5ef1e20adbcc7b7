//! A daemon and the system beside it.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use hosts::{
    Caps, Config, Host, Input, Membership, Output, Peer, ResolverTerms, Role, StreamLimits,
};
use machine::{Machine, RandomStream};
use session::{Entropy, PrivateKey};
use sockets::System;
use split::{End, Mobile, Scope};
use units::{Bytes, Duration, Instant};
use wire::address::HopAddress;

use crate::Setting;

/// Address of the loopback interface of a mobile host, which no host on the other side of the hop may reach.
pub(crate) const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Unix time at the start, in nanoseconds.
const WALL: u64 = 1_800_000_000_000_000_000;
/// Inputs that a paused process can have waiting, as the buffers of its sockets hold them.
const WAITING: usize = 256;
/// Most deadlines in a time at which a process does nothing.
const IDLE_CALLS: u32 = 1_000;
const IDLE_TIME: Duration = Duration::from_secs(20);

/// Key of a host. Two processes may have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// The gateway.
    Gateway,
    /// A mobile host, by its number.
    Mobile(usize),
    /// A peer of the gateway that is hostile.
    Hostile,
}

impl Identity {
    fn name(self) -> String {
        match self {
            Self::Gateway => "gateway".to_owned(),
            Self::Mobile(number) => format!("mobile {number}"),
            Self::Hostile => "hostile".to_owned(),
        }
    }

    /// Returns the private key of the host.
    pub(crate) fn key(self) -> PrivateKey {
        PrivateKey::generate(&mut *entropy(1, &self.name()))
    }

    /// Returns its address inside the tunnel.
    pub(crate) fn inner(self) -> Ipv4Addr {
        match self {
            Self::Gateway => Ipv4Addr::new(10, 9, 0, 1),
            Self::Mobile(number) => Ipv4Addr::new(10, 9, 0, 2 + number as u8),
            Self::Hostile => Ipv4Addr::new(10, 9, 0, 99),
        }
    }

    /// Returns the addresses for which a gateway takes packets and connections to it.
    fn offered(self, setting: &Setting) -> Vec<Ipv4Addr> {
        let is_intruded = setting.has_hostile_gateway && self == Self::Mobile(0);
        let own = std::iter::once(self.inner());
        own.chain(is_intruded.then_some(LOOPBACK)).collect()
    }
}

/// Returns the entropy of a host that draws from this seed and name.
pub(crate) fn entropy(seed: u64, name: &str) -> Box<dyn Entropy> {
    let mut stream = RandomStream::named(seed, name);
    Box::new(move |buffer: &mut [u8]| stream.fill(buffer))
}

/// A daemon and the system beside it.
pub(crate) struct Process {
    pub(crate) identity: Identity,
    /// Its number in the world, which makes its random draws its own.
    number: usize,
    lives: u64,
    /// `None` while it does not run.
    host: Option<Host>,
    /// Sockets of its system, which outlives it.
    pub(crate) system: System,
    pub(crate) paused_until: Instant,
    waiting: VecDeque<Input>,
    /// Number of deadlines one after the other at which it did nothing, and the time of the first one.
    idle_calls: (u32, Instant),
    /// Error of its wall clock, in nanoseconds.
    pub(crate) clock_error: i64,
    /// Number of outputs until it is killed, and the time until it starts again.
    pub(crate) killed_after: Option<(u8, Duration)>,
}

impl Process {
    /// Returns a process that does not run yet.
    pub(crate) fn new(identity: Identity, number: usize) -> Self {
        let addresses = match identity {
            Identity::Gateway => vec![identity.inner(), Ipv4Addr::new(192, 0, 2, 254)],
            _ => vec![identity.inner(), LOOPBACK],
        };
        Self {
            identity,
            number,
            lives: 0,
            host: None,
            system: System::new(addresses.into_iter().map(IpAddr::from)),
            paused_until: Instant::ZERO,
            waiting: VecDeque::new(),
            idle_calls: (0, Instant::ZERO),
            clock_error: 0,
            killed_after: None,
        }
    }

    /// Starts the daemon.
    pub(crate) fn start(&mut self, setting: &Setting, gateway: HopAddress) {
        self.lives += 1;
        let name = format!("{} in life {} of {}", self.number, self.lives, setting.seed);
        let config = config(self.identity, setting, gateway);
        let host = Host::new(config, entropy(setting.seed, &name));
        self.host = Some(host.expect("a valid configuration"));
    }

    /// Kills the daemon: the kernel resets its sockets.
    pub(crate) fn kill(&mut self) {
        self.host = None;
        self.waiting.clear();
        self.system.kill();
        self.killed_after = None;
    }

    /// Returns the daemon, if it runs.
    pub(crate) fn host(&self) -> Option<&Host> {
        self.host.as_ref()
    }

    /// Returns the reading of its wall clock.
    pub(crate) fn wall(&self, now: Instant) -> u64 {
        (WALL + now.as_nanos()).saturating_add_signed(self.clock_error)
    }

    /// Hands in an input; it waits while the process is paused.
    pub(crate) fn handle_input(&mut self, now: Instant, input: Input) {
        let Some(host) = &mut self.host else {
            return;
        };
        if now < self.paused_until {
            if self.waiting.len() < WAITING {
                self.waiting.push_back(input);
            }
            return;
        }
        host.handle_input(now, input);
    }

    /// Returns the next input that waited for the end of a pause.
    pub(crate) fn poll_waiting(&mut self, now: Instant) -> Option<Input> {
        if now < self.paused_until {
            return None;
        }
        self.waiting.pop_front()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.idle_calls.0 == 0 || now.since(self.idle_calls.1) > IDLE_TIME {
            self.idle_calls = (0, now);
        }
        if let Some(host) = &mut self.host {
            host.handle_timeout(now);
            self.idle_calls.0 += 1;
        }
    }

    /// Returns true if it did nothing at too many deadlines in a short time (R11).
    pub(crate) fn spins(&self) -> bool {
        self.idle_calls.0 > IDLE_CALLS
    }

    /// Returns the next output of the daemon, or `None` if it dies before it.
    pub(crate) fn poll_output(&mut self) -> Option<Output> {
        let output = self.host.as_mut()?.poll_output()?;
        if let Some((left, _)) = &mut self.killed_after {
            *left = left.checked_sub(1)?;
        }
        self.idle_calls.0 = 0;
        Some(output)
    }

    /// Returns the time at which the process must run.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let deadline = self.host.as_ref()?.poll_timeout();
        let waits = !self.waiting.is_empty();
        let deadline = machine::earlier(deadline, waits.then_some(Instant::ZERO))?;
        Some(deadline.max(self.paused_until))
    }
}

/// Returns the configuration of a host that resolves the gateway's name to `gateway` at its start.
fn config(identity: Identity, setting: &Setting, gateway: HopAddress) -> Config {
    let is_gateway = identity == Identity::Gateway;
    let peers = if is_gateway {
        let mobiles = (0..setting.mobiles).map(Identity::Mobile);
        mobiles
            .chain([Identity::Hostile])
            .map(|mobile| peer(mobile, setting, None))
            .collect()
    } else {
        vec![peer(Identity::Gateway, setting, Some(gateway))]
    };
    let config = Config {
        role: if is_gateway {
            Role::Gateway
        } else {
            Role::Mobile
        },
        key: identity.key(),
        peers,
        bearer_mtu: hosts::BearerMtu::up_to(1_500),
        rate: None,
        mobile: hosts::MobileTerms::default(),
        exits: hosts::GuestExits::None,
        shared_air: (is_gateway && setting.is_shared).then(Default::default),
        snoop_cache: Bytes::mebi(4),
        memory: None,
        streams: Some(StreamLimits {
            receive_buffer: None,
            connections: 64,
            lean: false,
        }),
        split: setting.split.map(|_| split_config(identity, setting)),
    };
    // The mobile hosts of a gateway share little.
    let memory = is_gateway.then(|| config.memory_least() + Bytes::mebi(4));
    Config { memory, ..config }
}

fn peer(identity: Identity, setting: &Setting, endpoint: Option<HopAddress>) -> Peer {
    let is_gateway = identity == Identity::Gateway;
    let prefixes = if is_gateway {
        vec![(Ipv4Addr::UNSPECIFIED.into(), 0)]
    } else {
        let addresses = identity.offered(setting).into_iter();
        addresses.map(|address| (address.into(), 32)).collect()
    };
    Peer {
        name: identity.name(),
        public: identity.key().public_key(),
        preshared: None,
        endpoint,
        prefixes,
        tcp: setting.tcp_terms(!is_gateway),
        split: setting.split_terms(!is_gateway),
        caps: Caps::default(),
        resolver: ResolverTerms::Silent,
        tls_port: None,
        membership: Membership::default(),
        weight: 1,
    }
}

fn split_config(identity: Identity, setting: &Setting) -> split::Config {
    let mobile = |peer: usize, addresses: Vec<Ipv4Addr>| {
        let networks = addresses.iter().map(|address| format!("{address}/32"));
        let networks = networks.map(|network| network.parse().expect("a network"));
        Mobile {
            peer,
            networks: networks.collect(),
            scope: Scope::Every,
        }
    };
    let (end, mobiles) = match identity {
        Identity::Gateway => {
            let mobiles = (0..setting.mobiles)
                .map(|number| mobile(number, Identity::Mobile(number).offered(setting)));
            (End::Gateway { transparent: true }, mobiles.collect())
        }
        _ => (End::Mobile, vec![mobile(0, vec![identity.inner()])]),
    };
    split::Config {
        end,
        mobiles,
        buffer: Bytes::kibi(64),
        connections: 64,
        idle: Duration::from_secs(7_440),
        accepts_at_once: false,
        secret: 7,
    }
}
