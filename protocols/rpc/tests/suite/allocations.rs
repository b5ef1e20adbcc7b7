//! Tests that no allocation depends on a length that the peer claims, and that a call needs little memory.

use std::sync::Arc;

use bytes::Bytes;
use machine::Machine;
use rpc::message::{Call, Credentials, Reply};
use rpc::record::{RecordReader, write_record};
use rpc::{Class, Client, Config, Input, Output, Procedure, Request, Ticket};
use units::{Duration, Instant};

fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|word| word.to_be_bytes()).collect()
}

#[test]
fn claims_cost_nothing() {
    let replies = [
        words(&[7, 1, 0, 0, u32::MAX]),
        words(&[7, 1, 0, 0, 400, 1]),
        words(&[7, 1, 1, 9]),
    ];
    for reply in replies {
        let spent = allocation_counter::measure(|| assert!(Reply::parse(&reply).is_err()));
        assert_eq!(spent.count_total, 0);
    }
    let calls = [
        words(&[7, 0, 2, 1, 1, 1, 1, u32::MAX]),
        words(&[7, 0, 2, 1, 1, 1, 1, 8, 0, u32::MAX, 0, 0]),
        words(&[7, 0, 2, 1, 1, 1, 1, 20, 0, 0, 0, 0, u32::MAX, 0, 0]),
    ];
    for call in calls {
        let spent = allocation_counter::measure(|| assert!(Call::parse(&call).is_err()));
        assert!(spent.bytes_total <= 400, "{}", spent.bytes_total);
    }
}

#[test]
fn a_record_costs_what_has_arrived_of_it() {
    let spent = allocation_counter::measure(|| {
        let mut reader = RecordReader::new(1 << 30);
        let mut stream = (1u32 << 30).to_be_bytes().to_vec();
        stream.extend([0; 1_000]);
        reader
            .read(&stream, |_| panic!("it is not complete"))
            .expect("it may go on");
    });
    assert!(spent.bytes_max <= 4_096, "{}", spent.bytes_max);
    let mut stream = Vec::new();
    write_record(&mut stream, |out| out.resize(30_000, 0));
    let mut reader = RecordReader::new(32_768);
    reader.read(&stream, |_| {}).expect("a record");
    let again = allocation_counter::measure(|| reader.read(&stream, |_| {}).expect("a record"));
    assert_eq!(again.count_total, 0);
}

#[test]
fn a_call_costs_a_few_allocations_and_no_more_with_time() {
    let mut client = Client::new(Config::default(), 1).expect("a configuration");
    let credentials = Arc::new(Credentials::None);
    let arguments = Bytes::from(vec![0; 4_096]);
    let mut now = Instant::ZERO;
    let mut exchange = |count: u64| {
        for ticket in 0..count {
            client.handle_input(
                now,
                Input::Call(Request {
                    ticket: Ticket(ticket),
                    procedure: Procedure {
                        program: 100_003,
                        version: 3,
                        number: 7,
                    },
                    class: Class::Write,
                    credentials: Arc::clone(&credentials),
                    arguments: arguments.clone(),
                    patience: None,
                }),
            );
            let Some(Output::Send(message)) = client.poll_output() else {
                panic!("nothing is sent");
            };
            now += Duration::from_millis(1);
            let xid = Call::parse(&message).expect("a call").xid;
            let mut reply = Vec::with_capacity(64);
            let outcome = Ok(&[0; 8][..]);
            Reply { xid, outcome }.write(&mut reply);
            client.handle_input(now, Input::Received(reply.into()));
            assert!(matches!(client.poll_output(), Some(Output::Answer(_))));
        }
    };
    exchange(1_000);
    let spent = allocation_counter::measure(|| exchange(1_000));
    assert!(spent.count_total <= 10_000, "{}", spent.count_total);
    assert_eq!(spent.count_current, 0);
}
