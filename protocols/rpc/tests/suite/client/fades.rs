//! Tests of the hop's reports, and of replies that overtake others.

use rpc::message::Call;
use rpc::{Adaptive, Class, Exponential, Input, LinkEvent, Output, Policy};
use units::Duration;

use super::drive::{Driven, call, config, echo, millis};

const LOST: LinkEvent = LinkEvent::FadeEnded { kept: false };
const KEPT: LinkEvent = LinkEvent::FadeEnded { kept: true };

fn sent(outputs: &[Output]) -> usize {
    let is_sent = |output: &&Output| matches!(output, Output::Send(_));
    outputs.iter().filter(is_sent).count()
}

/// Returns a client with a round trip of 80 ms and almost no deviation, so a timeout of 100 ms, at the time of 16 s.
fn experienced(policy: Policy) -> Driven {
    let mut driven = Driven::new(config(policy));
    for ticket in 1_000..1_100 {
        let message = driven.sends(call(ticket));
        driven.wait(millis(80));
        driven.answered(echo(&message));
        driven.wait(millis(80));
    }
    let known = driven
        .client
        .round_trip(Class::Write)
        .expect("it was measured");
    assert_eq!(known.usual.smoothed, millis(80));
    assert!(known.usual.deviation < millis(1));
    driven
}

fn adaptive() -> Driven {
    experienced(Policy::Adaptive(Adaptive::default()))
}

#[test]
fn nothing_is_repeated_into_a_fade_and_all_of_it_at_its_end() {
    for (begin, end) in [
        (LinkEvent::FadeBegan, LOST),
        (LinkEvent::HandoffImpending, LinkEvent::HandoffDone),
    ] {
        let mut driven = adaptive();
        driven.sends(call(1));
        driven.wait(millis(70));
        assert_eq!(driven.input(Input::Link(begin)), []);
        driven.sends(call(2));
        assert!(driven.sendings(millis(1_000)).is_empty());
        assert_eq!(sent(&driven.input(Input::Link(end))), 2);
        assert_eq!(driven.client.counters().repeated.resumed, 2);
        assert_eq!(driven.client.counters().repeated.timeouts, 0);
        // The timeout is twice as long for calls that went out together, and has not grown otherwise.
        let start = driven.now.since_origin().as_millis();
        let due = [360, 360, 540, 540].map(|after| start + after);
        assert_eq!(driven.sendings(millis(600)), due);
    }
}

#[test]
fn what_was_sent_into_a_fade_need_not_be_overdue() {
    let mut driven = adaptive();
    driven.input(Input::Link(LinkEvent::FadeBegan));
    driven.wait(millis(25));
    driven.sends(call(1));
    driven.wait(millis(15));
    assert_eq!(sent(&driven.input(Input::Link(LOST))), 1);
    // A second report of the hop causes no third transmission.
    assert_eq!(sent(&driven.input(Input::Link(LOST))), 0);
}

#[test]
fn what_was_on_its_way_is_repeated_when_it_is_overdue() {
    let mut driven = adaptive();
    driven.sends(call(1));
    driven.wait(millis(10));
    driven.input(Input::Link(LinkEvent::FadeBegan));
    driven.wait(millis(40));
    assert_eq!(driven.input(Input::Link(LOST)), []);
    // 80 ms and a deviation after its transmission, 30 ms from now.
    let start = driven.now.since_origin().as_millis();
    assert_eq!(driven.sendings(millis(60)), [start + 30]);
}

#[test]
fn what_the_hop_has_kept_is_waited_for_longer() {
    let mut driven = adaptive();
    let message = driven.sends(call(1));
    driven.wait(millis(10));
    driven.input(Input::Link(LinkEvent::FadeBegan));
    driven.wait(millis(160));
    assert_eq!(driven.input(Input::Link(KEPT)), []);
    assert!(driven.sendings(millis(89)).is_empty());
    let answer = driven.answered(echo(&message));
    assert_eq!((answer.transmissions, answer.elapsed), (1, millis(259)));
    // The fade is not a part of the round trip: 99 ms.
    let known = driven.client.round_trip(Class::Write).unwrap();
    assert_eq!(known.usual.smoothed.as_micros(), 70_000 + 99_000 / 8);
}

