//! Tests of states that the public interface does not reach within a test's time.

use std::sync::Arc;

use machine::Machine;
use units::Instant;

use super::Client;
use crate::message::{Call, Credentials, Procedure};
use crate::{Class, Config, Input, Output, Request, Ticket};

fn transaction(client: &mut Client, ticket: u64) -> u32 {
    let request = Request {
        ticket: Ticket(ticket),
        procedure: Procedure {
            program: 1,
            version: 1,
            number: 1,
        },
        class: Class::Other,
        credentials: Arc::new(Credentials::None),
        arguments: bytes::Bytes::new(),
        patience: None,
    };
    client.handle_input(Instant::ZERO, Input::Call(request));
    let Some(Output::Send(message)) = client.poll_output() else {
        panic!("it is sent at once");
    };
    Call::parse(&message).unwrap().xid
}

#[test]
fn a_transaction_is_not_used_again_while_its_call_is_under_way() {
    let mut client = Client::new(Config::default(), 1).unwrap();
    client.next_xid = u32::MAX;
    assert_eq!(transaction(&mut client, 1), u32::MAX);
    assert_eq!(transaction(&mut client, 2), 0);
    // As after 2^32 − 2 more calls.
    client.next_xid = u32::MAX;
    assert_eq!(transaction(&mut client, 3), 1);
    client.handle_input(Instant::ZERO, Input::Cancel(Ticket(2)));
    client.next_xid = u32::MAX;
    assert_eq!(transaction(&mut client, 4), 0);
}

#[test]
fn transactions_start_where_the_seed_says() {
    let first = |seed| transaction(&mut Client::new(Config::default(), seed).unwrap(), 1);
    assert_eq!(first(1), first(1));
    assert_ne!(first(1), first(2));
}
