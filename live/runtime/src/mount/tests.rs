//! The file system between a kernel and a client of files that are both scripts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use edges::fuse::{
    Answer, Caller, Entry, Handle, Kernel, Node, OpenFlags, Operation, Request, RequestId,
};
use files::{Error, Found, ListPlace, Listed, OpenFile, Operation as Wanted, Reply, Ticket};
use nfs::{Attributes, CookieVerifier, Device, FileHandle, FileType, Status, Time, Times};
use rpc::message::Credentials;
use rustix::io::Errno;

use super::*;
use crate::files::CallError;
use crate::lock;

const DATA: Bytes = Bytes::from_static(b"data");

type Done = Box<dyn FnOnce(Result<Reply, CallError>) + Send>;

/// A kernel that keeps the answers.
#[derive(Default)]
struct Listener {
    answers: Mutex<Vec<(u64, Answer)>>,
    forgotten: Mutex<Vec<Node>>,
    /// It waits for nothing any more.
    deaf: bool,
}

impl Kernel for Listener {
    fn next_request(&self) -> std::io::Result<Option<Request>> {
        Ok(None)
    }

    fn answer(&self, request: RequestId, answer: &Answer) -> bool {
        lock(&self.answers).push((request.0, answer.clone()));
        !self.deaf
    }

    fn forget_attributes(&self, node: Node) {
        lock(&self.forgotten).push(node);
    }
}

/// Files whose requests wait until the test says what came of them.
#[derive(Default)]
struct Desk {
    waiting: Mutex<Vec<(Ticket, Wanted, Done)>>,
    tickets: AtomicU64,
}

impl FileService for Arc<Desk> {
    fn submit(
        &self,
        _: &Arc<Credentials>,
        operation: Wanted,
        done: impl FnOnce(Result<Reply, CallError>) + Send + 'static,
    ) -> Ticket {
        let ticket = Ticket(self.tickets.fetch_add(1, Ordering::Relaxed));
        lock(&self.waiting).push((ticket, operation, Box::new(done)));
        ticket
    }

    fn cancel(&self, ticket: Ticket) {
        let mut waiting = lock(&self.waiting);
        let position = waiting.iter().position(|(other, ..)| *other == ticket);
        let (.., done) = waiting.remove(position.unwrap());
        drop(waiting);
        done(Err(CallError::Cancelled));
    }
}

struct Rig {
    kernel: Arc<Listener>,
    desk: Arc<Desk>,
    system: Arc<FileSystem<Arc<Desk>>>,
    requests: AtomicU64,
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

impl Rig {
    fn new() -> Self {
        Self::with(Listener::default())
    }

    /// One whose kernel remembers for a while.
    fn remembering() -> Self {
        let second = Duration::from_secs(1);
        let memory = Memory {
            names: second,
            attributes: second,
        };
        Self::of(Listener::default(), memory)
    }

    fn with(kernel: Listener) -> Self {
        Self::of(kernel, Memory::default())
    }

    fn of(kernel: Listener, memory: Memory) -> Self {
        let (kernel, desk) = (Arc::new(kernel), Arc::new(Desk::default()));
        let settings = Settings {
            root: handle(0),
            machine: "test".into(),
            stamp: 1,
            memory,
        };
        let listener: Arc<dyn Kernel> = Arc::clone(&kernel) as _;
        Self {
            system: FileSystem::new(listener, Arc::clone(&desk), &settings).unwrap(),
            kernel,
            desk,
            requests: AtomicU64::new(100),
        }
    }

    /// The kernel asks in the name of nobody that can be seen.
    fn ask(&self, node: Node, operation: Operation) -> u64 {
        let id = self.requests.fetch_add(1, Ordering::Relaxed);
        self.system.take(Request {
            id: RequestId(id),
            caller: Caller {
                user: 1,
                group: 2,
                process: 0,
            },
            node,
            operation,
        });
        id
    }

