//! Passive open: the mobile host tells the gateway where it listens.

use mtcp::packet::{Kind, Packet};
use mtcp::{Accepts, Config, ConnectionId, Input, Output, Reason};
use units::Duration;

use super::pipe::{GATEWAY, MOBILE, Pipe, address, paper};

fn mobile() -> Config {
    Config {
        accepts: Accepts::Listened,
        ..paper()
    }
}

/// A mobile host that listens at the address to which [`Pipe::open`] connects, as the gateway knows.
fn listening() -> Pipe {
    let mut pipe = Pipe::new(&paper(), &mobile());
    let place = address(1, 80);
    pipe.input(MOBILE, Input::Listen(place));
    pipe.run(Duration::from_millis(50));
    assert_eq!(pipe.other[GATEWAY], [Output::ListenerAsked(place)]);
    assert!(
        !pipe.ends[GATEWAY].has_listener(place),
        "the gateway has not agreed yet"
    );
    pipe.input(GATEWAY, Input::AllowListener(place));
    assert!(pipe.ends[GATEWAY].has_listener(place));
    pipe.run(Duration::from_millis(50));
    assert_eq!(pipe.other[MOBILE], [Output::Listening(place)]);
    pipe
}

#[test]
fn the_gateway_accepts_for_a_mobile_host_that_listens() {
    let mut pipe = listening();
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_millis(50));
    assert!(pipe.told(GATEWAY, ConnectionId::Opened(1)).connected);
    pipe.input(MOBILE, Input::Unlisten(address(1, 80)));
    pipe.run(Duration::from_millis(50));
    assert_eq!(
        pipe.other[GATEWAY].last(),
        Some(&Output::ListenerGone(address(1, 80)))
    );
    assert!(!pipe.ends[GATEWAY].has_listener(address(1, 80)));
}

#[test]
fn a_lost_word_of_listening_is_repeated_and_noted_once() {
    let mut pipe = Pipe::new(&paper(), &mobile());
    let mut count = 0;
    pipe.lose_where(move |_, _, _| {
        count += 1;
        [1, 3].contains(&count)
    });
    pipe.input(MOBILE, Input::Listen(address(1, 80)));
    pipe.run(Duration::from_millis(1_500));
    pipe.input(GATEWAY, Input::AllowListener(address(1, 80)));
    pipe.run(Duration::from_secs(5));
    assert_eq!(pipe.other[GATEWAY], [Output::ListenerAsked(address(1, 80))]);
    assert_eq!(pipe.other[MOBILE], [Output::Listening(address(1, 80))]);
}

#[test]
fn the_gateway_may_refuse() {
    let mut pipe = Pipe::new(&paper(), &mobile());
    pipe.input(MOBILE, Input::Listen(address(1, 80)));
    pipe.run(Duration::from_millis(50));
    pipe.input(
        GATEWAY,
        Input::RefuseListener(address(1, 80), Reason::Refused),
    );
    pipe.run(Duration::from_millis(50));
    let refused = Output::ListenRefused(address(1, 80), Reason::Refused);
    assert_eq!(pipe.other[MOBILE], [refused]);
}

#[test]
fn a_gateway_that_is_silent_is_a_clear_error() {
    let mut pipe = Pipe::new(&paper(), &mobile());
    pipe.lose_all();
    pipe.input(MOBILE, Input::Listen(address(1, 80)));
    pipe.run(Duration::from_secs(30));
    let silent = Output::ListenRefused(address(1, 80), Reason::TimedOut);
    assert_eq!(pipe.other[MOBILE], [silent]);
    assert_eq!(pipe.log.len(), 5);
}

#[test]
fn a_gateway_learns_that_nobody_listens_any_more() {
    let mut pipe = listening();
    pipe.lose_where(|_, packet, _| {
        matches!(packet, Packet::Control(control) if matches!(control.kind, Kind::Unlisten(_)))
    });
    pipe.input(MOBILE, Input::Unlisten(address(1, 80)));
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_millis(50));
    let reset = pipe.told(GATEWAY, ConnectionId::Opened(1)).reset;
    assert_eq!(reset, Some(Reason::NotListening));
    assert!(!pipe.ends[GATEWAY].has_listener(address(1, 80)));
}

#[test]
fn registered_listeners_are_bounded() {
    let mut pipe = Pipe::new(&paper(), &mobile());
    for port in 1..=300 {
        pipe.input(MOBILE, Input::Listen(address(1, port)));
        pipe.run(Duration::from_millis(1));
    }
    pipe.run(Duration::from_millis(100));
    let most = paper().limits.listeners;
    assert_eq!(pipe.other[GATEWAY].len(), most);
    let busy = |output: &&Output<_>| matches!(output, Output::ListenRefused(_, Reason::Busy));
    assert_eq!(pipe.other[MOBILE].iter().filter(busy).count(), 300 - most);
}
