//! Tests of one client, event by event.

use machine::{Machine, conformance};
use rpc::message::{Call, Credentials, Refusal};
use rpc::{
    Adaptive, Answer, Class, Exponential, Failure, HybridLinear, Input, Linear, LinkEvent, Output,
    Policy, Ticket,
};
use units::{Duration, Instant};

use super::drive::{Driven, WRITE, call, config, echo, millis, reply, request, soft};

fn classic() -> Driven {
    Driven::new(config(Policy::Exponential(Exponential::default())))
}

#[test]
fn a_call_goes_out_and_its_reply_comes_back() {
    let mut driven = classic();
    let message = driven.sends(call(5));
    let sent = Call::parse(&message).unwrap();
    assert_eq!(
        (sent.procedure, sent.arguments),
        (WRITE, &5u64.to_be_bytes()[..])
    );
    assert!(matches!(*sent.credentials, Credentials::System(_)));
    driven.wait(millis(30));
    let answer = driven.answered(echo(&message));
    let expected = Answer {
        ticket: Ticket(5),
        result: Ok(request(5).arguments),
        transmissions: 1,
        elapsed: millis(30),
        since_last: millis(30),
    };
    assert_eq!(answer, expected);
    assert_eq!(
        driven
            .client
            .round_trip(Class::Write)
            .unwrap()
            .usual
            .smoothed,
        millis(30)
    );
    assert_eq!(driven.client.round_trip(Class::Read), None);
    assert_eq!(driven.wait(Duration::from_secs(100)), []);
}

/// Timelines of the policies on the wire.
#[test]
fn each_policy_keeps_its_timeline() {
    let timelines: [(Policy, &[u64]); 4] = [
        (
            Policy::Exponential(Exponential::default()),
            &[700, 2_100, 4_900, 6_300, 9_100, 14_700, 17_500],
        ),
        (
            Policy::Linear(Linear::default()),
            &[700, 1_500, 2_400, 3_400, 4_500, 5_700, 7_000],
        ),
        (
            Policy::HybridLinear(HybridLinear::default()),
            &[700, 1_500, 2_400, 3_400, 5_400, 9_400, 17_400],
        ),
        (
            Policy::Adaptive(Adaptive::default()),
            &[700, 1_400, 2_100, 2_800, 4_200, 7_000, 12_600],
        ),
    ];
    for (policy, expected) in timelines {
        let mut driven = Driven::new(config(policy));
        let message = driven.sends(call(1));
        let seen = driven.wait(Duration::from_secs(18));
        let mut times = Vec::new();
        for (at, output) in seen {
            if let Output::Send(again) = output {
                assert_eq!(again, message, "the same bytes");
                times.push(at);
            }
        }
        assert_eq!(times[..expected.len()], *expected, "{policy:?}");
        assert_eq!(driven.client.round_trip(Class::Write), None);
        let answer = driven.input(Input::Received(echo(&message)));
        assert!(matches!(&answer[0], Output::Answer(answer) if answer.is_of_repeated_call()));
        // Karn: it is ambiguous which of them was answered.
        assert_eq!(driven.client.round_trip(Class::Write), None);
    }
}

#[test]
fn calls_beyond_the_limit_wait_in_order() {
    let mut driven = Driven::new(rpc::Config {
        in_flight: 2,
        ..config(Policy::default())
    });
    let first = driven.sends(call(1));
    let second = driven.sends(call(2));
    assert_eq!(driven.input(call(3)), []);
    assert_eq!(driven.input(call(4)), []);
    assert_eq!((driven.client.in_flight(), driven.client.waiting()), (2, 2));
    let outputs = driven.input(Input::Received(echo(&second)));
    let [Output::Answer(answer), Output::Send(third)] = &outputs[..] else {
        panic!("{outputs:?}");
    };
    assert_eq!(answer.ticket, Ticket(2));
    assert_eq!(Call::parse(third).unwrap().arguments, 3u64.to_be_bytes());
    assert_eq!(driven.input(Input::Cancel(Ticket(4))), []);
    driven.answered(echo(&first));
    driven.answered(echo(third));
    assert_eq!((driven.client.in_flight(), driven.client.waiting()), (0, 0));
    let counters = driven.client.counters();
    assert_eq!((counters.sent.calls, counters.cancelled), (3, 1));
}

