//! Tests of connections that are taken out of an endpoint and resumed in another one.

use machine::{Machine, RandomStream};
use mtcp::packet::Packet;
use mtcp::{Config, ConnectionId, ConnectionState, Endpoint, Input, ResumeError};
use redirector::Chunks;
use serde_json::Value;
use units::Duration;

use super::pipe::{GATEWAY, MOBILE, Pipe, carries_data, content, paper, wide};

/// Returns a transfer of 200,000 bytes each way, of which a part has crossed, with holes, and unread data.
fn half_way(config: &Config) -> (Pipe, [ConnectionId; 2]) {
    let (mut pipe, [asked, arrived]) = Pipe::connected(config);
    let mut random = RandomStream::named(3, "losses");
    pipe.lose_where(move |_, packet, _| carries_data(packet) && random.below(5) == 0);
    pipe.reads = [false; 2];
    pipe.write(GATEWAY, asked, 0..200_000);
    pipe.write(MOBILE, arrived, 0..200_000);
    pipe.input(GATEWAY, Input::Close(asked));
    pipe.input(MOBILE, Input::Close(arrived));
    pipe.run(Duration::from_millis(37));
    pipe.reads = [true; 2];
    (pipe, [asked, arrived])
}

fn another(config: &Config) -> Endpoint<Chunks> {
    let random = RandomStream::named(9, "another gateway");
    Endpoint::new(config.clone(), random).expect("a configuration")
}

#[test]
fn a_transfer_goes_on_at_another_gateway() {
    for config in [paper(), wide()] {
        let (mut pipe, [asked, arrived]) = half_way(&config);
        let state = pipe.suspend(GATEWAY, asked).expect("it is made");
        assert_eq!(pipe.ends[GATEWAY].connections(), 0);
        // Another program, without state of this one, takes its place.
        pipe.ends[GATEWAY] = another(&config);
        let resumed = pipe.resume(GATEWAY, asked, &state);
        let timer = pipe.ends[GATEWAY].poll_timeout();
        assert!(timer.is_some(), "it repeats what is not acknowledged");
        pipe.run(Duration::from_secs(60));
        for (end, id) in [(GATEWAY, resumed), (MOBILE, arrived)] {
            let told = pipe.told(end, id);
            assert!(
                told.received == content(0, 200_000),
                "{} bytes",
                told.received.len()
            );
            assert!(told.closed && told.reset.is_none());
        }
    }
}

#[test]
fn what_arrives_meanwhile_is_not_answered() {
    for config in [paper(), wide()] {
        let (mut pipe, [asked, arrived]) = half_way(&config);
        let state = pipe.suspend(GATEWAY, asked).expect("it is made");
        let before = pipe.wire.log.len();
        pipe.run(config.timing.linger - Duration::from_millis(500));
        let said = |packet: &Packet<Chunks>| matches!(packet, Packet::Control(_));
        assert!(
            !pipe.wire.log[before..]
                .iter()
                .any(|sighting| said(&sighting.packet))
        );
        pipe.resume(GATEWAY, asked, &state);
        pipe.run(Duration::from_secs(60));
        assert!(pipe.told(MOBILE, arrived).received == content(0, 200_000));
        // It is not resumed: the mobile host gets an error in the end.
        let (mut pipe, [asked, arrived]) = half_way(&config);
        pipe.suspend(GATEWAY, asked).expect("it is made");
        pipe.run(Duration::from_secs(60));
        assert_eq!(
            pipe.told(MOBILE, arrived).reset,
            Some(mtcp::Reason::Unknown)
        );
    }
}

#[test]
fn what_has_no_place_is_refused() {
    let (mut pipe, [asked, _]) = half_way(&wide());
    let text = pipe.suspend(GATEWAY, asked).expect("it is made");
    assert_eq!(pipe.suspend(GATEWAY, asked), None);
    let state = || serde_json::from_str::<ConnectionState<Chunks>>(&text).expect("a state");
    let now = pipe.clock.now;
    let resume = |config: Config| another(&config).resume(now, ConnectionId::Opened(1), state());
    assert_eq!(resume(paper()), Err(ResumeError::Profile));
    let lean = Config {
        lean: true,
        ..wide()
    };
    assert_eq!(resume(lean), Err(ResumeError::Lean));
    let small = Config {
        receive_buffer: units::Bytes::kibi(64),
        ..wide()
    };
    assert_eq!(resume(small), Err(ResumeError::Buffer(4 << 20)));
    let end = &mut pipe.ends[GATEWAY];
    let first = ConnectionId::Opened(1);
    assert_eq!(end.resume(now, first, state()), Ok(()));
    assert_eq!(
        end.resume(now, first, state()),
        Err(ResumeError::NumberTaken(1))
    );
    let second = ConnectionId::Arrived(1);
    let taken = end
        .resume(now, second, state())
        .expect_err("its name is taken");
    assert!(matches!(taken, ResumeError::NameTaken(_)));
    assert!(
        taken.to_string().starts_with("MTCP connection state: "),
        "{taken}"
    );
}

