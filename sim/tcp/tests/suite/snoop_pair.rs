//! A TCP host, a base station with the snoop agent, the air, a mobile host. The base station repairs losses on the air,
//! which stay hidden from a Reno sender, in either direction and in both at once.

use std::net::SocketAddrV4;

use machine::{Machine, RandomStream, earlier};
use proptest::prelude::*;
use simulator::testing::{Clock, Next};
use snoop::{Agent, ExplicitLoss, Mobile, MobileConfig, MobileInput, MobileOutput};
use tcp::{Config, Connection, Counters, Endpoint, Input, Output, Policy};
use units::{BitRate, Bytes, Duration, Instant, SeqNumber};
use wire::TcpSegment;

const FIXED: usize = 0;
const MOBILE: usize = 1;
/// The stations that a segment passes on its way.
const WIRED_DELAY: Duration = Duration::from_millis(2);
const AIR_DELAY: Duration = Duration::from_millis(1);
/// No transfer takes longer.
const END: Instant = Instant::from_millis(1_000_000_000);

/// Place of arrival of a segment.
#[derive(Debug, Clone, Copy)]
enum Arrival {
    Host(usize),
    /// At the base station, from this side.
    Base(usize),
    /// At the mobile host's link layer.
    MobileLink,
}

struct World {
    hosts: [Endpoint; 2],
    agent: Agent<TcpSegment>,
    link: Option<Mobile<TcpSegment>>,
    clock: Clock<(Arrival, TcpSegment)>,
    air_free: [Instant; 2],
    /// One in this number of packets that cross the air is lost.
    loss: Option<u64>,
    chance: RandomStream,
    lost: u64,
    /// Losses on the wired side, as numbers of data segments from the fixed host.
    wired_losses: Vec<u64>,
    wired_count: u64,
}

fn address(end: usize) -> SocketAddrV4 {
    SocketAddrV4::new([10, end as u8, 0, 1].into(), 4_000)
}

impl World {
    fn new(config: &Config, agent: snoop::Config, link: Option<MobileConfig>) -> Self {
        let connection = |end: usize| Connection {
            local: address(end),
            remote: address(1 - end),
            initial_sequence: SeqNumber(u32::MAX - 100_000),
        };
        let fixed = Endpoint::new(connection(FIXED), config.clone()).expect("a configuration");
        let mobile =
            Endpoint::listening(connection(MOBILE), config.clone()).expect("a configuration");
        Self {
            hosts: [fixed, mobile],
            agent: Agent::new(agent),
            link: link.map(Mobile::new),
            clock: Clock::new(Instant::ZERO).deadlines_first(),
            air_free: [Instant::ZERO; 2],
            loss: None,
            chance: RandomStream::named(7, "air"),
            lost: 0,
            wired_losses: Vec::new(),
            wired_count: 0,
        }
    }

    /// Sends a segment across the air from `side`.
    fn cross(&mut self, side: usize, segment: TcpSegment) {
        let length = Bytes::from(segment.packet_length());
        let start = self.clock.now.max(self.air_free[side]);
        let sent = start + BitRate::from_megabits(2).time_for(length);
        self.air_free[side] = sent;
        if self.loss.is_some_and(|loss| self.chance.below(loss) == 0) {
            self.lost += u64::from(segment.payload > 0);
            return;
        }
        let arrival = match (side, &self.link) {
            (FIXED, Some(_)) => Arrival::MobileLink,
            (FIXED, None) => Arrival::Host(MOBILE),
            _ => Arrival::Base(MOBILE),
        };
        self.clock.add(sent + AIR_DELAY, (arrival, segment));
    }

    fn send(&mut self, host: usize, segment: TcpSegment) {
        if host == FIXED {
            self.wired_count += u64::from(segment.payload > 0);
            let lost = segment.payload > 0 && self.wired_losses.contains(&self.wired_count);
            if !lost {
                self.clock
                    .add_after(WIRED_DELAY, (Arrival::Base(FIXED), segment));
            }
        } else if let Some(link) = &mut self.link {
            link.handle_input(self.clock.now, MobileInput::FromHost(segment));
            self.drain_link();
        } else {
            self.cross(MOBILE, segment);
        }
    }

    fn drain_host(&mut self, host: usize) {
        while let Some(output) = self.hosts[host].poll_output() {
            match output {
                Output::Segment(segment) => self.send(host, segment),
                Output::Readable(bytes) => {
                    self.hosts[host].handle_input(self.clock.now, Input::Read(bytes));
                }
                _ => {}
            }
        }
    }

