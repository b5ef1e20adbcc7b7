//! Guarantees to the stations that share a medium by carrier sense.

use channel::errors::ErrorConfig;
use channel::{CsmaAir, CsmaConfig, Frame, Heard, Station, TransmitResult};
use machine::Machine;
use proptest::prelude::*;
use units::{Bytes, Duration, Instant};

const SIZE: Bytes = Bytes::new(1_500);

fn errors(text: &str) -> ErrorConfig {
    toml::from_str(text).expect("an error model")
}

fn good() -> ErrorConfig {
    ErrorConfig::default()
}

fn never_good() -> ErrorConfig {
    errors("model = \"independent\"\np = \"100 %\"")
}

fn down(mobile: u16, payload: u32) -> Frame<u32> {
    Frame {
        from: Station::Base,
        mobile,
        size: SIZE,
        payload,
    }
}

fn up(mobile: u16, payload: u32) -> Frame<u32> {
    let from = Station::Mobile(mobile);
    Frame {
        from,
        ..down(mobile, payload)
    }
}

/// Runs a medium until `end`, with every station saturated.
fn saturate(
    air: &mut CsmaAir<u32>,
    first: Vec<Frame<u32>>,
    end: Instant,
) -> Vec<(Instant, Heard<u32>)> {
    let mut log = Vec::new();
    for frame in first {
        air.handle_input(Instant::ZERO, frame);
    }
    while let Some(now) = air.poll_timeout().filter(|due| *due <= end) {
        air.handle_timeout(now);
        while let Some(heard) = air.poll_output() {
            log.push((now, heard.clone()));
            if let Heard::Ended { mut frame, .. } = heard {
                frame.payload += 1;
                air.handle_input(now, frame);
            }
        }
    }
    log
}

fn ends(log: &[(Instant, Heard<u32>)], from: Station) -> Vec<(Instant, TransmitResult, Duration)> {
    let end = |(at, heard): &(Instant, Heard<u32>)| match heard {
        Heard::Ended {
            frame,
            fate,
            airtime,
        } if frame.from == from => Some((*at, *fate, *airtime)),
        _ => None,
    };
    log.iter().filter_map(end).collect()
}

#[test]
fn a_station_that_finds_the_air_idle_begins_at_once_and_is_answered() {
    let config = CsmaConfig::default();
    let mut air = CsmaAir::new(config, &[good()], 1);
    let now = Instant::from_millis(10);
    air.handle_input(now, down(0, 7));
    // 10 ms lie on the grid of slots that follow the sense interval to within one of them.
    let begins = air.poll_timeout().expect("it will send");
    assert!(begins.since(now) < config.slot, "{begins}");
    let data = begins + config.data(SIZE);
    let answered = data + config.gap + config.answer();
    air.handle_timeout(begins);
    assert_eq!(air.poll_timeout(), Some(data));
    air.handle_timeout(data);
    assert_eq!(air.poll_output(), Some(Heard::Delivered(down(0, 7))));
    air.handle_timeout(answered);
    let ended = Heard::Ended {
        frame: down(0, 7),
        fate: TransmitResult::Acknowledged,
        airtime: config.exchange(SIZE),
    };
    assert_eq!(air.poll_output(), Some(ended));
}

#[test]
fn one_station_that_is_saturated_reaches_the_computed_rate() {
    let config = CsmaConfig::default();
    let mut air = CsmaAir::new(config, &[good()], 2);
    let end = Instant::from_millis(60_000);
    let log = saturate(&mut air, vec![down(0, 0)], end);
    let each = config.exchange(SIZE) + config.mean_contention();
    let expected = end.since_origin().as_nanos() / each.as_nanos();
    let sent = ends(&log, Station::Base).len() as u64;
    assert!(
        sent.abs_diff(expected) * 100 <= expected,
        "{sent} for {expected}"
    );
    assert_eq!(air.counters().collisions, 0);
}

