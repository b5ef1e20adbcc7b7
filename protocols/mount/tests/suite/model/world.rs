//! Two hosts, a server and the network between them, with a clock.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use files::{Client, ServerLimits};
use fileserver::{Peer, Server};
use machine::{Machine, RandomStream, Step, earlier};
use mount::{
    Answer, Caller, Config, FileSystem, Input, Memory, Node, Operation, Output, Request, RequestId,
    Tape,
};
use simulator::testing::{Clock, Next};
use units::{Duration, Instant, Probability};

/// Longer than any request may take.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// A host: its mount and its file client.
pub(super) struct Host {
    pub(super) system: FileSystem,
    pub(super) client: Client,
    answers: BTreeMap<RequestId, Answer>,
    /// Inputs and outputs of the mount.
    pub(super) tape: Tape,
}

enum Arrival {
    AtServer(Bytes),
    AtHost(Bytes),
}

pub(super) struct World {
    pub(super) hosts: [Host; 2],
    pub(super) server: Server,
    clock: Clock<(usize, Arrival)>,
    loss: Probability,
    chance: RandomStream,
    requests: u64,
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
            let rpc = rpc::Client::new(rpc::Config::default(), number).expect("a configuration");
            let files = files::Config {
                block: files::BlockSize::Fixed(2_048),
                ..files::Config::default()
            };
            Host {
                system: FileSystem::new(&config(server.root())),
                client: Client::new(files, ServerLimits::default(), rpc, number)
                    .expect("a configuration"),
                answers: BTreeMap::new(),
                tape: Tape::default(),
            }
        };
        Self {
            hosts: [host(1), host(2)],
            server,
            clock: Clock::new(Instant::from_millis(1_000)),
            loss: Probability::ratio(u64::from(seed % 16), 100),
            chance: RandomStream::named(seed.into(), "way"),
            requests: 0,
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

    fn tell_mount(&mut self, number: usize, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let host = &mut self.hosts[number];
            host.tape.record(Step::Input(self.clock.now, input.clone()));
            host.system.handle_input(self.clock.now, input);
            self.drain_mount(number, &mut inputs);
        }
    }

    fn drain_mount(&mut self, number: usize, inputs: &mut VecDeque<Input>) {
        let host = &mut self.hosts[number];
        let mut asked = Vec::new();
        while let Some(output) = host.system.poll_output() {
            host.tape.record(Step::Output(output.clone()));
            match output {
                Output::Answer(request, answer) => {
                    let before = host.answers.insert(request, answer);
                    assert!(before.is_none(), "{request:?} was answered twice");
                }
                Output::ReadGroups { request, .. } => inputs.push_back(Input::Groups {
                    request,
                    groups: vec![4, 5],
                }),
                Output::ReadSignals {
                    interrupt, waiting, ..
                } => inputs.push_back(Input::Signals {
                    interrupt,
                    waiting,
                    wants_to_end: true,
                }),
                Output::Files(request) => asked.push(files::Input::Request(request)),
                Output::Cancel(ticket) => asked.push(files::Input::Cancel(ticket)),
                Output::ForgetAttributes(_) => {}
                Output::Log(fault) => panic!("the server is honest: {fault}"),
            }
        }
        for input in asked {
            self.tell_client(number, input);
        }
    }

    fn tell_client(&mut self, number: usize, input: files::Input) {
        self.hosts[number]
            .client
            .handle_input(self.clock.now, input);
        self.drain_client(number);
    }

    fn drain_client(&mut self, number: usize) {
        while let Some(output) = self.hosts[number].client.poll_output() {
            match output {
                files::Output::Send(bytes) => self.send(number, Arrival::AtServer(bytes)),
                files::Output::Answer(answer) => self.tell_mount(number, Input::Files(answer)),
                files::Output::Silent { .. }
                | files::Output::Answering { .. }
                | files::Output::Reconnect => {}
            }
        }
    }

    /// Runs the next event until `end`. Returns false if there is none.
    fn step(&mut self, end: Instant) -> bool {
        let hosts = self.hosts.iter();
        let timers = hosts.map(|host| (host.client.poll_timeout(), host.system.poll_timeout()));
        let timers = timers.map(|(client, system)| earlier(client, system));
        let deadline = timers.fold(self.server.poll_timeout(), earlier);
        match self.clock.advance(end, deadline) {
            Next::Event((host, Arrival::AtServer(message))) => {
                let from = Peer(host as u64);
                self.tell_server(fileserver::Input::Received { from, message });
            }
            Next::Event((host, Arrival::AtHost(message))) => {
                self.tell_client(host, files::Input::Received(message));
            }
            Next::End => return false,
            Next::Deadline => {
                self.server.handle_timeout(self.clock.now);
                self.drain_server();
                for number in 0..2 {
                    self.hosts[number].client.handle_timeout(self.clock.now);
                    self.drain_client(number);
                    let host = &mut self.hosts[number];
                    host.tape.record(Step::Timeout(self.clock.now));
                    host.system.handle_timeout(self.clock.now);
                    self.drain_mount(number, &mut VecDeque::new());
                }
            }
        }
        true
    }

    pub(super) fn wait(&mut self, span: Duration) {
        let end = self.clock.now + span;
        while self.step(end) {}
    }

    pub(super) fn start(&mut self, host: usize, node: Node, operation: Operation) -> RequestId {
        self.requests += 1;
        let id = RequestId(self.requests);
        self.tell_mount(
            host,
            Input::Request(Request {
                id,
                caller: Caller {
                    user: 1_000,
                    group: 1_000,
                    process: 7,
                },
                node,
                operation,
            }),
        );
        id
    }

    pub(super) fn end(&mut self, host: usize, id: RequestId) -> Answer {
        let end = self.clock.now + PATIENCE;
        while !self.hosts[host].answers.contains_key(&id) {
            assert!(self.step(end), "{id:?} never ends");
        }
        self.hosts[host].answers.remove(&id).expect("just seen")
    }

    pub(super) fn call(&mut self, host: usize, node: Node, operation: Operation) -> Answer {
        let id = self.start(host, node, operation);
        self.end(host, id)
    }

    /// Looks up a name; `None` if it does not exist.
    pub(super) fn look_up(&mut self, host: usize, name: &str) -> Option<mount::Found> {
        match self.call(host, Node::ROOT, Operation::LookUp(name.to_owned().into())) {
            Answer::Entry(entry) => entry.found,
            other => panic!("look up {name}: {other:?}"),
        }
    }

    pub(super) fn forget(&mut self, host: usize, node: Node) {
        let forget = Operation::Forget(vec![(node, 1)]);
        self.tell_mount(
            host,
            Input::Request(Request {
                id: RequestId(0),
                caller: Caller {
                    user: 0,
                    group: 0,
                    process: 0,
                },
                node: Node(0),
                operation: forget,
            }),
        );
    }
}
