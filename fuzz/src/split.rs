//! TCP that is split at both ends of a hop, with applications, losses, resets, refusals, killed daemons, and daemons
//! that another process succeeds.
//!
//! The invariant (no stream ends short): if an application receives the end of a stream, it has received all of the
//! stream, and the other application has ended it. Every connection ends: complete, refused or reset.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use arq::Config;
use association::{Association, Profile, Reason, StreamConfig, StreamNews, TcpConfig, TcpMethod};
use machine::{Machine, RandomStream, earlier};
use redirector::Chunks;
use sockets::{Application, State, System};
use split::{
    ConnectionState, End, Input, Mobile, Origin, Output, Refusal, Scope, SocketId, Splitter,
};
use units::{Bytes, Duration, Instant};
use wire::flow::Ends;
use wire::ip::Ecn;
use wire::packet::{Packet, PacketBuffer};

use crate::outcome::note;

/// Bits of a tape's first byte: the paper's profile, and a mobile host without timers.
const PAPER: u8 = 1;
const LEAN: u8 = 2;

const MOBILE: usize = 0;
const GATEWAY: usize = 1;
/// One-way delay of the hop.
const DELAY: Duration = Duration::from_millis(20);
/// Longer than any wait of a connection: its close timeout, and timers at their longest back-off.
const LONG: Duration = Duration::from_secs(600);
/// Time after which an idle connection is reset.
const IDLE: Duration = Duration::from_secs(7_440);
/// Limit of connections in one tape.
const CONNECTIONS: usize = 64;

/// One end of the hop.
struct Host {
    splitter: Splitter<Chunks>,
    association: Association,
    system: System,
}

/// Both ends, and the hop between them.
struct World {
    hosts: [Host; 2],
    /// First byte of the tape.
    setting: u8,
    now: Instant,
    /// Frames in flight: by the time of their arrival and a number that keeps their order, the receiving host and the
    /// frame.
    air: BTreeMap<(Instant, u64), (usize, PacketBuffer)>,
    frames: u64,
    chance: RandomStream,
    /// Percentage of frames that are lost.
    lost: u64,
    lives: u64,
    connections: Vec<Ends>,
}

/// Runs applications at both ends and losses on the hop, both controlled by the tape.
pub fn split_tape(bytes: &[u8]) {
    let setting = bytes.first().copied().unwrap_or_default();
    let mut world = World::new(setting);
    for piece in crate::pieces(bytes.get(1..).unwrap_or_default()) {
        if let Some((kind, rest)) = piece.split_first() {
            world.step(kind % 16, rest);
            world.check();
        }
    }
    world.end();
}

fn host(index: usize, setting: u8) -> Host {
    let (addresses, end) = [
        (["10.9.0.2", "fd09::2"], End::Mobile),
        (["10.9.0.1", "fd09::1"], End::Gateway { transparent: true }),
    ][index];
    let networks = ["10.9.0.2/32", "fd09::2/128"];
    let config = split::Config {
        end,
        mobiles: vec![Mobile {
            peer: 0,
            networks: networks
                .map(|text| text.parse().expect("a network"))
                .to_vec(),
            scope: Scope::Every,
        }],
        buffer: Bytes::kibi(16 + u64::from(setting >> 4) * 16),
        connections: 16 + usize::from(setting >> 2 & 3) * 16,
        idle: IDLE,
        accepts_at_once: false,
        secret: 7,
    };
    Host {
        splitter: Splitter::new(config),
        association: association(index, setting, 0),
        system: System::new(addresses.map(|text| text.parse().expect("an address"))),
    }
}

fn association(index: usize, setting: u8, life: u64) -> Association {
    let tcp = TcpConfig {
        method: TcpMethod::Plain,
        at_gateway: index == GATEWAY,
        cache: Bytes::ZERO,
    };
    let streams = StreamConfig {
        profile: profile(setting),
        receive_buffer: None,
        connections: 64,
        lean: setting & LEAN != 0 && index == MOBILE,
        random: RandomStream::named(life, ["mobile", "gateway"][index]),
    };
    let association = Association::new(Config::new(1_400, 60), None, &tcp);
    association.with_streams(streams).expect("a configuration")
}

fn profile(setting: u8) -> Profile {
    if setting & PAPER == 0 {
        Profile::Wide
    } else {
        Profile::Paper
    }
}

impl World {
    fn new(setting: u8) -> Self {
        let mut world = Self {
            hosts: [host(MOBILE, setting), host(GATEWAY, setting)],
            setting,
            now: Instant::from_millis(1),
            air: BTreeMap::new(),
            frames: 0,
            chance: RandomStream::named(setting.into(), "losses"),
            lost: 0,
            lives: 0,
            connections: Vec::new(),
        };
        world.begin();
        world
    }

    /// Starts the streams at both ends.
    fn begin(&mut self) {
        for host in [MOBILE, GATEWAY] {
            let began = Input::StreamsBegan {
                peer: 0,
                profile: profile(self.setting),
                scope: Scope::Every,
            };
            self.hosts[host].splitter.handle_input(self.now, began);
            self.settle(host);
        }
    }

