//! Two hosts, a server and the network between them, with a clock.

use bytes::Bytes;
use files::ServerLimits;
use fileserver::{Peer, Server};
use machine::{Machine, RandomStream, earlier};
use mount::{Config, Memory, Tape};
use programs::{Action, Ground, Host, Output, Programs, Reference};
use simulator::testing::{Clock, Next};
use units::{Duration, Instant, Probability};

/// Longer than any request may take.
const PATIENCE: Duration = Duration::from_secs(3_600);

enum Arrival {
    AtServer(Bytes),
    AtHost(Bytes),
}

pub(super) struct World {
    pub(super) hosts: [Host; 2],
    programs: [Programs; 2],
    pub(super) reference: Reference,
    pub(super) server: Server,
    clock: Clock<(usize, Arrival)>,
    loss: Probability,
    chance: RandomStream,
}

pub(super) fn config(root: nfs::FileHandle) -> Config {
    Config {
        root,
        machine: "model".into(),
        stamp: 1,
        memory: Memory::within(&files::Validity::default()),
    }
}

impl World {
    pub(super) fn new(seed: u8) -> Self {
        let server = Server::new(fileserver::Config::default()).expect("a configuration");
        let host = |number: u64| {
            let files = files::Config {
                block: files::BlockSize::Fixed(2_048),
                ..files::Config::default()
            };
            let (mount, limits) = (config(server.root()), ServerLimits::default());
            let host = Host::new(&mount, files, limits, rpc::Config::default(), number);
            let mut host = host.expect("a configuration");
            host.tape = Some(Tape::default());
            host
        };
        Self {
            hosts: [host(1), host(2)],
            programs: [Programs::new(0), Programs::new(1)],
            reference: Reference::new(""),
            server,
            clock: Clock::new(Instant::from_millis(1_000)),
            loss: Probability::ratio(u64::from(seed % 16), 100),
            chance: RandomStream::named(seed.into(), "way"),
        }
    }

    fn send(&mut self, host: usize, arrival: Arrival) {
        if !self.chance.chance(self.loss) {
            let delay = Duration::from_millis(1 + self.chance.below(5));
            self.clock.add_after(delay, (host, arrival));
        }
    }

    pub(super) fn tell_server(&mut self, input: fileserver::Input) {
        self.server.handle_input(self.clock.now, input);
        self.drain_server();
    }

    fn drain_server(&mut self) {
        while let Some(fileserver::Output::Send { to, message }) = self.server.poll_output() {
            self.send(to.0 as usize, Arrival::AtHost(message));
        }
    }

    /// Lets the programs of a host go on, and sends what the host has to send.
    fn go_on(&mut self, number: usize) {
        self.with_programs(number, Programs::go_on);
        let host = &self.hosts[number];
        assert!(
            host.logged.is_empty(),
            "the server is honest: {:?}",
            host.logged
        );
        while let Some(output) = self.hosts[number].poll_output() {
            if let Output::Send(bytes) = output {
                self.send(number, Arrival::AtServer(bytes));
            }
        }
    }

    fn with_programs(
        &mut self,
        number: usize,
        act: impl FnOnce(&mut Programs, &mut Ground<'_>) -> Result<(), programs::Broken>,
    ) {
        let mut ground = Ground {
            now: self.clock.now,
            host: &mut self.hosts[number],
            reference: &mut self.reference,
            server: &self.server,
        };
        if let Err(broken) = act(&mut self.programs[number], &mut ground) {
            panic!("{broken}");
        }
    }

    /// Runs the next event until `end`. Returns false if there is none.
    fn step(&mut self, end: Instant) -> bool {
        let timers = self.hosts.iter().map(Host::poll_timeout);
        let deadline = timers.fold(self.server.poll_timeout(), earlier);
        match self.clock.advance(end, deadline) {
            Next::Event((host, Arrival::AtServer(message))) => {
                let from = Peer(host as u64);
                self.tell_server(fileserver::Input::Received { from, message });
            }
            Next::Event((host, Arrival::AtHost(message))) => {
                self.hosts[host].receive(self.clock.now, files::Input::Received(message));
                self.go_on(host);
            }
            Next::End => return false,
            Next::Deadline => {
                self.server.handle_timeout(self.clock.now);
                self.drain_server();
                for number in 0..2 {
                    self.hosts[number].handle_timeout(self.clock.now);
                    self.go_on(number);
                }
            }
        }
        true
    }

    pub(super) fn wait(&mut self, span: Duration) {
        let end = self.clock.now + span;
        while self.step(end) {}
    }

    /// Begins an action of a program.
    pub(super) fn start(&mut self, host: usize, action: Action) {
        self.programs[host].act(action);
        self.go_on(host);
    }

    /// Sends a signal to the program of a host.
    pub(super) fn interrupt(&mut self, host: usize) {
        self.with_programs(host, Programs::interrupt);
        self.go_on(host);
    }

    /// Lets the programs of a host end what they began.
    pub(super) fn end(&mut self, host: usize) {
        let end = self.clock.now + PATIENCE;
        while let Some((call, _)) = self.programs[host].waiting() {
            assert!(self.step(end), "{call} never ends");
        }
    }

    pub(super) fn act(&mut self, host: usize, action: Action) {
        self.start(host, action);
        self.end(host);
    }
}
