//! Handshakes, closing, resets.

use mtcp::packet::{Kind, Packet};
use mtcp::{Config, ConnectionId, Input, Phase, Profile, Reason};
use units::Duration;

use crate::pipe::{Fate, GATEWAY, MOBILE, Pipe, addresses, paper, wide};

const ASKED: ConnectionId = ConnectionId::Opened(1);
const ARRIVED: ConnectionId = ConnectionId::Arrived(0);

#[test]
fn three_packets_carry_addresses_names_and_parameters() {
    let mut pipe = Pipe::new(&paper(), &paper());
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_millis(100));
    let controls: Vec<_> = pipe
        .log
        .iter()
        .filter_map(|sighting| match &sighting.packet {
            Packet::Control(control) => Some(*control),
            Packet::Data(_) => None,
        })
        .collect();
    let [syn, answer] = controls[..] else {
        panic!("{controls:?}")
    };
    assert_eq!((syn.kind, answer.kind), (Kind::Syn, Kind::SynAck));
    assert_eq!(syn.connection.0, 0, "the other end's name is not known yet");
    assert_eq!(
        answer.connection, syn.reverse,
        "each end names what it hears"
    );
    assert_eq!(answer.acknowledgment, (syn.sequence + 1) & 0xffff);
    assert_eq!((syn.buffer, syn.packet), (16_384, 1_016));
    assert_eq!(syn.addresses, addresses());
    let [(_, third)] = &pipe.acknowledgments_of(GATEWAY)[..] else {
        panic!("one packet more")
    };
    assert_eq!(third.connection, answer.reverse);
    assert_eq!(third.acknowledgment, (answer.sequence + 1) & 0xffff);
    let told = pipe.told(MOBILE, ARRIVED).clone();
    assert_eq!(told.arrived, Some(addresses()));
    assert!(told.connected);
    assert!(pipe.told(GATEWAY, ASKED).connected);
    assert_eq!(pipe.status(GATEWAY, ASKED).profile, Profile::Paper);
}

#[test]
fn the_ends_agree_on_the_narrower_profile() {
    for (one, other, agreed) in [
        (wide(), wide(), Profile::Wide),
        (wide(), paper(), Profile::Paper),
        (paper(), wide(), Profile::Paper),
    ] {
        let (mut pipe, ids) = Pipe::connected_between(&one, &other);
        assert_eq!(pipe.status(GATEWAY, ids[GATEWAY]).profile, agreed);
        assert_eq!(pipe.status(MOBILE, ids[MOBILE]).profile, agreed);
        pipe.write(GATEWAY, ids[GATEWAY], 0..100_000);
        pipe.run(Duration::from_secs(5));
        assert_eq!(pipe.told(MOBILE, ids[MOBILE]).received.len(), 100_000);
    }
}

#[test]
fn a_stream_may_end_while_the_other_goes_on() {
    for config in [paper(), wide()] {
        let (mut pipe, [asked, arrived]) = Pipe::connected(&config);
        pipe.write(GATEWAY, asked, 0..5_000);
        pipe.input(GATEWAY, Input::Close(asked));
        pipe.run(Duration::from_secs(2));
        assert!(pipe.told(MOBILE, arrived).finished);
        assert!(!pipe.told(GATEWAY, asked).finished);
        pipe.write(MOBILE, arrived, 0..7_000);
        pipe.run(Duration::from_secs(2));
        assert_eq!(pipe.told(GATEWAY, asked).received.len(), 7_000);
        pipe.input(MOBILE, Input::Close(arrived));
        pipe.run(Duration::from_secs(20));
        for (end, id) in [(GATEWAY, asked), (MOBILE, arrived)] {
            let told = pipe.told(end, id);
            assert!(told.finished && told.closed && told.reset.is_none());
            assert_eq!(pipe.ends[end].connections(), 0, "nothing lingers for ever");
            assert_eq!(pipe.ends[end].counters().connections.finished, 1);
        }
    }
}

#[test]
fn the_end_of_a_stream_is_told_only_after_all_of_it() {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&paper());
    // The packet before the last one is lost; the end arrives out of order.
    pipe.lose(GATEWAY, &[3]);
    pipe.write(GATEWAY, asked, 0..5_000);
    pipe.input(GATEWAY, Input::Close(asked));
    pipe.run(Duration::from_millis(25));
    assert!(!pipe.told(MOBILE, arrived).finished);
    pipe.run(Duration::from_secs(1));
    assert!(pipe.told(MOBILE, arrived).finished);
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 5_000);
}

#[test]
fn an_aborted_stream_is_reset_and_never_ended() {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&paper());
    pipe.write(GATEWAY, asked, 0..5_000);
    pipe.input(GATEWAY, Input::Abort(asked, Reason::Aborted));
    pipe.run(Duration::from_secs(1));
    let told = pipe.told(MOBILE, arrived);
    assert!(!told.finished);
    assert_eq!(told.reset, Some(Reason::Aborted));
    assert_eq!(pipe.ends[MOBILE].connections(), 0);
}

#[test]
fn a_lost_reset_is_repeated_until_the_other_end_knows() {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&paper());
    let mut resets = 0;
    pipe.decide = Box::new(move |_, packet, _| {
        let control = matches!(packet, Packet::Control(_));
        resets += usize::from(control);
        if control && resets <= 2 {
            Fate::Lost
        } else {
            Fate::Arrives
        }
    });
    pipe.input(GATEWAY, Input::Abort(asked, Reason::Aborted));
    pipe.run(Duration::from_secs(2));
    assert_eq!(pipe.told(MOBILE, arrived).reset, Some(Reason::Aborted));
    pipe.run(Duration::from_secs(2));
    assert_eq!(pipe.ends[GATEWAY].connections(), 0);
}

#[test]
fn a_refusal_says_why() {
    let mut pipe = Pipe::new(&paper(), &paper());
    pipe.accepts[MOBILE] = false;
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_millis(100));
    pipe.input(MOBILE, Input::Refuse(ARRIVED, Reason::Unreachable));
    pipe.run(Duration::from_millis(100));
    assert_eq!(pipe.told(GATEWAY, ASKED).reset, Some(Reason::Unreachable));
    assert_eq!(pipe.ends[MOBILE].connections(), 0);
}

#[test]
fn a_slow_third_host_is_waited_for() {
    let mut pipe = Pipe::new(&paper(), &paper());
    pipe.accepts[MOBILE] = false;
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_secs(60));
    assert_eq!(pipe.phase(GATEWAY, ASKED), Some(Phase::Opening));
    assert_eq!(pipe.ends[MOBILE].counters().connections.arrived, 1);
    pipe.input(MOBILE, Input::Accept(ARRIVED));
    pipe.run(Duration::from_millis(100));
    assert!(pipe.told(GATEWAY, ASKED).connected);
}

#[test]
fn nobody_there_is_a_clear_error() {
    let mut pipe = Pipe::new(&paper(), &paper());
    pipe.decide = Box::new(|_, _, _| Fate::Lost);
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_secs(60));
    assert_eq!(pipe.told(GATEWAY, ASKED).reset, Some(Reason::TimedOut));
    let syns = pipe.log.iter().filter(
        |sighting| matches!(&sighting.packet, Packet::Control(control) if control.kind == Kind::Syn),
    );
    let attempts = Config::paper().limits.attempts as usize;
    assert_eq!(syns.count(), attempts);
}