    fn drain_agent(&mut self) {
        while let Some(output) = self.agent.poll_output() {
            match output {
                snoop::Output::ToMobile { packet, .. } => self.cross(FIXED, packet),
                snoop::Output::ToFixed(packet) => {
                    self.clock
                        .add_after(WIRED_DELAY, (Arrival::Host(FIXED), packet));
                }
            }
        }
    }

    fn drain_link(&mut self) {
        while let Some(output) = self.link.as_mut().and_then(Machine::poll_output) {
            match output {
                MobileOutput::ToAir { packet, .. } => self.cross(MOBILE, packet),
                MobileOutput::ToHost(packet) => {
                    self.clock
                        .add(self.clock.now, (Arrival::Host(MOBILE), packet));
                }
            }
        }
    }

    fn input(&mut self, host: usize, input: Input) {
        self.hosts[host].handle_input(self.clock.now, input);
        self.drain_host(host);
    }

    fn step(&mut self) {
        let hosts = earlier(self.hosts[0].poll_timeout(), self.hosts[1].poll_timeout());
        let deadline = earlier(hosts, self.agent.poll_timeout());
        match self.clock.advance(END, deadline) {
            Next::Event((arrival, segment)) => self.arrive(arrival, segment),
            Next::Deadline => {
                for host in [FIXED, MOBILE] {
                    self.hosts[host].handle_timeout(self.clock.now);
                    self.drain_host(host);
                }
                self.agent.handle_timeout(self.clock.now);
                self.drain_agent();
            }
            Next::End => panic!("it never ends"),
        }
    }

    fn arrive(&mut self, arrival: Arrival, segment: TcpSegment) {
        let now = self.clock.now;
        match arrival {
            Arrival::Host(host) => self.input(host, Input::Segment(segment)),
            Arrival::Base(side) => {
                let input = [snoop::Input::FromFixed, snoop::Input::FromMobile][side](segment);
                self.agent.handle_input(now, input);
                self.drain_agent();
            }
            Arrival::MobileLink => {
                if let Some(link) = &mut self.link {
                    link.handle_input(now, MobileInput::FromAir(segment));
                }
                self.drain_link();
            }
        }
    }

    /// Sends these numbers of bytes each way over an air that loses one packet in 40, and returns both hosts' counters.
    fn transfer(&mut self, download: u64, upload: u64) -> [Counters; 2] {
        self.input(FIXED, Input::Connect);
        while self.hosts[MOBILE].state() != tcp::State::Established {
            self.step();
        }
        self.loss = self.loss.or(Some(40));
        self.input(FIXED, Input::Write(download));
        self.input(MOBILE, Input::Write(upload));
        while !(self.hosts[FIXED].is_drained() && self.hosts[MOBILE].is_drained()) {
            self.step();
        }
        let counters = [FIXED, MOBILE].map(|host| self.hosts[host].counters());
        assert_eq!(counters[MOBILE].received.bytes, download);
        assert_eq!(counters[FIXED].received.bytes, upload);
        counters
    }
}

const MEBIBYTES_2: u64 = 2 << 20;

fn reno() -> Config {
    Config::bsd()
}

/// An agent for both directions.
fn both_ways(agent: snoop::Config) -> snoop::Config {
    snoop::Config {
        negative_acknowledgments: true,
        explicit_loss: ExplicitLoss::Next,
        ..agent
    }
}

#[test]
fn a_download_is_shielded() {
    for agent in [snoop::Config::tcp_aware(), snoop::Config::smart_tcp_aware()] {
        let mut config = reno();
        config.feedback.cause = agent.smart;
        let mut world = World::new(&config, agent, None);
        let [fixed, _] = world.transfer(MEBIBYTES_2, 0);
        assert!(world.lost > 20, "{} losses", world.lost);
        assert_eq!(fixed.recovered.fast_retransmissions, 0, "{fixed:?}");
        assert_eq!(fixed.recovered.timeouts, 0, "{fixed:?}");
        assert_eq!(fixed.sent.retransmitted_segments, 0);
    }
}

/// Without support for TCP the base station repairs too, but the sender receives the duplicates.
#[test]
fn a_plain_link_layer_competes_with_the_sender() {
    for agent in [snoop::Config::link_layer(), snoop::Config::smart()] {
        let mut config = reno();
        config.feedback.cause = agent.smart;
        let mut world = World::new(&config, agent, None);
        let [fixed, _] = world.transfer(MEBIBYTES_2, 0);
        assert!(fixed.recovered.fast_retransmissions > 10, "{fixed:?}");
    }
}

