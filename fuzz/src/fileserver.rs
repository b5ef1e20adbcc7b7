//! The file server, and clients that send anything.

use bytes::Bytes;
use fileserver::{Config, FalseAnswer, Fault, Faults, Input, Output, Peer, Server, Service};
use machine::Machine;
use nfs::{Numbered, Procedure, Status, Value};
use rpc::message::{Call, Credentials, Reply};
use units::{Duration, Instant, Probability};

use crate::outcome::note;

/// Capacity of the server's disk, in bytes.
const DISK: u64 = 1 << 18;
/// Largest message, in bytes.
const MESSAGE_MAX: u64 = 4_096;
/// Time after which the server has sent everything that it will send.
const LONG: Duration = Duration::from_secs(3_600);

/// The server, and the last message sent to it.
struct Watched {
    server: Server,
    now: Instant,
    last: Bytes,
    /// True if everything that the server sends is complete.
    whole: bool,
}

/// Runs messages of any bytes, calls with any arguments, copies, waits, crashes and faults, in any order. The first
/// byte chooses the service time and the reply cache.
pub fn fileserver_calls(bytes: &[u8]) {
    let Some((setting, tape)) = bytes.split_first() else {
        return;
    };
    let config = Config {
        disk: units::Bytes::new(DISK),
        longest_message: units::Bytes::new(MESSAGE_MAX),
        reply_cache: usize::from(setting % 4),
        service: Service {
            per_call: Duration::from_millis(u64::from(setting / 4 % 4)),
            receive_buffer: units::Bytes::new(4 * MESSAGE_MAX),
            ..Service::default()
        },
        ..Config::default()
    };
    let mut watched = Watched {
        server: Server::new(config).expect("a configuration"),
        now: Instant::from_millis(1),
        last: Bytes::new(),
        whole: true,
    };
    for piece in crate::pieces(tape) {
        if let Some((kind, rest)) = piece.split_first() {
            watched.step(kind % 8, rest);
        }
    }
    watched.wait(LONG);
    assert_eq!(watched.server.poll_timeout(), None);
    assert!(watched.server.free() <= DISK);
    assert!(watched.server.tree().len() as u64 <= DISK / 512);
}

impl Watched {
    fn step(&mut self, kind: u8, rest: &[u8]) {
        let byte = |index: usize| rest.get(index).copied().unwrap_or_default();
        match kind {
            0 => self.wait(Duration::from_millis(byte(0).into())),
            1 | 2 => self.send(byte(0), rest.get(1..).unwrap_or_default().to_vec().into()),
            3 | 4 => self.call(byte(0), byte(1), rest.get(2..).unwrap_or_default()),
            5 => self.send(byte(0), self.last.clone()),
            6 if byte(0) % 8 == 0 => self.input(Input::Restart),
            6 => self.wait(Duration::from_millis(1)),
            _ => {
                let fault = self.fault(byte(0), byte(1));
                self.input(Input::Fault(fault));
            }
        }
    }

    /// Sends a call on the root, with any arguments after it.
    fn call(&mut self, from: u8, procedure: u8, arguments: &[u8]) {
        let mut with_root = Vec::new();
        self.server.root().encode(&mut with_root);
        with_root.extend(arguments);
        let procedure = Procedure::ALL[usize::from(procedure) % Procedure::ALL.len()];
        let mut message = Vec::new();
        Call {
            xid: from.into(),
            procedure: procedure.into(),
            credentials: std::borrow::Cow::Owned(Credentials::None),
            arguments: &with_root,
        }
        .write(&mut message);
        self.send(from, message.into());
    }

    fn fault(&mut self, which: u8, how: u8) -> Fault {
        let some = Probability::ratio(how.into(), 255);
        match which % 6 {
            0 => Fault::FalseAnswer(FalseAnswer::ALL.get(usize::from(how)).copied()),
            1 => Fault::ForgetCookies,
            2 => Fault::Stale(self.server.root()),
            3 => Fault::Refuse {
                procedure: Procedure::ALL[usize::from(how) % Procedure::ALL.len()],
                status: Status::InputOutput,
                calls: how.into(),
            },
            4 => Fault::Silent(how.is_multiple_of(4)),
            _ => {
                self.whole = false;
                Fault::Chances(Faults {
                    repeated_requests: some,
                    delayed_replies: some,
                    delay: Duration::from_millis(20),
                    wrong_transactions: some,
                    broken_replies: some,
                    short_transfers: some,
                    ..Faults::default()
                })
            }
        }
    }

    fn send(&mut self, from: u8, message: Bytes) {
        self.last = message.clone();
        let from = Peer(u64::from(from % 4));
        self.input(Input::Received { from, message });
    }

    fn input(&mut self, input: Input) {
        self.server.handle_input(self.now, input);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(Output::Send { message, .. }) = self.server.poll_output() {
            let reply = Reply::parse(&message);
            note(&reply.map(|reply| reply.outcome.map(<[u8]>::len)));
            if self.whole {
                assert!(message.len() as u64 <= MESSAGE_MAX);
                assert!(Reply::parse(&message).is_ok());
            }
        }
        let due = self.server.poll_timeout();
        assert!(due.is_none_or(|due| due >= self.now));
    }

    /// Lets time pass.
    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(due) = self.server.poll_timeout().filter(|due| *due <= end) {
            self.now = due;
            self.server.handle_timeout(due);
            self.drain();
        }
        self.now = end;
    }
}