/// Collects all numbers in a value.
fn numbers<'a>(value: &'a mut Value, found: &mut Vec<&'a mut Value>) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| numbers(value, found)),
        Value::Object(values) => values.values_mut().for_each(|value| numbers(value, found)),
        Value::Number(_) => found.push(value),
        _ => {}
    }
}

/// Returns the state without most of its bytes, so that a change hits something else.
fn short(config: &Config) -> Value {
    let (mut pipe, [asked, _]) = Pipe::connected(config);
    pipe.reads[GATEWAY] = false;
    pipe.lose(MOBILE, &[1]);
    for place in 0..4 {
        pipe.write(GATEWAY, asked, place..place + 1);
        pipe.write(MOBILE, ConnectionId::Arrived(0), place..place + 1);
    }
    pipe.run(Duration::from_millis(11));
    pipe.input(GATEWAY, Input::Close(asked));
    let text = pipe.suspend(GATEWAY, asked).expect("it is made");
    serde_json::from_str(&text).expect("a value")
}

#[test]
fn no_number_in_a_state_makes_it_panic() {
    let mut random = RandomStream::named(1, "changes");
    let mut accepted = 0;
    for round in 0..6_000_u64 {
        let config = if round % 2 == 0 { paper() } else { wide() };
        let mut value = short(&config);
        let mut places = Vec::new();
        numbers(&mut value, &mut places);
        for _ in 0..=random.below(2) {
            let place = random.below(places.len() as u64) as usize;
            let old = places[place].as_u64().unwrap_or(0);
            let near = old.wrapping_add(random.below(7)).wrapping_sub(3);
            let numbers = [near, random.below(70_000), random.next_u64(), u64::MAX];
            *places[place] = numbers[random.below(4) as usize].into();
        }
        let Ok(state) = serde_json::from_value::<ConnectionState<Chunks>>(value) else {
            continue;
        };
        let (mut pipe, _) = Pipe::connected(&config);
        pipe.ends[GATEWAY] = another(&config);
        let now = pipe.clock.now;
        if pipe.ends[GATEWAY]
            .resume(now, ConnectionId::Opened(2), state)
            .is_ok()
        {
            accepted += 1;
            pipe.input(GATEWAY, Input::Damaged);
            pipe.write(GATEWAY, ConnectionId::Opened(2), 0..3_000);
            pipe.run(Duration::from_secs(2));
            if let Some(state) = pipe.ends[GATEWAY].suspend(pipe.clock.now, ConnectionId::Opened(2))
            {
                let again =
                    pipe.ends[GATEWAY].resume(pipe.clock.now, ConnectionId::Opened(3), state);
                assert_eq!(again, Ok(()), "what an endpoint says is right");
            }
        }
    }
    println!("{accepted} of 6,000 were possible");
    assert!(accepted > 100);
}

/// Both ends go on elsewhere, and all that was on its way is gone. Its repair waits for no timer; nor does it in the
/// wide profile if nothing comes through for another moment.
#[test]
fn what_was_on_its_way_is_repaired_at_once() {
    for (config, silences) in [(paper(), &[0][..]), (wide(), &[0, 5, 15, 40])] {
        let (mut pipe, [asked, arrived]) = Pipe::connected(&config);
        pipe.grants = true;
        pipe.write(GATEWAY, asked, 0..3_000_000);
        for silence in silences {
            pipe.run(Duration::from_millis(400));
            let states = [(GATEWAY, asked), (MOBILE, arrived)]
                .map(|(end, id)| (end, id, pipe.suspend(end, id).expect("it is made")));
            pipe.lose_all();
            pipe.run(Duration::from_millis(100));
            for (end, id, state) in states {
                pipe.ends[end] = another(&config);
                let state = serde_json::from_str(&state).expect("a state");
                let now = pipe.clock.now;
                pipe.ends[end].resume(now, id, state).expect("it is whole");
                if *silence == 0 {
                    pipe.lose_none();
                }
                pipe.input(end, Input::Room(3_000));
            }
            pipe.run(Duration::from_millis(*silence));
            pipe.lose_none();
            let before = pipe.told(MOBILE, arrived).received.len();
            pipe.run(Duration::from_millis(150));
            let received = pipe.told(MOBILE, arrived).received.len() - before;
            assert!(received > 90_000, "{received} bytes after {silence} ms");
        }
    }
}