    /// What the client of files was asked last, which now has this result.
    fn serve(&self, result: Result<Reply, Error>) -> Wanted {
        let (_, wanted, done) = lock(&self.desk.waiting).pop().unwrap();
        done(result.map_err(CallError::Files));
        wanted
    }

    fn asked(&self) -> usize {
        lock(&self.desk.waiting).len()
    }

    fn answer(&self, request: u64) -> Option<Answer> {
        let answers = lock(&self.kernel.answers);
        let of = answers.iter().find(|(other, _)| *other == request);
        of.map(|(_, answer)| answer.clone())
    }

    /// The node of a file that was looked up.
    fn look_up(&self, number: u8, kind: FileType) -> Node {
        let request = self.ask(Node::ROOT, Operation::LookUp("name".into()));
        self.serve(Ok(Reply::Found(found(number, kind))));
        match self.answer(request) {
            Some(Answer::Entry(Entry { found, .. })) => found.unwrap().node,
            other => panic!("{other:?}"),
        }
    }

    fn open(&self, node: Node, number: u8) {
        let request = self.ask(node, Operation::Open(OpenFlags::default()));
        let opened = Reply::Opened(OpenFile(number.into()), found(number, FileType::Regular));
        self.serve(Ok(opened));
        assert!(matches!(self.answer(request), Some(Answer::Opened(_))));
    }

    /// Appends [`DATA`] to the file with handle 1; `offset` is where the kernel believes that it ends.
    fn append(&self, node: Node, offset: u64) -> u64 {
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
    let rig = Rig::new();
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
    let rig = Rig::new();
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
    let rig = Rig::new();
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
    let rig = Rig::new();
    let request = rig.ask(Node::ROOT, Operation::Attributes);
    let mut attributes = found(0, FileType::Directory).attributes;
    attributes.size = 1 << 63;
    rig.serve(Ok(Reply::Attributes(attributes)));
    assert_eq!(rig.answer(request), Some(Answer::Error(Errno::IO)));
}

#[test]
fn what_the_kernel_did_not_take_is_given_back() {
    let rig = Rig::with(Listener {
        deaf: true,
        ..Listener::default()
    });
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
    let rig = Rig::new();
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
    let rig = Rig::new();
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
    let rig = Rig::remembering();
    let node = rig.look_up(1, FileType::Regular);
    for (size, forgotten) in [(10, 1), (10, 1), (11, 2)] {
        rig.ask(node, Operation::Open(OpenFlags::default()));
        let mut file = found(1, FileType::Regular);
        file.attributes.size = size;
        rig.serve(Ok(Reply::Opened(OpenFile(size), file)));
        assert_eq!(*lock(&rig.kernel.forgotten), vec![node; forgotten]);
    }
}

#[test]
fn that_there_is_nothing_is_remembered_like_a_name() {
    let rig = Rig::remembering();
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
    let rig = Rig::new();
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
    let rig = Rig::new();
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
    let rig = Rig::new();
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
    // Back to a place in the middle, with what the server knows it by.
    rig.ask(Node::ROOT, list(3));
    let wanted = rig.serve(page(Vec::new(), None));
    assert!(matches!(wanted, Wanted::List { from, .. } if from == place(3)));
}

#[test]
fn every_error_of_the_protocol_has_its_number() {
    for (status, errno) in [
        (Status::NoEntry, Errno::NOENT),
        (Status::NoSpace, Errno::NOSPC),
        (Status::QuotaExceeded, Errno::DQUOT),
        (Status::BadHandle, Errno::STALE),
        (Status::NameTooLong, Errno::NAMETOOLONG),
        (Status::NotEmpty, Errno::NOTEMPTY),
    ] {
        let procedure = nfs::Procedure::Write;
        let error = CallError::Files(Error::Refused { procedure, status });
        assert_eq!(errno_of(&error), errno);
    }
    let failure = rpc::Failure::Expired(units::Duration::from_secs(5));
    let procedure = nfs::Procedure::Write;
    let expired = CallError::Files(Error::Failed { procedure, failure });
    assert_eq!(errno_of(&expired), Errno::TIMEDOUT);
}