/// A hand-off is announced ahead of time, and until it begins the hop works as usual.
#[test]
fn what_is_answered_in_spite_of_a_report_is_measured_as_ever() {
    let mut driven = adaptive();
    let before = driven.client.round_trip(Class::Write);
    let earlier = driven.sends(call(1));
    driven.wait(millis(40));
    driven.input(Input::Link(LinkEvent::HandoffImpending));
    let later = driven.sends(call(2));
    driven.wait(millis(40));
    driven.answered(echo(&earlier));
    driven.wait(millis(40));
    driven.answered(echo(&later));
    let after = driven.client.round_trip(Class::Write);
    let smoothed = [before, after].map(|known| known.map(|known| known.usual.smoothed));
    assert_eq!(smoothed, [Some(millis(80)); 2]);
}

/// A call that was lost elsewhere is repeated even if fades come more often than its timeout.
#[test]
fn fades_that_the_hop_has_repaired_do_not_put_a_repetition_off_for_ever() {
    let mut driven = Driven::new(config(Policy::Adaptive(Adaptive::default())));
    driven.sends(call(1));
    let mut sendings = Vec::new();
    for _ in 0..4 {
        sendings.extend(driven.sendings(millis(300)));
        driven.input(Input::Link(LinkEvent::FadeBegan));
        sendings.extend(driven.sendings(millis(100)));
        driven.input(Input::Link(KEPT));
    }
    // 700 ms of a working hop.
    assert_eq!(sendings, [900]);
}

#[test]
fn a_report_without_an_end_is_believed_for_a_while() {
    let mut driven = adaptive();
    driven.sends(call(1));
    driven.input(Input::Link(LinkEvent::FadeBegan));
    driven.wait(millis(3_000));
    driven.input(Input::Link(LinkEvent::FadeBegan));
    let start = driven.now.since_origin().as_millis();
    assert_eq!(driven.sendings(millis(5_050)), [start + 5_000]);
}

#[test]
fn a_classic_client_does_not_listen() {
    let mut driven = experienced(Policy::Exponential(Exponential::default()));
    let start = driven.now.since_origin().as_millis();
    driven.sends(call(1));
    driven.input(Input::Link(LinkEvent::FadeBegan));
    assert_eq!(driven.sendings(millis(1_000)), [start + 700]);
    assert_eq!(driven.input(Input::Link(LOST)), []);
    assert_eq!(driven.input(Input::Link(KEPT)), []);
    assert_eq!(driven.sendings(millis(2_000)), [start + 2_100]);
}

/// The bound that the policy documents, with a hop that reports a fade each second for an hour.
#[test]
fn a_fading_hop_before_a_silent_server_makes_a_bounded_load() {
    let mut driven = adaptive();
    let before = driven.client.counters().sent.messages;
    for ticket in 1..=4 {
        driven.sends(call(ticket));
    }
    let seconds = 3_600;
    for _ in 0..seconds {
        driven.wait(millis(960));
        driven.input(Input::Link(LinkEvent::FadeBegan));
        driven.wait(millis(40));
        driven.input(Input::Link(LOST));
    }
    let messages = driven.client.counters().sent.messages - before;
    // At its end a fade repeats each call once; retransmissions by timers end after their doublings.
    assert!(
        messages <= 4 * (seconds + 1 + 3 + 8 + seconds / 15),
        "{messages}"
    );
    // A call that was repeated in vain is repeated again only when its longer timeout is over too.
    assert!(messages >= seconds, "{messages}");
}

