//! Tests of the client over a stream.

use bytes::Bytes;
use machine::conformance;
use rpc::message::Call;
use rpc::record::{RecordReader, write_record};
use rpc::{Answer, Config, Failure, Input, LinkEvent, Output, Ticket};
use units::Duration;

use super::drive::{Driven, call, echo, millis, soft};

fn driven() -> Driven {
    Driven::new(Config::stream(units::Bytes::kibi(96)))
}

/// Returns the call in a record.
fn unmarked(bytes: &[u8]) -> Bytes {
    let mut records = Vec::new();
    let mut reader = RecordReader::new(1_000);
    let read = reader.read(bytes, |record| records.push(Bytes::copy_from_slice(record)));
    assert_eq!((read, records.len()), (Ok(()), 1));
    records.remove(0)
}

fn marked(message: &[u8]) -> Bytes {
    let mut stream = Vec::new();
    write_record(&mut stream, |out| out.extend(message));
    stream.into()
}

fn answers(outputs: Vec<Output>) -> Vec<Answer> {
    let answer = |output| match output {
        Output::Answer(answer) => Some(answer),
        _ => None,
    };
    outputs.into_iter().filter_map(answer).collect()
}

#[test]
fn calls_wait_for_a_stream_and_replies_come_in_pieces() {
    let mut driven = driven();
    assert_eq!(driven.input(call(1)), []);
    let outputs = driven.input(Input::Connected);
    let [Output::Send(first)] = &outputs[..] else {
        panic!("{outputs:?}");
    };
    let second = driven.sends(call(2));
    // Nothing is lost on a stream, so nothing is sent again.
    assert!(driven.sendings(Duration::from_secs(30)).is_empty());
    assert_eq!(driven.input(Input::Link(LinkEvent::HandoffDone)), []);
    let replies = [&second, first].map(|message| marked(&echo(&unmarked(message))));
    let stream = Bytes::from(replies.concat());
    let mut tickets = Vec::new();
    for place in 0..stream.len() {
        let piece = stream.slice(place..=place);
        let answers = answers(driven.input(Input::Received(piece)));
        tickets.extend(
            answers
                .iter()
                .map(|answer| (answer.ticket, answer.transmissions)),
        );
    }
    assert_eq!(tickets, [(Ticket(2), 1), (Ticket(1), 1)]);
}

#[test]
fn results_that_are_none_are_not_asked_for_again_since_nothing_is_damaged_on_a_stream() {
    let mut driven = driven();
    driven.client = driven.client.checking(|_, _| false);
    driven.input(Input::Connected);
    let message = driven.sends(call(1));
    let answer = driven.answered(marked(&echo(&unmarked(&message))));
    assert_eq!((answer.result.is_ok(), answer.transmissions), (true, 1));
    assert_eq!(driven.client.counters().received.malformed, 1);
}

#[test]
fn a_new_stream_carries_the_same_bytes_again() {
    let mut driven = driven();
    driven.input(Input::Connected);
    let messages = [1, 2].map(|ticket| driven.sends(call(ticket)));
    assert_eq!(driven.input(Input::Disconnected), []);
    assert_eq!(driven.input(call(3)), []);
    // Bytes from a closed stream do not count.
    let late = marked(&echo(&unmarked(&messages[0])));
    assert_eq!(driven.input(Input::Received(late.clone())), []);
    let outputs = driven.input(Input::Connected);
    let [
        Output::Send(first),
        Output::Send(second),
        Output::Send(third),
    ] = &outputs[..]
    else {
        panic!("{outputs:?}");
    };
    assert_eq!([first, second], [&messages[0], &messages[1]]);
    assert_eq!(
        Call::parse(&unmarked(third)).unwrap().arguments,
        3u64.to_be_bytes()
    );
    assert_eq!(driven.answered(late).transmissions, 2);
    assert_eq!(driven.client.counters().repeated.reconnected, 2);
}

#[test]
fn a_silent_stream_is_given_up() {
    let mut driven = driven();
    driven.input(Input::Connected);
    driven.sends(call(1));
    driven.wait(Duration::from_secs(50));
    // Any byte ends the silence.
    driven.input(Input::Received(Bytes::from_static(&[0x80])));
    let seen = driven.wait(Duration::from_secs(100));
    assert_eq!(seen, [(110_000, Output::Reconnect)]);
    assert_eq!(driven.wait(Duration::from_secs(1_000)), []);
    driven.input(Input::Connected);
    assert_eq!(driven.client.counters().sent.messages, 2);
    assert_eq!(
        driven.wait(millis(60_000)),
        [(1_210_000, Output::Reconnect)]
    );
}

#[test]
fn a_stream_on_which_nobody_waits_is_kept() {
    let mut driven = driven();
    driven.input(Input::Connected);
    let message = driven.sends(call(1));
    driven.answered(marked(&echo(&unmarked(&message))));
    driven.sends(call(2));
    driven.input(Input::Cancel(Ticket(2)));
    assert_eq!(driven.wait(Duration::from_secs(1_000)), []);
    // The timeout of the next call starts with it.
    driven.sends(call(3));
    let seen = driven.wait(Duration::from_secs(60));
    assert_eq!(seen.last(), Some(&(1_060_000, Output::Reconnect)));
}

#[test]
fn a_stream_that_makes_no_sense_is_given_up() {
    let mut driven = driven();
    driven.input(Input::Connected);
    driven.sends(call(1));
    let outputs = driven.input(Input::Received(Bytes::from_static(&[0xff; 9])));
    assert_eq!(outputs, [Output::Reconnect]);
    assert_eq!(driven.client.counters().received.broken_streams, 1);
    let outputs = driven.input(Input::Connected);
    let [Output::Send(message)] = &outputs[..] else {
        panic!("{outputs:?}");
    };
    // A record that is no reply to a call in flight: there will be no other.
    let damaged = echo(&unmarked(message)).slice(..8);
    let answers = answers(driven.input(Input::Received(marked(&damaged))));
    assert!(matches!(answers[0].result, Err(Failure::Malformed(_))));
}

#[test]
fn soft_calls_expire_without_a_stream_too() {
    let mut driven = driven();
    driven.input(soft(1, millis(300)));
    let seen = driven.wait(millis(400));
    assert!(matches!(&seen[..], [(300, Output::Answer(_))]));
    driven.input(Input::Connected);
    assert_eq!(driven.client.counters().sent.messages, 0);
}

#[test]
fn contract_of_a_machine() {
    let mut driven = driven();
    driven.input(Input::Connected);
    let message = driven.sends(call(1));
    let reply = marked(&echo(&unmarked(&message)));
    let script = [
        (millis(0), call(1)),
        (millis(9), Input::Connected),
        (millis(0), soft(2, millis(0))),
        (millis(0), soft(3, Duration::from_secs(70))),
        (millis(9), Input::Received(reply.slice(..9))),
        (millis(9), Input::Received(reply.slice(9..))),
        (millis(9), Input::Disconnected),
        (millis(9), Input::Connected),
    ];
    let config = || Config::stream(units::Bytes::kibi(96));
    let build = || rpc::Client::new(config(), 1).expect("a configuration");
    conformance::check(build, &script, Duration::from_secs(300));
}
