//! The mobile host's part: it answers the agent's negative acknowledgements below an unmodified TCP.

use std::collections::VecDeque;
use std::net::SocketAddr;

use machine::Machine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Instant, SeqNumber};
use wire::tcp::AirLoss;
use wire::tcp::TcpFlags;

use crate::cache::{Cache, Cached};
use crate::config::Limits;
use crate::download::Passage;
use crate::table::Table;
use crate::window::Window;
use crate::{FlowName, Header, Revision, Segment};

/// Configuration of a [`Mobile`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MobileConfig {
    /// Hold back the duplicate acknowledgements that the agent marks as due to the air, while the data that they
    /// request are repaired here. Off if the TCP above understands the marks (ELN).
    pub shield: bool,
    /// Limits of memory; the high-water mark is not used here.
    pub limits: Limits,
}

impl Default for MobileConfig {
    fn default() -> Self {
        Self {
            shield: true,
            limits: Limits::default(),
        }
    }
}

/// Inputs of a [`Mobile`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MobileInput<P> {
    /// The TCP above sends a packet.
    FromHost(P),
    /// A packet arrives across the hop.
    FromAir(P),
}

/// Outputs of a [`Mobile`] for its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MobileOutput<P> {
    /// Send a packet across the hop.
    ToAir {
        /// The packet.
        packet: P,
        /// True if it goes before others: repairs do.
        priority: bool,
    },
    /// Hand a packet to the TCP above.
    ToHost(P),
}

/// What a [`Mobile`] has done, in packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MobileCounters {
    /// Negative acknowledgements received.
    pub asked: u64,
    /// Segments sent again from the cache.
    pub repairs: u64,
    /// Duplicate acknowledgements held back.
    pub held: u64,
}

/// Keeps the data of the TCP above until they are acknowledged, and repeats the data that the agent requests.
#[derive(Debug)]
pub struct Mobile<P> {
    config: MobileConfig,
    flows: Table<Sender<P>>,
    bytes: u64,
    outputs: VecDeque<MobileOutput<P>>,
    counters: MobileCounters,
}

/// One connection's unacknowledged data.
#[derive(Debug)]
struct Sender<P> {
    cache: Cache<P>,
    window: Window,
}

