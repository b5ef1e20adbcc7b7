//! The NFS client of `protocols/files`, with a server whose replies arrive late, changed, or never.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use files::{
    BlockSize, Client, Config, Entry, Input, ListPlace, OpenFile, Operation, Output, Reply,
    Request, ServerLimits, Ticket,
};
use fileserver::{Peer, Server};
use machine::Machine;
use nfs::{FileHandle, NewAttributes, Numbered, Procedure};
use rpc::LinkEvent;
use rpc::message::{Call, Credentials};
use units::{Duration, Instant};

use crate::outcome::note;

/// Limit of written data that the client holds before writers wait.
const DIRTY_MAX: u64 = 65_536;
/// Largest write.
const WRITE_MAX: usize = 20_000;

/// Limit of replies at one instant.
const REPLIES_MAX: u32 = 5_000;

/// Client and server, with the checks on the client.
struct Watched {
    client: Client,
    server: Server,
    now: Instant,
    tickets: u64,
    open: BTreeSet<Ticket>,
    files: VecDeque<OpenFile>,
    handles: VecDeque<FileHandle>,
    /// Replies that have not arrived.
    replies: VecDeque<Bytes>,
    /// True if calls and replies arrive without further steps of the tape.
    honest: bool,
}

/// Runs requests of all kinds, and replies that are genuine, changed, repeated or lost; the server restarts now and
/// then. In the end everything arrives, and every request must end.
pub fn files_tape(bytes: &[u8]) {
    let config = Config {
        block: BlockSize::Fixed(4_096),
        dirty_limit: units::Bytes::new(DIRTY_MAX),
        ..Config::default()
    };
    let rpc = rpc::Client::new(rpc::Config::default(), 1).expect("a configuration");
    let client = Client::new(config, ServerLimits::default(), rpc, 1).expect("a configuration");
    let mut server = Server::new(fileserver::Config::default()).expect("a configuration");
    for name in ["a", "b/c", "d"] {
        server.add_file(name, &[7; 9_000]).expect("room");
    }
    let root = server.root();
    let mut watched = Watched {
        client,
        server,
        now: Instant::from_millis(1),
        tickets: 0,
        open: BTreeSet::new(),
        files: VecDeque::new(),
        handles: VecDeque::from([root]),
        replies: VecDeque::new(),
        honest: false,
    };
    for piece in crate::pieces(bytes) {
        if let Some((kind, rest)) = piece.split_first() {
            watched.step(kind % 8, rest);
        }
    }
    watched.honest = true;
    watched.replies.clear();
    watched.wait(Duration::from_secs(2_000));
    assert!(watched.open.is_empty(), "never ended: {:?}", watched.open);
}

impl Watched {
    fn step(&mut self, kind: u8, rest: &[u8]) {
        let number = u64::from(rest.first().copied().unwrap_or_default());
        match kind {
            0 => self.wait(Duration::from_millis(number * number)),
            1 => self.arrive(&[]),
            2 => self.arrive(rest),
            3 => drop(self.replies.pop_front()),
            4 if number % 8 == 0 => self.hear(fileserver::Input::Restart),
            4 => {
                let ticket = self.open.iter().nth(number as usize).copied();
                if let Some(ticket) = ticket.filter(|ticket| self.open.remove(ticket)) {
                    self.input(Input::Cancel(ticket));
                }
            }
            5 if number % 8 == 0 => self.input(Input::Link(LinkEvent::FadeBegan)),
            5 => self.honest = number % 2 == 0,
            _ => {
                let operation = self.operation(rest);
                self.tickets += 1;
                let ticket = Ticket(self.tickets);
                self.open.insert(ticket);
                self.input(Input::Request(Request {
                    ticket,
                    caller: Arc::new(Credentials::None),
                    operation,
                }));
            }
        }
    }

    /// Delivers the first waiting reply with some bits changed.
    fn arrive(&mut self, changes: &[u8]) {
        if let Some(reply) = self.replies.pop_front() {
            let mut reply = reply.to_vec();
            for (byte, bits) in reply.iter_mut().skip(20).zip(changes) {
                *byte ^= bits;
            }
            self.input(Input::Received(reply.into()));
        }
    }

    fn handle(&self, number: u8) -> FileHandle {
        self.handles[usize::from(number) % self.handles.len()]
    }