    /// Kills and restarts a daemon, or restarts only its peer's streams; both ends have new streams.
    fn renew(&mut self, killed: Option<usize>, setting: u8) {
        self.lives += 1;
        self.air.clear();
        for index in [MOBILE, GATEWAY] {
            let fresh = association(index, setting, self.lives);
            let ended = Input::StreamsEnded { peer: 0 };
            let now = self.now;
            let end = &mut self.hosts[index];
            end.association = fresh;
            if killed == Some(index) {
                end.splitter = host(index, setting).splitter;
                end.system.kill();
            } else {
                end.splitter.handle_input(now, ended);
                self.settle(index);
            }
        }
        self.begin();
    }

    /// Lets another process go on with the connections of a daemon, across a new association.
    fn succeed(&mut self, successor: usize) {
        self.lives += 1;
        self.air.clear();
        let now = self.now;
        for index in [MOBILE, GATEWAY] {
            let fresh = association(index, self.setting, self.lives);
            let end = &mut self.hosts[index];
            let mut former = std::mem::replace(&mut end.association, fresh);
            let (suspended, lost) = former.suspend_streams(now).expect("it has streams");
            let waits = Input::StreamsSuspended {
                peer: 0,
                until: None,
            };
            end.splitter.handle_input(now, waits);
            for id in lost {
                let news = StreamNews::Reset(id, Reason::TimedOut);
                let input = Input::Stream { peer: 0, news };
                end.splitter.handle_input(now, input);
            }
            self.settle(index);
            if index == successor {
                self.replace(index);
            }
            let end = &mut self.hosts[index];
            end.association.resume_streams(now, suspended);
            self.settle(index);
        }
        self.begin();
    }

    /// Replaces the process of a daemon, which hands its connections over as bytes.
    fn replace(&mut self, index: usize) {
        let end = &mut self.hosts[index];
        let connections = end.splitter.take_out();
        let bytes = postcard::to_allocvec(&connections).expect("bytes");
        let connections: Vec<(usize, ConnectionState<Chunks>)> =
            postcard::from_bytes(&bytes).expect("what it was");
        let sockets = connections.iter().flat_map(|(_, state)| {
            let binding = state.id;
            let sides = state.sockets();
            sides.map(move |side| SocketId { binding, side })
        });
        end.system.succeed(&sockets.collect());
        end.splitter = host(index, self.setting).splitter;
        for (owner, state) in connections {
            let resumed = Input::Resume { owner, state };
            end.splitter.handle_input(self.now, resumed);
        }
    }

    fn step(&mut self, kind: u8, rest: &[u8]) {
        let byte = |place: usize| rest.get(place).copied().unwrap_or_default();
        let (number, host) = (u64::from(byte(0)), usize::from(byte(1) & 1));
        let chosen = self
            .connections
            .get(usize::from(byte(1) >> 1) % CONNECTIONS.max(1));
        let ends = chosen.or(self.connections.last()).copied();
        match (kind, ends) {
            (0, _) => self.wait(Duration::from_millis(number)),
            (1, _) => self.wait(Duration::from_millis(number * number)),
            (2 | 3, _) => self.open(host, number),
            (4 | 5, _) => drop(self.hosts[host].system.answer(Ok(()))),
            (6, _) => drop(self.hosts[host].system.answer(Err(refusal(number)))),
            (7 | 8, Some(ends)) => self.hosts[host].system.write(&ends, number * 256),
            (9, Some(ends)) => self.hosts[host].system.finish(&ends),
            (10, Some(ends)) => self.hosts[host].system.reset(&ends),
            (11, Some(ends)) => self.hosts[host].system.set_reading(&ends, number & 1 == 0),
            (12, _) => self.lost = number % 60,
            (13, _) => self.lost = 100,
            (14, _) if number < 64 => self.renew(Some(host), self.setting),
            (15, _) if number < 32 => self.renew(None, self.setting),
            (14, _) if number < 192 => self.succeed(host),
            _ => self.lost = 0,
        }
        self.settle(host);
    }

    /// Opens a connection of an application, with a port that no other one has.
    fn open(&mut self, host: usize, number: u64) {
        if self.connections.len() >= CONNECTIONS {
            return;
        }
        let port = 1_024 + self.connections.len() as u16;
        let mobile = if number < 230 {
            [10, 9, 0, 2]
        } else {
            [10, 9, 0, 3]
        };
        let fixed = if number < 245 {
            [192, 0, 2, 1]
        } else {
            [10, 9, 0, 1]
        };
        let (source, destination): (SocketAddr, SocketAddr) = match host {
            MOBILE => ((mobile, port).into(), (fixed, 80).into()),
            _ => ((fixed, port).into(), (mobile, 22).into()),
        };
        self.connections.push(Ends {
            source,
            destination,
        });
        let syn = self.hosts[host].system.open(source, destination);
        self.take(host, Origin::Host, &syn);
        self.settle(host);
    }

    /// Takes a packet at a host; a packet that the splitter does not take ends here.
    fn take(&mut self, host: usize, origin: Origin, packet: &Packet) {
        let splitter = &mut self.hosts[host].splitter;
        let found = splitter.examine(origin, packet, |_| split::Choice::default());
        if let Some(found) = found {
            splitter.handle_input(self.now, Input::Found(found));
        }
    }

