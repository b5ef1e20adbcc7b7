//! Tests of the file system between a scripted kernel and a scripted file client.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use files::{Error, Found, ListPlace, Listed, OpenFile, Operation as Wanted, Reply, Ticket};
use machine::Machine;
use mount::{
    Answer, Caller, Config, Entry, Errno, FileSystem, Handle, Input, Memory, Node, OpenFlags,
    Operation, Output, Request, RequestId,
};
use nfs::{Attributes, CookieVerifier, Device, FileHandle, FileType, Status, Time, Times};
use units::{Duration, Instant};

const DATA: Bytes = Bytes::from_static(b"data");

struct Rig {
    system: FileSystem,
    now: Instant,
    requests: u64,
    /// Answers to the kernel.
    answers: BTreeMap<RequestId, Answer>,
    forgotten: Vec<Node>,
    /// Set if the kernel no longer accepts answers.
    deaf: bool,
    /// Set if signals shall end the waiting process.
    ending: bool,
    /// Requests to the file client that have not ended.
    waiting: Vec<(Ticket, Wanted)>,
    /// Inputs and the times between them.
    inputs: Vec<(Duration, Input)>,
}

fn handle(number: u8) -> FileHandle {
    FileHandle::new(&[number]).unwrap()
}

fn found(number: u8, kind: FileType) -> Found {
    let attributes = Attributes {
        kind,
        mode: 0o644,
        links: 1,
        user: 1,
        group: 2,
        size: 10,
        used: 512,
        device: Device::default(),
        file_system: 1,
        file_id: 1_000 + u64::from(number),
        times: Times::default(),
    };
    Found {
        file: handle(number),
        attributes,
    }
}

fn config(memory: Memory) -> Config {
    Config {
        root: handle(0),
        machine: "test".into(),
        stamp: 1,
        memory,
    }
}

/// Cache times of a kernel that caches for a while.
const REMEMBERING: Memory = Memory {
    names: Duration::from_secs(1),
    attributes: Duration::from_secs(1),
};

impl Rig {
    fn new() -> Self {
        Self::of(Memory::default())
    }

    fn of(memory: Memory) -> Self {
        Self {
            system: FileSystem::new(&config(memory)),
            now: Instant::ZERO,
            requests: 100,
            answers: BTreeMap::new(),
            forgotten: Vec::new(),
            deaf: false,
            ending: true,
            waiting: Vec::new(),
            inputs: Vec::new(),
        }
    }

    fn input(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            self.inputs.push((Duration::ZERO, input.clone()));
            self.system.handle_input(self.now, input);
            self.drain(&mut inputs);
        }
    }

    fn drain(&mut self, inputs: &mut VecDeque<Input>) {
        while let Some(output) = self.system.poll_output() {
            match output {
                Output::Answer(request, answer) => {
                    if self.deaf {
                        inputs.push_back(Input::NotTaken(answer.clone()));
                    }
                    self.answers.insert(request, answer);
                }
                Output::ForgetAttributes(node) => self.forgotten.push(node),
                Output::ReadGroups { request, .. } => {
                    let groups = vec![3];
                    inputs.push_back(Input::Groups { request, groups });
                }
                Output::ReadSignals {
                    interrupt, waiting, ..
                } => inputs.push_back(Input::Signals {
                    interrupt,
                    waiting,
                    wants_to_end: self.ending,
                }),
                Output::Files(request) => self.waiting.push((request.ticket, request.operation)),
                Output::Cancel(ticket) => {
                    let position = self.waiting.iter().position(|(other, _)| *other == ticket);
                    self.waiting.remove(position.unwrap());
                }
                Output::Log(_) => {}
            }
        }
    }

    /// Lets a time pass that has a deadline at its end.
    fn wait(&mut self, span: Duration) {
        self.now += span;
        assert_eq!(self.system.poll_timeout(), Some(self.now));
        self.system.handle_timeout(self.now);
        self.drain(&mut VecDeque::new());
    }

    /// Sends a request in the name of a process that is not visible.
    fn ask(&mut self, node: Node, operation: Operation) -> u64 {
        self.requests += 1;
        let id = self.requests;
        self.input(Input::Request(Request {
            id: RequestId(id),
            caller: Caller {
                user: 1,
                group: 2,
                process: 0,
            },
            node,
            operation,
        }));
        id
    }

    /// Ends the last request to the file client with this result.
    fn serve(&mut self, result: Result<Reply, Error>) -> Wanted {
        let (ticket, wanted) = self.waiting.pop().unwrap();
        self.input(Input::Files(files::Answer { ticket, result }));
        wanted
    }

    fn asked(&self) -> usize {
        self.waiting.len()
    }

    fn answer(&self, request: u64) -> Option<Answer> {
        self.answers.get(&RequestId(request)).cloned()
    }

    /// Returns the node of a file after a look-up.
    fn look_up(&mut self, number: u8, kind: FileType) -> Node {
        let request = self.ask(Node::ROOT, Operation::LookUp("name".into()));
        self.serve(Ok(Reply::Found(found(number, kind))));
        match self.answer(request) {
            Some(Answer::Entry(Entry { found, .. })) => found.unwrap().node,
            other => panic!("{other:?}"),
        }
    }

    fn open(&mut self, node: Node, number: u8) {
        let request = self.ask(node, Operation::Open(OpenFlags::default()));
        let opened = Reply::Opened(OpenFile(number.into()), found(number, FileType::Regular));
        self.serve(Ok(opened));
        assert!(matches!(self.answer(request), Some(Answer::Opened(_))));
    }

    /// Appends [`DATA`] to the file with handle 1; `offset` is the kernel's assumed end of the file.
    fn append(&mut self, node: Node, offset: u64) -> u64 {
        let write = Operation::Write {
            handle: Handle(1),
            offset,
            data: DATA,
            append: true,
        };
        self.ask(node, write)
    }
}

