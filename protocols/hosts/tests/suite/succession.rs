//! Another process takes the place of a gateway, and its split connections go on.

use hosts::{Input, Output, Profile};
use machine::Machine;
use sockets::State;
use units::Duration;

use crate::streams::Load;
use crate::support::{GATEWAY, MOBILE};

/// Ways of split connections across the hop, and links.
const WAYS: [(Profile, bool); 3] = [
    (Profile::Wide, false),
    (Profile::Paper, false),
    (Profile::Wide, true),
];
const LINKS: [&str; 3] = ["l1-clean", "l3-p5", "l2-b40"];

#[test]
fn streams_go_on_with_the_next_process_again_and_again() {
    for (link, (profile, lean)) in LINKS
        .into_iter()
        .flat_map(|link| WAYS.map(|way| (link, way)))
    {
        let mut load = Load::with(link, profile, lean);
        let ends = load.open("10.9.0.2:5000");
        load.connect(MOBILE, &ends);
        load.send(GATEWAY, &ends, 3_000_000);
        load.send(MOBILE, &ends, 1_000_000);
        for pause in [0, 300, 2_000] {
            load.pair.run_for(Duration::from_millis(700));
            load.pair.succeed(Duration::from_millis(pause));
        }
        load.run_until_ended(MOBILE, &ends, 3_000_000);
        load.run_until_ended(GATEWAY, &ends, 1_000_000);
        load.pair.run_for(Duration::from_secs(150));
        assert_eq!(load.sockets(), 0, "{profile:?} over {link}, {lean}");
    }
}

/// A mobile host waits for a limited time, and then nothing that is not whole looks so, at either end.
#[test]
fn a_successor_that_is_late_resets_both_ends() {
    for (profile, lean) in WAYS {
        let mut load = Load::with("l1-clean", profile, lean);
        let ends = load.open("10.9.0.2:5000");
        load.connect(MOBILE, &ends);
        load.write(GATEWAY, &ends, 100_000_000);
        load.pair.run_for(Duration::from_secs(1));
        load.pair.succeed(Duration::from_secs(14));
        load.pair.run_for(Duration::from_secs(12));
        assert_eq!(load.application(MOBILE, &ends).state(), State::Reset);
        load.pair.run_for(Duration::from_secs(20));
        load.is_reset_at_both_ends(&ends);
    }
}

/// A mobile host that has lost its streams, or has others, goes on with none of the former gateway's.
#[test]
fn streams_of_another_life_do_not_go_on() {
    let mut load = Load::new("l1-clean", Profile::Wide);
    let ends = load.open("10.9.0.2:5000");
    load.connect(MOBILE, &ends);
    load.write(GATEWAY, &ends, 100_000_000);
    load.pair.run_for(Duration::from_secs(1));
    load.pair.succeed(Duration::from_secs(1));
    load.pair.restart(MOBILE);
    load.pair.run_for(Duration::from_secs(10));
    load.is_reset_at_both_ends(&ends);
    load.connects_anew();
}

/// Applications that end, or write, while there is no gateway.
#[test]
fn what_happens_meanwhile_is_not_lost() {
    for (profile, lean) in WAYS {
        let mut load = Load::with("l3-p5", profile, lean);
        let all: Vec<_> = (5_000..5_006)
            .map(|port| load.open(&format!("10.9.0.2:{port}")))
            .collect();
        for ends in &all {
            load.connect(MOBILE, ends);
            load.write(GATEWAY, ends, 200_000);
            load.write(MOBILE, ends, 50_000);
        }
        load.pair.run_for(Duration::from_millis(50));
        load.pair.succeed(Duration::from_millis(1_500));
        load.pair.run_for(Duration::from_millis(500));
        load.send(MOBILE, &all[0], 70_000);
        load.send(GATEWAY, &all[1], 70_000);
        load.pair.systems[MOBILE].reset(&all[2]);
        load.pair.systems[GATEWAY].reset(&all[3]);
        load.pair.hand_in_events();
        let late = load.open("10.9.0.2:5100");
        load.pair.run_for(Duration::from_secs(1));
        for ends in &all[1..] {
            load.pair.systems[MOBILE].finish(ends);
        }
        load.pair.systems[GATEWAY].finish(&all[0]);
        load.pair.systems[GATEWAY].finish(&all[4]);
        load.pair.systems[GATEWAY].finish(&all[5]);
        load.pair.hand_in_events();
        for (ends, [up, down]) in all.iter().zip([
            [120_000, 200_000],
            [50_000, 270_000],
            [0, 0],
            [0, 0],
            [50_000, 200_000],
            [50_000, 200_000],
        ]) {
            if up > 0 {
                load.run_until_ended(GATEWAY, ends, up);
                load.run_until_ended(MOBILE, ends, down);
            } else {
                load.run_until(|load| load.application(MOBILE, ends).state() == State::Reset);
                load.run_until(|load| load.application(GATEWAY, ends).state() == State::Reset);
            }
        }
        load.connect(MOBILE, &late);
        load.send(MOBILE, &late, 1_000);
        load.send(GATEWAY, &late, 1_000);
        load.run_until_ended(GATEWAY, &late, 1_000);
        load.pair.run_for(Duration::from_secs(150));
        assert_eq!(load.sockets(), 0, "{profile:?}, {lean}");
    }
}

/// Returns the names of all fields in a text of JSON, in their order.
fn fields(text: &str) -> Vec<&str> {
    let parts: Vec<_> = text.split('"').collect();
    let mut names = Vec::new();
    for pair in parts.windows(2) {
        if pair[1].starts_with(':') && !names.contains(&pair[0]) {
            names.push(pair[0]);
        }
    }
    names
}

/// All fields of the state that a process hands over.
const FIELDS: &str = "mobiles key tag streams profile arrived own peer addresses V4 destination source packet lean \
                      finished_first sending first acknowledged flight content fin cycle resent due unsent ending \
                      edge window shift round_trip receiving next sent buffer cause unread held requests \
                      connections id ends asker stream halves is_stream binding to_mobile sink_finished to_fixed";

/// The next process may be of another version. Whoever changes this list takes the next number for `FORMAT` in
/// `live/runtime/src/succession.rs`.
#[test]
fn the_state_has_the_fields_of_its_format() {
    let mut load = Load::new("l3-p5", Profile::Wide);
    let ends = load.open("10.9.0.2:5000");
    load.connect(MOBILE, &ends);
    load.write(GATEWAY, &ends, 100_000_000);
    load.pair.run_for(Duration::from_secs(1));
    let (gateway, now) = (&mut load.pair.hosts[GATEWAY], load.pair.now);
    gateway.handle_input(now, Input::HandOver);
    let mut outputs = std::iter::from_fn(|| gateway.poll_output());
    let handover = outputs.find_map(|output| match output {
        Output::HandedOver(handover) => Some(handover),
        _ => None,
    });
    let text = serde_json::to_string(&handover).expect("text");
    assert_eq!(fields(&text).join(" "), FIELDS);
}
