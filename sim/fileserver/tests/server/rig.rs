//! A client that calls and waits.

use std::borrow::Cow;

use bytes::Bytes;
use fileserver::{Config, Fault, Input, Output, Peer, Server};
use machine::Machine;
use nfs::{
    Answer, Call, Create, CreateHow, Created, FileHandle, Limits, LookUp, Name, NewAttributes,
    Place, Request, Stability, Status, Value, Write, Written,
};
use rpc::Procedure;
use rpc::message::{Credentials, Identity, Refusal, Reply, SystemCredentials};
use units::{Duration, Instant};

/// The calling client.
pub(crate) const PEER: Peer = Peer(1);

/// A server, and the current time.
pub(crate) struct Rig {
    pub(crate) server: Server,
    pub(crate) now: Instant,
    xid: u32,
    reply: Bytes,
}

/// Returns `text` as a name.
pub(crate) fn name(text: &str) -> Name<'_> {
    Name::new(text.as_bytes()).expect("a name")
}

/// Returns the bytes of a call.
pub(crate) fn message(xid: u32, procedure: Procedure, arguments: &[u8]) -> Bytes {
    let identity = Identity {
        user: 1_000,
        group: 100,
        groups: vec![4, 5],
    };
    let credentials = SystemCredentials::new(9, "client", identity).expect("short credentials");
    let mut message = Vec::new();
    rpc::message::Call {
        xid,
        procedure,
        credentials: Cow::Owned(Credentials::System(credentials)),
        arguments,
    }
    .write(&mut message);
    message.into()
}

/// Returns the bytes of an NFS call.
pub(crate) fn nfs_message<'a>(xid: u32, call: impl Into<Call<'a>>) -> Bytes {
    let call = call.into();
    let mut arguments = Vec::new();
    call.encode(&mut arguments);
    message(xid, call.procedure().into(), &arguments)
}

impl Default for Rig {
    fn default() -> Self {
        Self::new(Config::default())
    }
}

impl Rig {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            server: Server::new(config).expect("a configuration"),
            now: Instant::from_millis(1),
            xid: 0,
            reply: Bytes::new(),
        }
    }

    pub(crate) fn root(&self) -> FileHandle {
        self.server.root()
    }

    pub(crate) fn input(&mut self, input: Input) {
        self.server.handle_input(self.now, input);
    }

    pub(crate) fn fault(&mut self, fault: Fault) {
        self.input(Input::Fault(fault));
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, from: Peer, message: &Bytes) {
        let message = message.clone();
        self.input(Input::Received { from, message });
    }

    /// Returns the next reply to `peer`, and waits as long as needed.
    pub(crate) fn receive(&mut self) -> Option<(Peer, Bytes)> {
        loop {
            if let Some(Output::Send { to, message }) = self.server.poll_output() {
                return Some((to, message));
            }
            self.now = self.server.poll_timeout()?.max(self.now);
            self.server.handle_timeout(self.now);
        }
    }

    /// Advances the time.
    pub(crate) fn wait(&mut self, span: Duration) {
        self.now += span;
        self.server.handle_timeout(self.now);
    }

    /// Returns the results of a call, or the refusal.
    pub(crate) fn results(
        &mut self,
        procedure: Procedure,
        arguments: &[u8],
    ) -> Result<&[u8], Refusal> {
        self.xid += 1;
        let message = message(self.xid, procedure, arguments);
        self.send(PEER, &message);
        let (to, reply) = self.receive().expect("a reply");
        assert_eq!(to, PEER);
        self.reply = reply;
        let reply = Reply::parse(&self.reply).expect("a reply");
        assert_eq!(reply.xid, self.xid);
        reply.outcome
    }

    /// Returns the answer of the server.
    pub(crate) fn ask<'a, R: Request + Into<Call<'a>>>(&mut self, request: R) -> Answer<'_, R> {
        let call: Call<'a> = request.into();
        let mut arguments = Vec::new();
        call.encode(&mut arguments);
        let results = self.results(R::PROCEDURE.into(), &arguments);
        let results = results.expect("results");
        let limits = Limits {
            name: 4_096,
            ..Limits::USUAL
        };
        Answer::<R>::decode(results, &limits).expect("an answer")
    }

    /// Returns the result of a successful call.
    pub(crate) fn done<'a, R: Request + Into<Call<'a>>>(&mut self, request: R) -> R::Done<'_> {
        self.ask(request).done().expect("to be done")
    }

    /// Returns the status of a failed call.
    pub(crate) fn status<'a, R: Request + Into<Call<'a>>>(&mut self, request: R) -> Status {
        match self.ask(request).done() {
            Ok(_) => panic!("{} was done", R::PROCEDURE),
            Err(status) => status,
        }
    }

    /// Creates a file below the root.
    pub(crate) fn create(&mut self, file: &str) -> FileHandle {
        let new = NewAttributes::default();
        let created: Created = self.done(Create {
            place: self.place(file),
            how: CreateHow::Guarded(new),
        });
        created.object.expect("a handle")
    }

    /// Returns the place of a name below the root.
    pub(crate) fn place<'a>(&self, file: &'a str) -> Place<'a> {
        Place {
            directory: self.root(),
            name: name(file),
        }
    }

    /// Returns the handle of a name below the root.
    pub(crate) fn look_up(&mut self, file: &str) -> Result<FileHandle, Status> {
        let place = self.place(file);
        let found = self.ask(LookUp { place }).done();
        found.map(|found| found.object)
    }

    /// Writes data.
    pub(crate) fn write(
        &mut self,
        file: FileHandle,
        offset: u64,
        data: &[u8],
        stability: Stability,
    ) -> Written {
        self.done(Write {
            file,
            offset,
            stability,
            data,
        })
    }
}