#[test]
fn a_node_is_one_file_until_the_kernel_forgets_it() {
    let mut rig = Rig::new();
    let node = rig.look_up(1, FileType::Regular);
    assert_ne!(node, Node::ROOT);
    assert_eq!(rig.look_up(1, FileType::Regular), node);
    rig.ask(Node(0), Operation::Forget(vec![(node, 1)]));
    assert_eq!(rig.system.waiting().nodes, 2, "one reference is left");
    rig.ask(Node(0), Operation::Forget(vec![(node, 1), (Node::ROOT, 9)]));
    assert_eq!(rig.system.waiting().nodes, 1, "the root stays");
    let stale = rig.ask(node, Operation::Attributes);
    assert_eq!(rig.answer(stale), Some(Answer::Error(Errno::STALE)));
    assert_ne!(
        rig.look_up(1, FileType::Regular),
        node,
        "numbers are not used again"
    );
}

#[test]
fn a_file_that_becomes_a_directory_is_another_one() {
    let mut rig = Rig::new();
    let node = rig.look_up(1, FileType::Regular);
    let request = rig.ask(node, Operation::Attributes);
    rig.serve(Ok(Reply::Attributes(
        found(1, FileType::Directory).attributes,
    )));
    assert_eq!(rig.answer(request), Some(Answer::Error(Errno::STALE)));
    assert_ne!(rig.look_up(1, FileType::Directory), node);
}

#[test]
fn the_number_of_a_file_is_the_servers() {
    let mut rig = Rig::new();
    let request = rig.ask(Node::ROOT, Operation::Attributes);
    let mut attributes = found(0, FileType::Directory).attributes;
    attributes.times.modified = Time {
        seconds: u32::MAX,
        nanoseconds: u32::MAX,
    };
    rig.serve(Ok(Reply::Attributes(attributes)));
    let Some(Answer::Attributes(told, _)) = rig.answer(request) else {
        panic!()
    };
    assert_eq!(told.number, 1_000);
    assert_eq!(told.mode.0, 0o040_644);
    assert_eq!(told.modified.1, 999_999_999, "a time that is a time");
}

#[test]
fn a_size_that_no_file_can_have_is_an_error() {
    let mut rig = Rig::new();
    let request = rig.ask(Node::ROOT, Operation::Attributes);
    let mut attributes = found(0, FileType::Directory).attributes;
    attributes.size = 1 << 63;
    rig.serve(Ok(Reply::Attributes(attributes)));
    assert_eq!(rig.answer(request), Some(Answer::Error(Errno::IO)));
}