#[test]
fn late_double_and_foreign_replies_are_counted_and_nothing_else() {
    let mut driven = classic();
    let message = driven.sends(call(1));
    let xid = Call::parse(&message).unwrap().xid;
    assert_eq!(driven.input(Input::Received(reply(xid ^ 1, Ok(&[])))), []);
    driven.answered(echo(&message));
    assert_eq!(driven.input(Input::Received(echo(&message))), []);
    let cancelled = driven.sends(call(2));
    assert_eq!(driven.input(Input::Cancel(Ticket(2))), []);
    assert_eq!(driven.input(Input::Cancel(Ticket(2))), []);
    assert_eq!(driven.input(Input::Received(echo(&cancelled))), []);
    assert_eq!(driven.input(Input::Received(message)), []);
    let received = driven.client.counters().received;
    assert_eq!(
        (received.unknown, received.late, received.malformed),
        (1, 2, 1)
    );
    assert_eq!(driven.client.poll_timeout(), None);
}

#[test]
fn refusals_and_replies_that_are_none_end_a_call() {
    let mut driven = classic();
    let message = driven.sends(call(1));
    let xid = Call::parse(&message).unwrap().xid;
    let answer = driven.answered(reply(xid, Err(Refusal::GarbageArguments)));
    assert_eq!(
        answer.result,
        Err(Failure::Refused(Refusal::GarbageArguments))
    );
    let message = driven.sends(call(2));
    let damaged = echo(&message).slice(..11);
    assert_eq!(driven.input(Input::Received(damaged.clone())), []);
    assert_eq!(driven.input(Input::Received(damaged.clone())), []);
    let answer = driven.answered(damaged);
    let failure = answer.result.unwrap_err().to_string();
    assert_eq!(
        failure,
        "the server sends what is no reply: `reply status` at byte 8: 3 bytes where it needs 4"
    );
}

#[test]
fn results_that_are_cut_are_waited_for_until_the_server_insists_on_them() {
    let mut driven = classic();
    driven.client = driven.client.checking(|_, results| results.len() == 8);
    let message = driven.sends(call(1));
    let cut = echo(&message).slice(..28);
    assert_eq!(driven.input(Input::Received(cut.clone())), []);
    let repeated = &driven.wait(millis(700))[..];
    assert_eq!(repeated, [(700, Output::Send(message.clone()))]);
    let answer = driven.answered(echo(&message));
    assert_eq!((answer.result.unwrap().len(), answer.transmissions), (8, 2));
    let message = driven.sends(call(2));
    let cut = echo(&message).slice(..28);
    for _ in 0..2 {
        assert_eq!(driven.input(Input::Received(cut.clone())), []);
    }
    assert_eq!(driven.answered(cut).result.unwrap().len(), 4);
    let received = driven.client.counters().received;
    assert_eq!((received.malformed, received.replies), (4, 2));
}

#[test]
fn soft_calls_end_when_their_time_is_over_and_hard_calls_never() {
    let mut driven = Driven::new(rpc::Config {
        in_flight: 1,
        ..config(Policy::Exponential(Exponential::default()))
    });
    driven.sends(call(1));
    assert_eq!(driven.input(soft(2, millis(900))), []);
    let seen = driven.wait(millis(1_000));
    let Some((900, Output::Answer(answer))) = seen.last() else {
        panic!("{seen:?}");
    };
    assert_eq!(answer.ticket, Ticket(2));
    assert_eq!(
        (&answer.result, answer.transmissions),
        (&Err(Failure::Expired(millis(900))), 0)
    );
    driven.input(Input::Cancel(Ticket(1)));
    let late = driven.sends(soft(3, millis(1_000)));
    assert_eq!(driven.sendings(millis(999)), [1_700]);
    let seen = driven.wait(millis(1));
    assert!(matches!(&seen[..], [(2_000, Output::Answer(answer))] if answer.transmissions == 2));
    assert_eq!(driven.input(Input::Received(echo(&late))), []);
    driven.sends(call(4));
    assert!(driven.sendings(Duration::from_secs(3_600)).len() > 60);
    assert_eq!(driven.client.in_flight(), 1);
}