#[test]
fn the_first_answer_after_a_silence_brings_all_that_was_asked_meanwhile() {
    let mut driven = adaptive();
    let messages = [1, 2, 3].map(|ticket| driven.sends(call(ticket)));
    driven.wait(Duration::from_secs(600));
    driven.input(Input::Received(echo(&messages[2])));
    assert_eq!(driven.client.counters().repeated.resumed, 2);
    assert_eq!(driven.client.in_flight(), 2);
}

#[test]
fn three_replies_to_later_calls_show_a_loss() {
    let mut driven = adaptive();
    let messages: Vec<_> = (1..=5).map(|ticket| driven.sends(call(ticket))).collect();
    driven.wait(millis(80));
    driven.answered(echo(&messages[1]));
    driven.answered(echo(&messages[2]));
    let outputs = driven.input(Input::Received(echo(&messages[3])));
    let [Output::Answer(_), Output::Send(again)] = &outputs[..] else {
        panic!("{outputs:?}");
    };
    assert_eq!(Call::parse(again), Call::parse(&messages[0]));
    assert_eq!(driven.client.counters().repeated.overtaken, 1);
    // From there on it is judged anew: by replies to calls that were sent after it.
    driven.answered(echo(&messages[4]));
    let later = driven.sends(call(6));
    driven.wait(millis(85));
    driven.answered(echo(&later));
    let answer = driven.answered(echo(&messages[0]));
    assert_eq!(answer.transmissions, 2);
}

#[test]
fn a_server_that_answers_in_any_order_is_not_asked_again_for_that() {
    let mut driven = adaptive();
    let messages: Vec<_> = (1..=4).map(|ticket| driven.sends(call(ticket))).collect();
    driven.wait(millis(80));
    for message in &messages[1..] {
        driven.input(Input::Received(echo(message)));
    }
    assert_eq!(driven.client.counters().repeated.overtaken, 1);
    // Both transmissions are answered: nothing was lost.
    driven.answered(echo(&messages[0]));
    driven.input(Input::Received(echo(&messages[0])));
    let messages: Vec<_> = (5..=9).map(|ticket| driven.sends(call(ticket))).collect();
    driven.wait(millis(85));
    for message in &messages[1..] {
        driven.answered(echo(message));
    }
    assert_eq!(driven.client.counters().repeated.overtaken, 1);
}

/// Loses a call five times and answers the sixth copy after `answered_after`. Returns the next timeout in
/// milliseconds.
fn wait_after_losses(answered_after: Duration) -> u64 {
    let mut driven = adaptive();
    let start = driven.now.since_origin().as_millis();
    let message = driven.sends(call(1));
    let sendings = driven.sendings(millis(1_080));
    assert_eq!(
        sendings,
        [180, 360, 540, 720, 1_080].map(|after| start + after)
    );
    driven.wait(answered_after);
    driven.answered(echo(&message));
    let start = driven.now.since_origin().as_millis();
    driven.sends(call(2));
    driven.sendings(millis(1_000))[0] - start
}

#[test]
fn losses_do_not_lengthen_the_waits_of_later_calls_but_waiting_replies_do() {
    assert_eq!(wait_after_losses(millis(80)), 180);
    assert_eq!(wait_after_losses(millis(85)), 180);
    assert_eq!(wait_after_losses(millis(30)), 720);
    assert_eq!(wait_after_losses(millis(120)), 720);
}

/// Round trips of 13.6 s (four blocks at 9.6 kbit/s) with a first timeout of 0.7 s, and no second replies.
#[test]
fn a_slow_hop_is_found_although_every_call_is_repeated_at_first() {
    let mut driven = Driven::new(config(Policy::Adaptive(Adaptive::default())));
    let mut repeated = Vec::new();
    for ticket in 0..8 {
        let message = driven.sends(call(ticket));
        driven.wait(Duration::from_millis(13_600));
        let outputs = driven.input(Input::Received(echo(&message)));
        assert!(matches!(outputs[0], Output::Answer(_)));
        repeated.push(driven.client.counters().repeated.total());
    }
    assert_eq!(repeated[7], repeated[3], "{repeated:?}");
    assert!(repeated[7] <= 12, "{repeated:?}");
}