/// Losses before the base station are congestion, and stay visible.
#[test]
fn a_loss_on_the_wired_side_reaches_the_sender() {
    let mut world = World::new(&reno(), snoop::Config::tcp_aware(), None);
    world.wired_losses = vec![400, 800, 1_200];
    let [fixed, _] = world.transfer(MEBIBYTES_2, 0);
    let recovered = fixed.recovered;
    assert!(
        recovered.fast_retransmissions + recovered.timeouts >= 3,
        "{fixed:?}"
    );
}

#[test]
fn an_upload_is_repaired_from_below() {
    let agent = both_ways(snoop::Config::tcp_aware());
    let mut world = World::new(&reno(), agent, Some(MobileConfig::default()));
    let [_, mobile] = world.transfer(0, MEBIBYTES_2);
    assert!(world.lost > 20, "{} losses", world.lost);
    assert!(world.agent.counters().upload.asked > 10);
    assert!(mobile.recovered.fast_retransmissions <= 2, "{mobile:?}");
    // The same transfer without explicit loss notification.
    let off = snoop::Config::explicit_loss(ExplicitLoss::Off);
    let mut world = World::new(&reno(), off, None);
    let [_, alone] = world.transfer(0, MEBIBYTES_2);
    let count =
        |counters: Counters| counters.recovered.fast_retransmissions + counters.recovered.timeouts;
    assert!(
        count(alone) >= 4 * count(mobile),
        "{} {}",
        count(alone),
        count(mobile)
    );
}

#[test]
fn both_directions_at_once_are_repaired() {
    let agent = both_ways(snoop::Config::tcp_aware());
    let mut world = World::new(&reno(), agent, Some(MobileConfig::default()));
    let [fixed, mobile] = world.transfer(MEBIBYTES_2, MEBIBYTES_2);
    let helped = fixed.recovered.timeouts + mobile.recovered.timeouts;
    let off = snoop::Config::explicit_loss(ExplicitLoss::Off);
    let mut world = World::new(&reno(), off, None);
    let [fixed, mobile] = world.transfer(MEBIBYTES_2, MEBIBYTES_2);
    let alone = fixed.recovered.timeouts + mobile.recovered.timeouts;
    assert!(2 * helped < alone, "{helped} {alone}");
}

/// The agent's marks serve a sender that understands them: losses on the air do not reduce its window.
#[test]
fn marks_of_the_base_station_reach_an_eln_sender() {
    for (policy, marks) in [
        (Policy::Eln, ExplicitLoss::Next),
        (Policy::ElnRxmt, ExplicitLoss::Next),
        (Policy::SackEln, ExplicitLoss::Ranges),
    ] {
        let mut config = reno().with_policy(policy);
        config.feedback.marks = tcp::Marks::Off;
        let mut world = World::new(&config, snoop::Config::explicit_loss(marks), None);
        let [fixed, _] = world.transfer(MEBIBYTES_2, 0);
        let recovered = fixed.recovered;
        assert!(recovered.without_reduction > 10, "{policy:?}: {fixed:?}");
        assert!(
            2 * recovered.without_reduction > recovered.fast_retransmissions,
            "{policy:?}: {recovered:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    /// With every combination of agent, policy, losses and directions, both streams arrive completely.
    #[test]
    fn both_streams_arrive_through_any_agent(
        policy in prop::sample::select(Policy::ALL.to_vec()),
        switches in any::<[bool; 6]>(),
        marks in 0..3_u8,
        loss in 3..60_u64,
        bytes in (0..200_000_u64, 0..200_000_u64),
        wired_losses in prop::collection::vec(0..150_u64, 0..6),
    ) {
        let mut config = if switches[0] { Config::modern() } else { Config::bsd() };
        config = config.with_policy(policy);
        config.feedback.cause = switches[1] && config.feedback.marks == tcp::Marks::Off;
        config.acknowledging.delayed = switches[2];
        let agent = snoop::Config {
            tcp_aware: switches[3],
            smart: switches[1],
            negative_acknowledgments: switches[4],
            explicit_loss: [ExplicitLoss::Off, ExplicitLoss::Next, ExplicitLoss::Ranges][usize::from(marks)],
            ..snoop::Config::link_layer()
        };
        let link = switches[5].then(MobileConfig::default);
        let mut world = World::new(&config, agent, link);
        world.loss = Some(loss);
        world.wired_losses = wired_losses;
        world.transfer(bytes.0, bytes.1);
    }
}