#[test]
fn silence_is_told_once_and_its_end_too() {
    let mut driven = classic();
    let message = driven.sends(call(1));
    let seen = driven.wait(Duration::from_secs(60));
    let told = seen
        .iter()
        .filter(|(_, output)| !matches!(output, Output::Send(_)));
    let since = Instant::ZERO;
    assert_eq!(
        told.collect::<Vec<_>>(),
        [&(5_000, Output::Silent { since })]
    );
    assert_eq!(driven.client.silent_since(), Some(since));
    let outputs = driven.input(Input::Received(echo(&message)));
    let after = Duration::from_secs(60);
    assert_eq!(outputs[1..], [Output::Answering { after }]);
    assert_eq!(driven.client.silent_since(), None);
    // No call waits, so there is no silence.
    assert_eq!(driven.wait(Duration::from_secs(60)), []);
    driven.sends(call(2));
    driven.wait(Duration::from_secs(6));
    assert_eq!(
        driven.client.silent_since(),
        Some(Instant::from_millis(120_000))
    );
}

#[test]
fn what_is_too_long_is_not_sent() {
    let mut driven = classic();
    let mut long = request(1);
    long.arguments = vec![0; 66_000].into();
    let outputs = driven.input(Input::Call(long));
    let [Output::Answer(answer)] = &outputs[..] else {
        panic!("{outputs:?}");
    };
    let failure = answer.result.clone().unwrap_err().to_string();
    assert!(
        failure.starts_with("a call of 66072 bytes where messages have at most 65507"),
        "{failure}"
    );
}

#[test]
fn a_second_reply_tells_the_round_trip_that_karn_hides() {
    let mut driven = Driven::new(config(Policy::default()));
    let message = driven.sends(call(1));
    driven.wait(millis(900));
    let answer = driven.answered(echo(&message));
    assert_eq!(answer.transmissions, 2);
    assert_eq!(driven.client.round_trip(Class::Write), None);
    driven.wait(millis(700));
    driven.input(Input::Received(echo(&message)));
    let known = driven.client.round_trip(Class::Write);
    assert_eq!(known.unwrap().usual.smoothed, millis(900));
}

/// Three transmissions and two replies: the first reply may answer the second transmission.
#[test]
fn a_second_reply_to_three_transmissions_tells_nothing() {
    let mut driven = Driven::new(config(Policy::default()));
    let message = driven.sends(call(1));
    assert_eq!(driven.sendings(millis(1_500)), [700, 1_400]);
    driven.answered(echo(&message));
    assert_eq!(driven.input(Input::Received(echo(&message))), []);
    assert_eq!(driven.client.counters().received.late, 1);
    assert_eq!(driven.client.round_trip(Class::Write), None);
}

#[test]
fn contract_of_a_machine() {
    let fade = [LinkEvent::FadeBegan, LinkEvent::FadeEnded { kept: false }];
    let mut script = vec![
        (millis(0), call(1)),
        (millis(3), soft(2, Duration::from_secs(9))),
    ];
    let mut driven = Driven::new(config(Policy::default()));
    let messages: Vec<_> = (1..=2).map(|ticket| driven.sends(call(ticket))).collect();
    script.push((millis(50), Input::Link(fade[0])));
    script.extend((3..30).map(|ticket| (millis(7), call(ticket))));
    script.push((millis(900), Input::Link(fade[1])));
    script.push((millis(40), Input::Received(echo(&messages[1]))));
    script.push((millis(40), Input::Received(echo(&messages[1]))));
    script.push((millis(7_000), Input::Cancel(Ticket(7))));
    script.push((millis(10), Input::Link(LinkEvent::HandoffImpending)));
    for policy in [
        Policy::Exponential(Exponential::default()),
        Policy::Linear(Linear::default()),
        Policy::HybridLinear(HybridLinear::default()),
        Policy::Adaptive(Adaptive::default()),
    ] {
        let build = || rpc::Client::new(config(policy), 1).unwrap();
        conformance::check(build, &script, Duration::from_secs(200));
    }
}