    fn entry(&self, number: u8) -> Entry {
        let names = ["a", "b", "c", "d", "e"];
        let name = names[usize::from(number) % names.len()];
        Entry::new(self.handle(number / 8), name.as_bytes()).expect("a name")
    }

    fn operation(&self, rest: &[u8]) -> Operation {
        let byte = |index: usize| rest.get(index).copied().unwrap_or_default();
        let entry = self.entry(byte(1));
        let file = self.handle(byte(2));
        let attributes = NewAttributes {
            mode: Some(0o644),
            size: (byte(3) % 4 == 0).then(|| u64::from(byte(4)) * 100),
            ..NewAttributes::default()
        };
        let open = self
            .files
            .get(usize::from(byte(2)) % self.files.len().max(1));
        let open = open.copied().unwrap_or(OpenFile(0));
        let offset = u64::from(byte(3)) * 100;
        match byte(0) % 18 {
            0 => Operation::LookUp(entry),
            1 => Operation::Attributes(file),
            2 => Operation::SetAttributes { file, attributes },
            3 => Operation::Open(file),
            4 | 5 => Operation::Create {
                entry,
                attributes,
                exclusive: byte(5) % 2 == 0,
            },
            6 => Operation::Remove(entry),
            7 => Operation::Rename {
                from: entry,
                to: self.entry(byte(6)),
            },
            8 => Operation::Link { file, entry },
            9 => Operation::List {
                directory: file,
                from: ListPlace::START,
            },
            10 => Operation::MakeDirectory { entry, attributes },
            11 => Operation::MakeSymbolicLink {
                entry,
                target: Bytes::from_static(b"a/b"),
                attributes,
            },
            12 => Operation::Close(open),
            13 => Operation::Flush(open),
            14 => Operation::Sync,
            15 => Operation::Read {
                open,
                offset,
                count: u32::from(byte(4)) * 100,
            },
            _ => Operation::Write {
                open,
                offset,
                data: vec![byte(5); usize::from(byte(4)) * (WRITE_MAX / 255)].into(),
            },
        }
    }

    fn input(&mut self, input: Input) {
        self.client.handle_input(self.now, input);
        self.drain();
    }

    fn hear(&mut self, input: fileserver::Input) {
        self.server.handle_input(self.now, input);
        while let Some(fileserver::Output::Send { message, .. }) = self.server.poll_output() {
            self.replies.push_back(message);
        }
    }

    fn drain(&mut self) {
        let mut replies = 0;
        loop {
            while let Some(output) = self.client.poll_output() {
                match output {
                    Output::Send(message) => {
                        let call = Call::parse(&message).map(|call| call.procedure.number);
                        note(&call.map(|number| Procedure::ALL.get(number as usize)));
                        let from = Peer(1);
                        self.hear(fileserver::Input::Received { from, message });
                    }
                    Output::Answer(answer) => self.answered(answer.ticket, &answer.result),
                    _ => {}
                }
            }
            let reply = self.replies.pop_front_if(|_| self.honest);
            replies += 1;
            assert!(replies < REPLIES_MAX, "it asks without end");
            match reply {
                Some(reply) => self.client.handle_input(self.now, Input::Received(reply)),
                None => break,
            }
        }
        self.replies.truncate(64);
        let kept = self.client.unsafe_bytes();
        assert!(
            kept <= 2 * DIRTY_MAX + 2 * WRITE_MAX as u64,
            "{kept} bytes are kept"
        );
        assert!(self.client.poll_timeout().is_none_or(|due| due >= self.now));
    }

    fn answered(&mut self, ticket: Ticket, result: &Result<Reply, files::Error>) {
        note(result);
        assert!(self.open.remove(&ticket), "an answer that nobody waits for");
        match result {
            Ok(Reply::Opened(open, found)) => {
                self.files.push_front(*open);
                self.files.truncate(8);
                self.handles.push_back(found.file);
            }
            Ok(Reply::Found(found)) => self.handles.push_back(found.file),
            Ok(_) => {}
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        if self.handles.len() > 8 {
            self.handles.remove(1);
        }
    }

    /// Lets time pass.
    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(due) = self.client.poll_timeout().filter(|due| *due <= end) {
            assert!(due >= self.now, "a deadline that has passed");
            self.now = due;
            self.client.handle_timeout(due);
            self.drain();
        }
        self.now = end;
    }
}