#[test]
fn what_the_kernel_did_not_take_is_given_back() {
    let mut rig = Rig::new();
    rig.deaf = true;
    rig.ask(Node::ROOT, Operation::LookUp("name".into()));
    rig.serve(Ok(Reply::Found(found(1, FileType::Regular))));
    assert_eq!(rig.system.waiting().nodes, 1);
    rig.ask(Node::ROOT, Operation::Open(OpenFlags::default()));
    rig.serve(Ok(Reply::Opened(
        OpenFile(7),
        found(0, FileType::Directory),
    )));
    assert_eq!(rig.serve(Ok(Reply::Done)), Wanted::Close(OpenFile(7)));
    assert_eq!(rig.system.waiting().open_files, 0);
}

#[test]
fn a_file_that_could_not_be_cut_is_not_left_open() {
    let mut rig = Rig::new();
    let node = rig.look_up(1, FileType::Regular);
    let flags = OpenFlags {
        truncate: true,
        exclusive: false,
    };
    let request = rig.ask(node, Operation::Open(flags));
    rig.serve(Ok(Reply::Opened(OpenFile(7), found(1, FileType::Regular))));
    let cut = rig.serve(Err(Error::Refused {
        procedure: nfs::Procedure::SetAttributes,
        status: Status::ReadOnly,
    }));
    assert!(matches!(cut, Wanted::SetAttributes { attributes, .. } if attributes.size == Some(0)));
    assert_eq!(rig.answer(request), Some(Answer::Error(Errno::ROFS)));
    assert_eq!(rig.serve(Ok(Reply::Done)), Wanted::Close(OpenFile(7)));
}

#[test]
fn content_is_kept_between_two_openings_if_nothing_changed() {
    let mut rig = Rig::new();
    let node = rig.look_up(1, FileType::Regular);
    let mut keeps = Vec::new();
    for (open, size) in [(7, 10), (8, 10), (9, 11)] {
        let request = rig.ask(node, Operation::Open(OpenFlags::default()));
        let mut file = found(1, FileType::Regular);
        file.attributes.size = size;
        rig.serve(Ok(Reply::Opened(OpenFile(open), file)));
        let Some(Answer::Opened(opened)) = rig.answer(request) else {
            panic!()
        };
        keeps.push(opened.keep_content);
    }
    assert_eq!(keeps, [false, true, false]);
}

#[test]
fn who_opens_a_file_sees_its_present_attributes() {
    let mut rig = Rig::of(REMEMBERING);
    let node = rig.look_up(1, FileType::Regular);
    for (size, forgotten) in [(10, 1), (10, 1), (11, 2)] {
        rig.ask(node, Operation::Open(OpenFlags::default()));
        let mut file = found(1, FileType::Regular);
        file.attributes.size = size;
        rig.serve(Ok(Reply::Opened(OpenFile(size), file)));
        assert_eq!(rig.forgotten, vec![node; forgotten]);
    }
}

#[test]
fn that_there_is_nothing_is_remembered_like_a_name() {
    let mut rig = Rig::of(REMEMBERING);
    let request = rig.ask(Node::ROOT, Operation::LookUp("nothing".into()));
    let (procedure, status) = (nfs::Procedure::LookUp, Status::NoEntry);
    rig.serve(Err(Error::Refused { procedure, status }));
    let Some(Answer::Entry(entry)) = rig.answer(request) else {
        panic!()
    };
    assert_eq!(
        (entry.found, entry.name_valid),
        (None, Duration::from_secs(1))
    );
    assert_eq!(rig.system.waiting().nodes, 1);
}

#[test]
fn a_signal_cancels_also_what_comes_after_the_first_step() {
    let mut rig = Rig::new();
    let node = rig.look_up(1, FileType::Regular);
    rig.open(node, 1);
    let request = rig.append(node, 10);
    assert_eq!(rig.system.waiting().requests, 1);
    rig.ask(Node(0), Operation::Interrupt(RequestId(request)));
    assert_eq!(rig.answer(request), Some(Answer::Error(Errno::INTR)));
    assert_eq!((rig.asked(), rig.system.waiting().requests), (0, 0));
    rig.ask(Node(0), Operation::Interrupt(RequestId(request)));
    assert_eq!(rig.asked(), 0, "it was answered already");
}