/// The shares of saturated stations differ by little, and collisions are as frequent as the windows make them.
#[test]
fn saturated_stations_share_the_air_and_sometimes_collide() {
    let mut air = CsmaAir::new(CsmaConfig::default(), &[good(), good(), good()], 3);
    let first = vec![down(0, 0), up(0, 0), up(1, 0), up(2, 0)];
    let log = saturate(&mut air, first, Instant::from_millis(120_000));
    let stations = [
        Station::Base,
        Station::Mobile(0),
        Station::Mobile(1),
        Station::Mobile(2),
    ];
    let acknowledged = stations.map(|station| {
        let ended = ends(&log, station);
        ended
            .iter()
            .filter(|(_, fate, _)| *fate == TransmitResult::Acknowledged)
            .count()
    });
    let (least, most) = (acknowledged.iter().min(), acknowledged.iter().max());
    let (least, most) = (least.expect("four"), most.expect("four"));
    assert!(most * 10 <= least * 11, "{acknowledged:?}");
    let counters = air.counters();
    let share = counters.collisions * 1_000 / (counters.turns + counters.collisions);
    // Four stations that draw from 32 slots anew: about one turn in sixteen.
    assert!((30..120).contains(&share), "{share} per mille");
}

#[test]
fn frames_that_begin_together_are_lost_together() {
    let config = CsmaConfig::default();
    let mut air = CsmaAir::new(config, &[good(), good()], 4);
    let log = saturate(&mut air, vec![up(0, 0), up(1, 0)], Instant::from_millis(20));
    // At time zero the air has not been idle for the sense interval, so both draw; look for a collision.
    assert!(!log.is_empty());
    let mut air = CsmaAir::new(config, &[good(), good()], 4);
    let now = Instant::from_millis(5);
    air.handle_input(now, up(0, 1));
    air.handle_input(now, up(1, 2));
    while let Some(due) = air.poll_timeout() {
        air.handle_timeout(due);
    }
    let heard: Vec<_> = std::iter::from_fn(|| air.poll_output()).collect();
    let collided = |heard: &Heard<u32>| {
        matches!(
            heard,
            Heard::Ended {
                fate: TransmitResult::Collided,
                ..
            }
        )
    };
    // The base station, the receiver of both, receives them as one damaged frame.
    let (at, joined) = (Station::Base, true);
    assert_eq!(heard[0], Heard::Damaged { at, joined });
    assert_eq!(heard.len(), 3);
    assert!(heard[1..].iter().all(collided), "{heard:?}");
}

/// A mobile host receives a damaged frame if others collided with a frame for it, unless it sent one of them itself.
#[test]
fn who_hears_a_collision_is_who_was_to_receive_and_did_not_send() {
    let collide = |second: Frame<u32>| {
        let mut air = CsmaAir::new(CsmaConfig::default(), &[good(), good()], 4);
        let now = Instant::from_millis(5);
        air.handle_input(now, down(0, 1));
        air.handle_input(now, second);
        while let Some(due) = air.poll_timeout() {
            air.handle_timeout(due);
        }
        let heard = std::iter::from_fn(move || air.poll_output());
        heard
            .filter(|heard| matches!(heard, Heard::Damaged { .. }))
            .collect::<Vec<_>>()
    };
    let (at, joined) = (Station::Mobile(0), true);
    let heard = collide(up(1, 2));
    assert!(heard.contains(&Heard::Damaged { at, joined }), "{heard:?}");
    assert_eq!(collide(up(0, 2)), []);
}

#[test]
fn a_card_tries_again_as_often_as_it_may() {
    let config = CsmaConfig {
        retries: 3,
        ..CsmaConfig::default()
    };
    let mut air = CsmaAir::new(config, &[never_good()], 5);
    air.handle_input(Instant::ZERO, down(0, 0));
    while let Some(due) = air.poll_timeout() {
        air.handle_timeout(due);
    }
    let (at, joined) = (Station::Mobile(0), false);
    for _ in 0..4 {
        assert_eq!(air.poll_output(), Some(Heard::Damaged { at, joined }));
    }
    let ended = air.poll_output().expect("it gave up");
    let airtime = config.data(SIZE) * 4;
    let frame = down(0, 0);
    let fate = TransmitResult::Lost;
    assert_eq!(
        ended,
        Heard::Ended {
            frame,
            fate,
            airtime
        }
    );
    assert_eq!(air.counters().turns, 4);
}