impl<P: Segment> Mobile<P> {
    /// Returns a `Mobile` without connections.
    pub fn new(config: MobileConfig) -> Self {
        Self {
            flows: Table::new(config.limits.flows, config.limits.idle),
            config,
            bytes: 0,
            outputs: VecDeque::new(),
            counters: MobileCounters::default(),
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> MobileCounters {
        self.counters
    }

    /// Returns the number of tracked connections.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Returns the cost of all caches, in bytes: never more than [`Limits::bytes`].
    pub fn cached_bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns true if the segment in a packet of the TCP above is cached; notes that its connection lives.
    pub fn keeps(&mut self, now: Instant, packet: &P) -> bool {
        let Some(header) = packet.header() else {
            return false;
        };
        let name = FlowName {
            mobile: header.source,
            fixed: header.destination,
        };
        self.flows.touch(now, &name);
        let sender = self.flows.get_mut(&name);
        sender.is_some_and(|sender| sender.cache.covers(header.range(), |_| true))
    }

    /// Sends all cached segments of a connection again: a fade is over, in which they were lost.
    pub fn resume(&mut self, now: Instant, mobile: SocketAddr, fixed: SocketAddr) {
        let Some(sender) = self.flows.get_mut(&FlowName { mobile, fixed }) else {
            return;
        };
        for entry in sender.cache.iter_mut() {
            self.counters.repairs += 1;
            self.outputs.push_back(MobileOutput::ToAir {
                packet: sender.window.acceptable(entry.repeat(now)),
                priority: false,
            });
        }
    }

    fn take_from_host(&mut self, now: Instant, packet: P) {
        if let Some(header) = packet.header() {
            let name = FlowName {
                mobile: header.source,
                fixed: header.destination,
            };
            if header.flags.contains(TcpFlags::RST) || header.flags.contains(TcpFlags::SYN) {
                self.forget(&name);
            } else if header.occupies() {
                self.keep(now, name, &packet, &header);
            }
        }
        self.outputs.push_back(MobileOutput::ToAir {
            packet,
            priority: false,
        });
    }

    fn keep(&mut self, now: Instant, name: FlowName, packet: &P, header: &Header) {
        if !self.flows.contains(&name) {
            let sender = Sender {
                cache: Cache::new(),
                window: Window::NEW,
            };
            match self.flows.insert(now, name, sender) {
                Ok(gone) => self.bytes -= gone.map_or(0, |sender| sender.cache.bytes()),
                Err(_) => return,
            }
        }
        self.flows.touch(now, &name);
        let Some(sender) = self.flows.get_mut(&name) else {
            return;
        };
        let (copy, limits) = (packet.clone(), &self.config.limits);
        let cost = copy.cost();
        let before = sender.cache.bytes();
        let fits =
            before + cost <= limits.flow_bytes.get() && self.bytes + cost <= limits.bytes.get();
        if fits && sender.window.takes(header.range()) {
            let entry = Cached::new(now, header.range(), copy, cost);
            sender.cache.insert(entry);
            self.bytes = self.bytes - before + sender.cache.bytes();
        }
    }

    fn take_from_air(&mut self, now: Instant, mut packet: P) {
        let Some(header) = packet.header() else {
            self.outputs.push_back(MobileOutput::ToHost(packet));
            return;
        };
        let name = FlowName {
            mobile: header.destination,
            fixed: header.source,
        };
        if header.flags.contains(TcpFlags::RST) || header.flags.contains(TcpFlags::SYN) {
            self.forget(&name);
        }
        self.flows.touch(now, &name);
        if header.is_negative_acknowledgment() {
            self.counters.asked += 1;
            return self.repair(now, &name, &header);
        }
        if header.flags.contains(TcpFlags::ACK) {
            match self.acknowledged(&name, &header) {
                Passage::Forward(revision) => packet = revision.applied_to(packet),
                Passage::Hold => return,
            }
        }
        self.outputs.push_back(MobileOutput::ToHost(packet));
    }

    /// Repeats the requested data that are still cached.
    fn repair(&mut self, now: Instant, name: &FlowName, header: &Header) {
        let Some(sender) = self.flows.get_mut(name) else {
            return;
        };
        let AirLoss::Ranges(ranges) = header.options.air_loss else {
            return;
        };
        for range in ranges.iter().filter(|range| range.start < range.end) {
            for entry in sender.cache.overlapping(range) {
                self.counters.repairs += 1;
                self.outputs.push_back(MobileOutput::ToAir {
                    packet: sender.window.acceptable(entry.repeat(now)),
                    priority: true,
                });
            }
        }
    }

    /// Handles an acknowledgement of the fixed host. It hides losses that are repaired here from the TCP above:
    /// duplicates are held back, and acknowledgements that must pass lose the SACK blocks that show the gap.
    fn acknowledged(&mut self, name: &FlowName, header: &Header) -> Passage {
        let unchanged = Passage::Forward(Revision::default());
        let Some(sender) = self.flows.get_mut(name) else {
            return unchanged;
        };
        let number = header.acknowledgment;
        if !sender.window.is_near(number) {
            return unchanged;
        }
        let last = sender.window.last().copied();
        let ahead = last.map_or(1, |last| number.distance_from(last.acknowledgment));
        if ahead < 0 {
            return unchanged;
        }
        sender.window.note(header);
        let before = sender.cache.bytes();
        sender.cache.free(number, |_| {});
        self.bytes = self.bytes - before + sender.cache.bytes();
        let duplicate = ahead == 0
            && header.is_pure_acknowledgment()
            && last.is_some_and(|last| last.window == header.window);
        let shields = self.config.shield && header.asks_for_air_loss();
        if !shields || !sender.is_repairing(number) {
            unchanged
        } else if duplicate {
            self.counters.held += 1;
            Passage::Hold
        } else {
            Passage::Forward(Revision {
                hide_sack: true,
                air_loss: Some(AirLoss::None),
                ..Revision::default()
            })
        }
    }

    fn forget(&mut self, name: &FlowName) {
        if let Some(sender) = self.flows.remove(name) {
            self.bytes -= sender.cache.bytes();
        }
    }
}

impl<P> Sender<P> {
    fn is_repairing(&mut self, number: SeqNumber) -> bool {
        self.cache.at(number).is_some_and(|entry| entry.repeated)
    }
}

impl<P: Segment> Machine for Mobile<P> {
    type Input = MobileInput<P>;
    type Output = MobileOutput<P>;

    fn handle_input(&mut self, now: Instant, input: MobileInput<P>) {
        match input {
            MobileInput::FromHost(packet) => self.take_from_host(now, packet),
            MobileInput::FromAir(packet) => self.take_from_air(now, packet),
        }
    }

    /// Removes connections that were idle for too long; there is no other timer.
    fn handle_timeout(&mut self, now: Instant) {
        let mut freed = 0;
        while self
            .flows
            .expire(now, &mut |sender| freed += sender.cache.bytes())
            .is_some()
        {}
        self.bytes -= freed;
    }

    fn poll_output(&mut self) -> Option<MobileOutput<P>> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.flows.next_deadline()
    }
}