#[test]
fn appending_goes_to_the_end_that_the_server_knows() {
    let mut rig = Rig::new();
    let node = rig.look_up(1, FileType::Regular);
    rig.open(node, 1);
    let request = rig.append(node, 3);
    let attributes = found(1, FileType::Regular).attributes;
    rig.serve(Ok(Reply::Attributes(attributes)));
    let (open, offset) = (OpenFile(1), attributes.size);
    assert_eq!(
        rig.serve(Ok(Reply::Done)),
        Wanted::Write {
            open,
            offset,
            data: DATA
        }
    );
    assert_eq!(rig.answer(request), Some(Answer::Written(4)));
}

#[test]
fn bad_names_are_left_out_and_empty_pages_passed_over() {
    let mut rig = Rig::new();
    let opened = rig.ask(Node::ROOT, Operation::OpenDirectory);
    let Some(Answer::Opened(directory)) = rig.answer(opened) else {
        panic!()
    };
    let place = |cookie| ListPlace {
        cookie,
        verifier: CookieVerifier([1; 8]),
    };
    let listed = |name: &'static [u8], cookie| Listed {
        name: Bytes::from_static(name),
        file_id: cookie,
        next: place(cookie),
        found: Some(found(5, FileType::Regular)),
    };
    let list = |offset| Operation::List {
        handle: directory.handle,
        offset,
        size: 4_096,
        with_entries: true,
    };
    let page = |entries, next| Ok(Reply::Page { entries, next });
    let request = rig.ask(Node::ROOT, list(0));
    let bad = vec![listed(b"a/b", 1), listed(b"", 2)];
    rig.serve(page(bad, Some(place(2))));
    assert_eq!(rig.answer(request), None, "nothing to tell yet");
    let wanted = rig.serve(page(vec![listed(b"..", 3), listed(b"good", 4)], None));
    assert!(matches!(wanted, Wanted::List { from, .. } if from == place(2)));
    let Some(Answer::Listing(listing)) = rig.answer(request) else {
        panic!()
    };
    assert!(!listing.is_empty());
    assert_eq!(rig.system.waiting().nodes, 2, "only `good` is referred to");
    let end = rig.ask(Node::ROOT, list(4));
    assert!(matches!(rig.answer(end), Some(Answer::Listing(rest)) if rest.is_empty()));
    // Back to an offset in the middle, with the server's cookie.
    rig.ask(Node::ROOT, list(3));
    let wanted = rig.serve(page(Vec::new(), None));
    assert!(matches!(wanted, Wanted::List { from, .. } if from == place(3)));
}

#[test]
fn another_signal_is_looked_at_again_and_ends_nothing() {
    let mut rig = Rig::new();
    rig.ending = false;
    let request = rig.ask(Node::ROOT, Operation::Attributes);
    let interrupt = rig.ask(Node(0), Operation::Interrupt(RequestId(request)));
    assert_eq!((rig.answer(request), rig.answer(interrupt)), (None, None));
    rig.wait(Duration::from_millis(200));
    assert_eq!(rig.answer(interrupt), Some(Answer::Error(Errno::AGAIN)));
    rig.ending = true;
    rig.ask(Node(0), Operation::Interrupt(RequestId(request)));
    assert_eq!(rig.answer(request), Some(Answer::Error(Errno::INTR)));
}

#[test]
fn what_waits_fails_when_the_connection_is_closed() {
    let mut rig = Rig::new();
    let request = rig.ask(Node::ROOT, Operation::Attributes);
    rig.input(Input::Closed);
    assert_eq!(rig.answer(request), Some(Answer::Error(Errno::SHUTDOWN)));
    assert_eq!(rig.system.waiting().requests, 0);
}

#[test]
fn the_core_keeps_the_contract_of_machines() {
    let mut rig = Rig::of(REMEMBERING);
    let node = rig.look_up(1, FileType::Regular);
    rig.open(node, 1);
    let request = rig.append(node, 3);
    rig.ending = false;
    rig.ask(Node(0), Operation::Interrupt(RequestId(request)));
    rig.ending = true;
    rig.ask(Node(0), Operation::Interrupt(RequestId(request)));
    rig.ask(node, Operation::Close(Handle(1)));
    rig.serve(Ok(Reply::Done));
    let build = || FileSystem::new(&config(REMEMBERING));
    machine::conformance::check(build, &rig.inputs, Duration::from_secs(1));
}
