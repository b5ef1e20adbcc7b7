//! States that are not resumed, several connections that are taken out, and what a peer's own requests show.

use mtcp::packet::Packet;
use mtcp::{ConnectionId, ConnectionState, Reason, ResumeError};
use redirector::Chunks;
use serde_json::Value;
use units::Duration;

use super::pipe::{GATEWAY, MOBILE, Pipe, is_wide, wide};

/// Returns the state of a connection that holds data behind a hole.
fn with_a_hole() -> (Pipe, Value) {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&wide());
    pipe.lose(MOBILE, &[1]);
    for place in 0..4 {
        pipe.write(MOBILE, arrived, place..place + 1);
    }
    pipe.run(Duration::from_millis(11));
    let text = pipe.suspend(GATEWAY, asked).expect("it is established");
    let state = serde_json::from_str(&text).expect("a value");
    (pipe, state)
}

/// Returns the list of this name in a value.
fn list<'a>(value: &'a mut Value, name: &str) -> Option<&'a mut Vec<Value>> {
    let fields = value.as_object_mut()?;
    fields.iter_mut().find_map(|(key, value)| {
        if key == name {
            return value.as_array_mut();
        }
        list(value, name)
    })
}

#[test]
fn data_that_a_state_holds_twice_are_refused() {
    let (mut pipe, mut value) = with_a_hole();
    let resume = |pipe: &mut Pipe, value: &Value| {
        let state: ConnectionState<Chunks> =
            serde_json::from_value(value.clone()).expect("a state");
        let now = pipe.clock.now;
        pipe.ends[GATEWAY].resume(now, ConnectionId::Opened(1), state)
    };
    let held = list(&mut value, "held").expect("the data behind the hole");
    let run = held.first().cloned().expect("a run");
    held.push(run);
    let refused = ResumeError::Invalid("what it holds is not in order");
    assert_eq!(resume(&mut pipe, &value), Err(refused));
    list(&mut value, "held").expect("a list").pop();
    assert!(resume(&mut pipe, &value).is_ok());
}

#[test]
fn packets_for_each_connection_that_was_taken_out_are_ignored() {
    let (mut pipe, [first, to_first]) = Pipe::connected(&wide());
    pipe.open(GATEWAY, 2);
    pipe.run(Duration::from_millis(100));
    let (second, to_second) = (ConnectionId::Opened(2), ConnectionId::Arrived(1));
    assert!(pipe.told(GATEWAY, second).connected);
    for id in [first, second] {
        pipe.suspend(GATEWAY, id).expect("it is established");
        pipe.run(Duration::from_millis(10));
    }
    let before = pipe.wire.log.len();
    for id in [to_first, to_second] {
        pipe.write(MOBILE, id, 0..1_000);
    }
    pipe.run(Duration::from_millis(500));
    let packets = pipe.wire.log[before..].iter();
    let mut packets = packets.map(|sighting| &sighting.packet);
    assert!(packets.all(|packet| matches!(packet, Packet::Data(_))));
}

#[test]
fn a_request_in_the_wide_profile_shows_that_its_sender_knows_it() {
    let mut pipe = Pipe::new(&wide(), &wide());
    pipe.open(MOBILE, 1);
    pipe.run(Duration::from_millis(100));
    assert!(pipe.told(MOBILE, ConnectionId::Opened(1)).connected);
    let before = pipe.wire.log.len();
    pipe.lose_all();
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_secs(60));
    let asked = ConnectionId::Opened(1);
    assert_eq!(pipe.told(GATEWAY, asked).reset, Some(Reason::TimedOut));
    let mut silence = pipe.wire.log[before..].iter();
    assert!(silence.all(|sighting| is_wide(&sighting.packet)));
}
