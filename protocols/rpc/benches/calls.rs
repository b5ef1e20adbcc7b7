//! The cost of a call and its reply: `cargo bench -p rpc`.

use std::sync::Arc;

use bytes::Bytes;
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use machine::Machine;
use rpc::message::{Call, Credentials, Identity, Reply, SystemCredentials};
use rpc::record::write_record;
use rpc::{Class, Client, Config, Input, Output, Procedure, Request, Ticket};
use units::{Duration, Instant};

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

const CALLS: usize = 1_000;

fn main() {
    divan::main();
}

struct Exchange {
    client: Client,
    now: Instant,
    request: Request,
    results: Bytes,
    stream: bool,
}

impl Exchange {
    /// Returns calls with `arguments` bytes of arguments, and `results` bytes of results.
    fn new(stream: bool, arguments: usize, results: usize) -> Self {
        let config = if stream {
            Config::stream(units::Bytes::mebi(1))
        } else {
            Config::default()
        };
        let mut client = Client::new(config, 1).expect("a configuration");
        client.handle_input(Instant::ZERO, Input::Connected);
        let credentials = SystemCredentials::new(1, "mobile", Identity::default());
        Self {
            client,
            now: Instant::ZERO,
            request: Request {
                ticket: Ticket(0),
                procedure: Procedure {
                    program: 100_003,
                    version: 3,
                    number: 7,
                },
                class: Class::Write,
                credentials: Arc::new(Credentials::System(credentials.expect("short enough"))),
                arguments: vec![7; arguments].into(),
                patience: None,
            },
            results: vec![7; results].into(),
            stream,
        }
    }

    fn run(&mut self) {
        for _ in 0..CALLS {
            self.request.ticket.0 += 1;
            let call = Input::Call(self.request.clone());
            self.client.handle_input(self.now, call);
            let Some(Output::Send(message)) = self.client.poll_output() else {
                panic!("a call goes out at once");
            };
            self.now += Duration::from_millis(1);
            let message = &message[if self.stream { 4 } else { 0 }..];
            let xid = Call::parse(message).expect("a call").xid;
            let outcome = Ok(&self.results[..]);
            let reply = Reply { xid, outcome };
            let mut bytes = Vec::with_capacity(self.results.len() + 64);
            if self.stream {
                write_record(&mut bytes, |bytes| reply.write(bytes));
            } else {
                reply.write(&mut bytes);
            }
            let received = Input::Received(bytes.into());
            self.client.handle_input(self.now, received);
            let answer = self.client.poll_output();
            assert!(matches!(answer, Some(Output::Answer(_))));
        }
    }
}

/// Arguments and results of an attribute lookup, a write and a read, in bytes.
const SIZES: [(usize, usize); 3] = [(36, 96), (32_768, 150), (52, 32_768)];

#[divan::bench(args = SIZES)]
fn datagrams(bencher: Bencher, (arguments, results): (usize, usize)) {
    let mut exchange = Exchange::new(false, arguments, results);
    bencher
        .counter(ItemsCount::new(CALLS))
        .counter(BytesCount::new(CALLS * (arguments + results)))
        .bench_local(|| exchange.run());
}

#[divan::bench(args = SIZES)]
fn stream(bencher: Bencher, (arguments, results): (usize, usize)) {
    let mut exchange = Exchange::new(true, arguments, results);
    bencher
        .counter(ItemsCount::new(CALLS))
        .counter(BytesCount::new(CALLS * (arguments + results)))
        .bench_local(|| exchange.run());
}