    /// Carries out the outputs of both machines and of the host's system until there are none.
    fn settle(&mut self, host: usize) {
        loop {
            let now = self.now;
            let Host {
                splitter,
                association,
                system,
            } = &mut self.hosts[host];
            if let Some(output) = splitter.poll_output() {
                match &output {
                    Output::System(request) => note(request),
                    Output::Stream { request, .. } => note(request),
                    Output::ToHost(_) | Output::ToHop(_) => note(&output),
                }
                match output {
                    Output::ToHost(packet) => drop(system.packet(&packet)),
                    Output::ToHop(_) => {}
                    Output::Stream { request, .. } => {
                        association.handle_input(now, association::Input::Streams(request));
                    }
                    Output::System(request) => system.carry_out(request),
                }
            } else if let Some(event) = system.poll_event() {
                note(&event);
                splitter.handle_input(now, Input::System(event));
            } else if let Some(output) = association.poll_output() {
                match output {
                    association::Output::Frame { frame, .. } => self.launch(1 - host, frame),
                    association::Output::Streams(news) => {
                        note(&news);
                        splitter.handle_input(now, Input::Stream { peer: 0, news });
                    }
                    _ => {}
                }
            } else {
                return;
            }
        }
    }

    fn launch(&mut self, to: usize, frame: PacketBuffer) {
        if self.chance.below(100) >= self.lost {
            let key = (self.now + DELAY, self.frames);
            self.frames += 1;
            self.air.insert(key, (to, frame));
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let own = self.hosts.iter().map(|host| {
            earlier(
                host.splitter.poll_timeout(),
                host.association.poll_timeout(),
            )
        });
        let air = self.air.first_key_value().map(|((at, _), _)| *at);
        own.fold(air, earlier)
    }

    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(at) = self.deadline().filter(|at| *at <= end) {
            self.now = at.max(self.now);
            let now = self.now;
            while let Some(entry) = self.air.first_entry()
                && entry.key().0 <= now
            {
                let (to, frame) = entry.remove();
                let frame = association::Input::Frame {
                    arrived: now,
                    frame,
                    ecn: Ecn::NotCapable,
                };
                self.hosts[to].association.handle_input(now, frame);
                self.settle(to);
            }
            for host in [MOBILE, GATEWAY] {
                let machines = &mut self.hosts[host];
                machines.association.handle_timeout(now);
                machines.splitter.handle_timeout(now);
                self.settle(host);
            }
        }
        self.now = end.max(self.now);
    }

    /// Checks the invariant for all applications.
    fn check(&self) {
        for host in [MOBILE, GATEWAY] {
            for (ends, reader) in self.hosts[host].system.applications() {
                let writer = self.hosts[1 - host].system.application(ends);
                let written = writer.map_or(0, Application::written);
                assert!(
                    reader.received() <= written,
                    "{ends:?}: more than was written"
                );
                if reader.has_seen_end() {
                    let finished = writer.is_some_and(Application::has_finished);
                    let whole = finished && reader.received() == written;
                    assert!(
                        whole,
                        "{ends:?} at {host}: ended after {} of {written}",
                        reader.received()
                    );
                }
            }
        }
    }

    /// Ends the losses, and lets all applications read and finish: every connection must end, too.
    fn end(&mut self) {
        self.lost = 0;
        for _ in 0..4 {
            for host in [MOBILE, GATEWAY] {
                while self.hosts[host].system.answer(Ok(())).is_some() {
                    self.settle(host);
                }
                for ends in self.connections.clone() {
                    self.hosts[host].system.set_reading(&ends, true);
                    self.hosts[host].system.finish(&ends);
                    self.settle(host);
                }
            }
            self.wait(LONG);
            self.check();
        }
        self.check_ended(false);
        // A lost reset is noticed by the other end only through the idle timeout.
        self.wait(IDLE);
        self.check();
        self.check_ended(true);
        for host in [MOBILE, GATEWAY] {
            let status = self.hosts[host].splitter.status();
            let left = (status.counters.open, self.hosts[host].system.sockets());
            assert_eq!(left, (0, 0), "at {host}");
        }
    }

    /// Checks that every connection has ended; those with a reset at their other end only if `all` is true.
    fn check_ended(&self, all: bool) {
        for host in [MOBILE, GATEWAY] {
            for (ends, application) in self.hosts[host].system.applications() {
                let open = application.state() == State::Open && !application.has_seen_end();
                let other = self.hosts[1 - host].system.application(ends);
                let is_excused = other.is_none_or(|other| other.state() == State::Reset) && !all;
                assert!(
                    !open || is_excused,
                    "{ends:?} at {host} never ended: {application:?}, {other:?}"
                );
            }
        }
    }
}

fn refusal(number: u64) -> Refusal {
    match number % 5 {
        0 => Refusal::Refused,
        1 => Refusal::NetworkUnreachable,
        2 => Refusal::HostUnreachable,
        3 => Refusal::Prohibited,
        _ => Refusal::NoAnswer,
    }
}
