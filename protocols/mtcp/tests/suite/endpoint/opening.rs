//! Tests of handshakes, closing and resets.

use mtcp::packet::{Kind, Packet};
use mtcp::{Config, ConnectionId, Input, Phase, Profile, Reason};
use units::Duration;

use super::pipe::{GATEWAY, MOBILE, Pipe, addresses, content, is_wide, paper, wide};

const ASKED: ConnectionId = ConnectionId::Opened(1);
const ARRIVED: ConnectionId = ConnectionId::Arrived(0);

#[test]
fn three_packets_carry_addresses_names_and_parameters() {
    let mut pipe = Pipe::new(&paper(), &paper());
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_millis(100));
    let controls: Vec<_> = pipe
        .wire
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
    pipe.lose_where(move |_, packet, _| {
        let control = matches!(packet, Packet::Control(_));
        resets += usize::from(control);
        control && resets <= 2
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
fn who_waits_for_a_third_host_asks_rarely() {
    let mut pipe = Pipe::new(&wide(), &wide());
    pipe.accepts[MOBILE] = false;
    pipe.input(GATEWAY, Input::RoundTrip(pipe.wire.delay * 2));
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_secs(60));
    let control = pipe.ends.each_ref().map(|end| {
        let traffic = end.counters().traffic;
        traffic.sent.control_packets
    });
    // The first answer comes with the second attempt, the others every five seconds.
    assert!(
        control[GATEWAY] <= 15 && control[MOBILE] <= 14,
        "{control:?}"
    );
    // The answer is repeated without a request.
    pipe.lose_all();
    pipe.input(MOBILE, Input::Accept(ARRIVED));
    pipe.run(Duration::from_millis(10));
    pipe.lose_none();
    pipe.run(Duration::from_millis(1_500));
    assert!(pipe.told(GATEWAY, ASKED).connected);
}

#[test]
fn nobody_there_is_a_clear_error() {
    let mut pipe = Pipe::new(&paper(), &paper());
    pipe.lose_all();
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_secs(60));
    assert_eq!(pipe.told(GATEWAY, ASKED).reset, Some(Reason::TimedOut));
    let syns = pipe.wire.log.iter().filter(
        |sighting| matches!(&sighting.packet, Packet::Control(control) if control.kind == Kind::Syn),
    );
    let attempts = Config::paper().limits.attempts as usize;
    assert_eq!(syns.count(), attempts);
}

/// Returns a mobile host that supports only the paper's profile.
fn narrow() -> Pipe {
    let mut pipe = Pipe::new(&wide(), &paper());
    pipe.lose_where(|_, packet, _| is_wide(packet));
    pipe
}

#[test]
fn an_end_without_the_wide_profile_is_asked_again_in_the_papers() {
    let mut pipe = narrow();
    pipe.open(GATEWAY, 1);
    pipe.write(GATEWAY, ASKED, 0..40_000);
    pipe.run(Duration::from_secs(20));
    assert_eq!(pipe.status(GATEWAY, ASKED).profile, Profile::Paper);
    assert_eq!(pipe.told(MOBILE, ARRIVED).received, content(0, 40_000));
    // The next one is opened in the paper's profile at once, until the knowledge about the peer expires.
    let opened = |pipe: &mut Pipe, number| {
        let before = pipe.wire.log.len();
        pipe.open(GATEWAY, number);
        pipe.run(Duration::from_millis(50));
        is_wide(&pipe.wire.log[before].packet)
    };
    assert!(!opened(&mut pipe, 2));
    assert!(pipe.told(GATEWAY, ConnectionId::Opened(2)).connected);
    pipe.run(Duration::from_secs(600));
    assert!(opened(&mut pipe, 3));
}

#[test]
fn nobody_is_there_in_either_profile() {
    let mut pipe = Pipe::new(&wide(), &wide());
    pipe.lose_all();
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_secs(60));
    assert_eq!(pipe.told(GATEWAY, ASKED).reset, Some(Reason::TimedOut));
    let wide = pipe
        .wire
        .log
        .iter()
        .filter(|sighting| is_wide(&sighting.packet));
    // And a reset in the end.
    assert_eq!((wide.count(), pipe.wire.log.len()), (5, 5 + 5 + 1));
}