#[test]
fn a_reservation_lets_a_bad_channel_cost_little() {
    let config = CsmaConfig {
        reserve_from: Some(Bytes::new(500)),
        ..CsmaConfig::default()
    };
    let mut air = CsmaAir::new(config, &[never_good(), good()], 6);
    air.handle_input(Instant::ZERO, down(0, 0));
    while let Some(due) = air.poll_timeout() {
        air.handle_timeout(due);
    }
    let heard = std::iter::from_fn(|| air.poll_output()).last();
    let Some(Heard::Ended { airtime, .. }) = heard else {
        panic!("it did not give up");
    };
    assert_eq!(airtime, config.reservation());
}

#[test]
fn an_answer_that_is_lost_makes_the_frame_arrive_twice() {
    let config = CsmaConfig::default();
    // The channel turns bad for ever while the acknowledgement of the first frame is on its way.
    let state = |mean: &str| format!("{{ distribution = \"deterministic\", mean = \"{mean}\" }}");
    let (good, bad) = (state("6600 us"), state("1 s"));
    let errors = errors(&format!("model = \"temporal\"\ngood = {good}\nbad = {bad}"));
    let mut air = CsmaAir::new(config, &[errors], 7);
    air.handle_input(Instant::ZERO, down(0, 0));
    let mut heard = Vec::new();
    while let Some(due) = air.poll_timeout() {
        air.handle_timeout(due);
        heard.extend(std::iter::from_fn(|| air.poll_output()));
    }
    let fates: Vec<_> = heard
        .iter()
        .map(|heard| matches!(heard, Heard::Delivered(_)))
        .collect();
    assert_eq!(fates, [true, false], "{heard:?}");
    assert!(matches!(
        heard[1],
        Heard::Ended {
            fate: TransmitResult::Lost,
            ..
        }
    ));
}

#[test]
fn what_no_station_can_send_is_counted() {
    let mut air = CsmaAir::new(CsmaConfig::default(), &[good()], 8);
    let now = Instant::ZERO;
    air.handle_input(now, down(1, 0));
    let stranger = Frame {
        from: Station::Mobile(3),
        ..down(0, 0)
    };
    air.handle_input(now, stranger);
    air.handle_input(now, down(0, 0));
    air.handle_input(now, down(0, 1));
    assert_eq!(air.counters().refused, 3);
    assert!(!air.is_free(Station::Base));
}

#[test]
fn a_configuration_without_sense_says_what_is_wrong() {
    let config: CsmaConfig = toml::from_str("gap = \"1 ms\"").expect("it can be read");
    let error = config.check().expect_err("answers would have no priority");
    let text = "CSMA/CA configuration: `gap` must be shorter than `sense`, or acknowledgements have no priority";
    assert_eq!(error.to_string(), text);
    CsmaConfig::default().check().expect("a default is sound");
}

proptest! {
    #[test]
    fn the_contract_holds(
        seed in any::<u64>(),
        script in prop::collection::vec((0u64..20_000, 0u16..3, any::<bool>(), 0u64..2_000), 0..60),
        retries in 0u32..4,
        reserves in any::<bool>(),
    ) {
        let config = CsmaConfig {
            retries,
            reserve_from: reserves.then_some(Bytes::new(1_000)),
            ..CsmaConfig::default()
        };
        let lossy = errors("model = \"independent\"\np = \"30 %\"");
        let frame = |(delay, mobile, upwards, size): (u64, u16, bool, u64)| {
            let frame = if upwards { up(mobile, 0) } else { down(mobile, 0) };
            let size = Bytes::new(size);
            (Duration::from_micros(delay), Frame { size, ..frame })
        };
        let script: Vec<_> = script.into_iter().map(frame).collect();
        let build = || CsmaAir::new(config, &[good(), lossy.clone()], seed);
        machine::conformance::check(build, &script, Duration::from_secs(10));
    }
}