#[test]
fn an_end_that_refuses_the_wide_profile_is_asked_again_at_once() {
    let mut pipe = Pipe::new(&wide(), &wide());
    pipe.accepts[MOBILE] = false;
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_millis(50));
    pipe.input(MOBILE, Input::Refuse(ARRIVED, Reason::Profile));
    pipe.run(Duration::from_millis(50));
    let again = ConnectionId::Arrived(1);
    pipe.input(MOBILE, Input::Accept(again));
    pipe.run(Duration::from_millis(50));
    assert!(pipe.told(GATEWAY, ASKED).connected);
    assert_eq!(pipe.status(MOBILE, again).profile, Profile::Paper);
    // And only once.
    pipe.open(GATEWAY, 2);
    pipe.run(Duration::from_millis(50));
    for number in [2, 3] {
        let refuse = Input::Refuse(ConnectionId::Arrived(number), Reason::Profile);
        pipe.input(MOBILE, refuse);
        pipe.run(Duration::from_millis(50));
    }
    let second = ConnectionId::Opened(2);
    assert_eq!(pipe.told(GATEWAY, second).reset, Some(Reason::Profile));
}

#[test]
fn a_fade_is_no_reason_to_fall_back() {
    let (mut pipe, _) = Pipe::connected(&wide());
    pipe.lose_all();
    pipe.open(GATEWAY, 2);
    pipe.run(Duration::from_secs(60));
    let second = ConnectionId::Opened(2);
    assert_eq!(pipe.told(GATEWAY, second).reset, Some(Reason::TimedOut));
    assert!(
        pipe.wire
            .log
            .iter()
            .all(|sighting| is_wide(&sighting.packet))
    );
}

#[test]
fn answers_to_the_first_profile_still_count() {
    // Every answer is lost until the opener has fallen back; its connection was established in the wide profile
    // meanwhile.
    let mut pipe = Pipe::new(&wide(), &wide());
    pipe.lose_where(|from, _, _| from == MOBILE);
    pipe.accepts[MOBILE] = false;
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_millis(4_700));
    pipe.input(MOBILE, Input::Accept(ARRIVED));
    assert_eq!(pipe.status(GATEWAY, ASKED).profile, Profile::Wide);
    pipe.run(Duration::from_millis(600));
    assert_eq!(pipe.status(GATEWAY, ASKED).profile, Profile::Paper);
    pipe.lose_none();
    pipe.write(GATEWAY, ASKED, 0..40_000);
    pipe.run(Duration::from_secs(3));
    assert_eq!(pipe.status(GATEWAY, ASKED).profile, Profile::Wide);
    assert_eq!(pipe.told(MOBILE, ARRIVED).received, content(0, 40_000));
    assert_eq!(pipe.ends[MOBILE].connections(), 1);
}

/// Returns true if the connection is established in time. Both ends know the round-trip time of the hop if `knows` is
/// set; one of the first packets is lost, as chosen by `loses`.
fn connected_in_time(knows: bool, loses: usize) -> bool {
    let mut pipe = Pipe::new(&wide(), &wide());
    if knows {
        for end in [GATEWAY, MOBILE] {
            pipe.input(end, Input::RoundTrip(Duration::from_millis(21)));
        }
    }
    let mut packets = 0;
    pipe.lose_where(move |_, _, _| {
        packets += 1;
        packets == loses
    });
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_millis(120));
    pipe.told(GATEWAY, ASKED).connected
}

/// No round trip was measured on the connection itself yet.
#[test]
fn who_knows_the_hop_repeats_a_lost_request_at_once() {
    for loses in [1, 2] {
        assert!(connected_in_time(true, loses));
        assert!(!connected_in_time(false, loses), "that takes a second");
    }
}

#[test]
fn who_knows_the_hop_gives_up_no_sooner() {
    let mut pipe = Pipe::new(&wide(), &wide());
    pipe.input(GATEWAY, Input::RoundTrip(Duration::from_millis(21)));
    pipe.lose_all();
    pipe.open(GATEWAY, 1);
    pipe.run(Duration::from_millis(4_900));
    assert_eq!(pipe.told(GATEWAY, ASKED).reset, None);
    let sent = pipe.wire.log.len();
    assert!((6..20).contains(&sent), "{sent}");
}

/// The end that has opened the connection may use it already, and nothing tells the other end so.
#[test]
fn an_outage_after_the_answer_resets_no_connection() {
    for config in [paper(), wide()] {
        let mut pipe = Pipe::new(&config, &config);
        pipe.lose_where(|end, packet, _| end == GATEWAY && matches!(packet, Packet::Data(_)));
        pipe.open(GATEWAY, 1);
        pipe.run(Duration::from_millis(100));
        pipe.lose_all();
        pipe.run(Duration::from_secs(3_600));
        assert!(pipe.told(GATEWAY, ASKED).connected);
        let sent = pipe.wire.log.len();
        assert!(sent < 1_000, "{sent} packets in an hour");
        pipe.lose_none();
        pipe.write(GATEWAY, ASKED, 0..10_000);
        pipe.run(Duration::from_secs(30));
        assert_eq!(pipe.told(MOBILE, ARRIVED).received, content(0, 10_000));
        assert_eq!(pipe.told(GATEWAY, ASKED).reset, None);
    }
}
