//! Timelines of each rule, and what `check` refuses.

use machine::RoundTripEstimate;
use proptest::prelude::*;
use units::Duration;

use super::{Adaptive, Cascade, Exponential, HybridLinear, Linear, Policy, RuleInput};
use crate::{Config, RoundTrip, Transport};

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Returns an estimate with these times in milliseconds.
fn estimate(smoothed: u64, deviation: u64) -> RoundTrip {
    RoundTrip {
        usual: RoundTripEstimate {
            smoothed: millis(smoothed),
            deviation: millis(deviation),
        },
        fastest: millis(smoothed),
    }
}

/// Returns the timeouts after 0, 1, 2, … timeouts, in milliseconds.
fn waits(policy: Policy, round_trip: Option<RoundTrip>, count: u32) -> Vec<u64> {
    let wait = |timeouts| {
        let situation = RuleInput {
            timeouts,
            round_trip,
            slowest: None,
        };
        policy.wait(&situation).as_millis()
    };
    (0..count).map(wait).collect()
}

/// nfs(5) of the time: three doublings, the next cascade from twice the initial wait; at most 60 s.
#[test]
fn exponential_doubles_in_cascades() {
    let rule = Exponential::default();
    assert_eq!(
        waits(Policy::Exponential(rule), None, 12),
        [
            700, 1_400, 2_800, 1_400, 2_800, 5_600, 2_800, 5_600, 11_200, 5_600, 11_200, 22_400
        ]
    );
    let last = waits(Policy::Exponential(rule), None, 40);
    assert_eq!(last[36..], [60_000; 4]);
    let same = Exponential {
        cascade: Cascade::Same,
        ..rule
    };
    // As measured on Linux with timeo=7,retrans=3: .70 1.41 3.01, and again.
    assert_eq!(
        waits(Policy::Exponential(same), None, 6),
        [700, 1_400, 2_800, 700, 1_400, 2_800]
    );
    let plain = Exponential {
        minor_timeouts: 0,
        ..rule
    };
    assert_eq!(
        waits(Policy::Exponential(plain), None, 9),
        [
            700, 1_400, 2_800, 5_600, 11_200, 22_400, 44_800, 60_000, 60_000
        ]
    );
    let longest = waits(Policy::Exponential(plain), None, 100);
    assert_eq!(longest[99], 60_000);
}

#[test]
fn linear_adds_a_constant() {
    let rule = Linear {
        maximum: millis(1_050),
        ..Linear::default()
    };
    assert_eq!(
        waits(Policy::Linear(rule), None, 6),
        [700, 800, 900, 1_000, 1_050, 1_050]
    );
}

/// Dube et al. 1997 §5.2 with a = 3: T(R) = Initial + c·R, then 2^(R−a)·T(a).
#[test]
fn hybrid_linear_adds_three_times_and_then_doubles() {
    let rule = HybridLinear::default();
    assert_eq!(
        waits(Policy::HybridLinear(rule), None, 12),
        [
            700, 800, 900, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000
        ]
    );
}

#[test]
fn adaptive_follows_the_round_trip_and_forgives_a_few_timeouts() {
    let rule = Adaptive::default();
    assert_eq!(
        waits(Policy::Adaptive(rule), None, 7),
        [700, 700, 700, 700, 1_400, 2_800, 5_600]
    );
    let known = estimate(80, 30);
    assert_eq!(
        waits(Policy::Adaptive(rule), Some(known), 14),
        [
            200, 200, 200, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 15_000, 15_000, 15_000,
            15_000
        ]
    );
    // A slow hop's round trip exceeds the maximum, which is for back-off only.
    let slow = estimate(40_000, 5_000);
    assert_eq!(waits(Policy::Adaptive(rule), Some(slow), 6), [60_000; 6]);
    // Round trips that do not vary leave room for the first that does.
    let steady = estimate(140, 0);
    assert_eq!(waits(Policy::Adaptive(rule), Some(steady), 1), [240]);
}

#[test]
fn adaptive_takes_the_slowest_class_where_nothing_is_known() {
    let policy = Policy::Adaptive(Adaptive::default());
    let wait = |smoothed| {
        let situation = RuleInput {
            slowest: Some(RoundTrip::first(millis(smoothed))),
            ..RuleInput::default()
        };
        policy.wait(&situation)
    };
    assert_eq!([wait(10), wait(4_000)], [millis(700), millis(12_000)]);
}

/// The bound that its description states.
#[test]
fn adaptive_bounds_what_a_silent_server_gets() {
    let rule = Adaptive::default();
    let policy = Policy::Adaptive(rule);
    for smoothed in [1, 80, 700, 5_000] {
        let round_trip = Some(RoundTrip::first(millis(smoothed)));
        let first = waits(policy, round_trip, 1)[0];
        let mut elapsed = Duration::ZERO;
        for timeouts in 0..60 {
            let doublings = (15_000 / first).ilog2() + 1;
            let bound = 1 + rule.steady + doublings + (elapsed.as_millis() / 15_000) as u32;
            assert!(timeouts < bound, "{smoothed} ms: {timeouts} in {elapsed}");
            let situation = RuleInput {
                timeouts,
                round_trip,
                slowest: None,
            };
            elapsed += policy.wait(&situation);
        }
    }
}

#[test]
fn adaptive_repeats_at_once_what_went_into_a_fade() {
    let policy = Policy::Adaptive(Adaptive::default());
    let situation = RuleInput {
        round_trip: Some(estimate(80, 20)),
        ..RuleInput::default()
    };
    let rule = policy.rule();
    assert_eq!(rule.resume(&situation, true), Some(millis(10)));
    assert_eq!(rule.resume(&situation, false), Some(millis(100)));
    let unknown = RuleInput::default();
    assert_eq!(rule.resume(&unknown, false), Some(millis(700)));
    let classic = Policy::Exponential(Exponential::default());
    assert_eq!(classic.rule().resume(&situation, true), None);
    assert_eq!(classic.rule().believes(), Duration::ZERO);
}

#[test]
fn the_estimate_is_jacobsons() {
    let first = RoundTripEstimate::first(millis(80));
    assert_eq!((first.smoothed, first.deviation), (millis(80), millis(40)));
    let second = first.with(millis(160));
    assert_eq!(
        (second.smoothed, second.deviation),
        (millis(90), millis(50))
    );
    assert_eq!(second.timeout(Duration::ZERO), millis(290));
}

#[test]
fn the_fastest_call_is_forgotten_slowly() {
    let mut known = RoundTrip::first(millis(80));
    assert_eq!(
        [69, 70, 90, 91].map(|span| known.is_fastest(millis(span))),
        [false, true, true, false]
    );
    for _ in 0..256 {
        known = known.with(millis(200));
    }
    assert!(known.fastest > millis(195), "{known:?}");
    assert_eq!(known.with(millis(60)).fastest, millis(60));
}

#[test]
fn configurations_are_text() {
    let text = r#"
        in_flight = 4
        [retransmission]
        policy = "hybrid-linear"
        initial = "700 ms"
        linear_steps = 2
    "#;
    let config: Config = toml::from_str(text).unwrap();
    assert_eq!(config.in_flight, 4);
    let expected = HybridLinear {
        linear_steps: 2,
        ..HybridLinear::default()
    };
    assert_eq!(config.retransmission, Policy::HybridLinear(expected));
    assert_eq!(config.check(), Ok(()));
    let error = toml::from_str::<Policy>("policy = 'linear'\nstepp = '1 ms'").unwrap_err();
    assert!(error.to_string().contains("stepp"), "{error}");
    let again: Config = toml::from_str(&toml::to_string(&config).unwrap()).unwrap();
    assert_eq!(again, config);
}

#[test]
fn what_makes_no_sense_is_named() {
    let refusal = |text: &str| {
        let config: Config = toml::from_str(text).unwrap();
        config.check().unwrap_err().to_string()
    };
    for (text, key) in [
        ("in_flight = 0", "`in_flight`"),
        ("longest_message = '70000 B'", "`longest_message`"),
        ("silent_after = '0 s'", "`silent_after`"),
        (
            "retransmission = {policy = 'exponential', initial = '0 s'}",
            "`initial`",
        ),
        (
            "retransmission = {policy = 'linear', maximum = '1 ms'}",
            "`maximum`",
        ),
        (
            "retransmission = {policy = 'hybrid-linear', step = '30 s'}",
            "`step`",
        ),
        (
            "retransmission = {policy = 'adaptive', minimum = '0 s'}",
            "`minimum`",
        ),
        (
            "retransmission = {policy = 'adaptive', minimum = '40 s'}",
            "`minimum`",
        ),
        (
            "retransmission = {policy = 'adaptive', spacing = '0 s'}",
            "`spacing`",
        ),
    ] {
        assert!(refusal(text).contains(key), "{text}: {}", refusal(text));
    }
    let long = Config::stream(units::Bytes::mebi(4));
    assert_eq!((long.transport, long.check()), (Transport::Stream, Ok(())));
}

fn spans() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0..5_000u64).prop_map(millis),
        any::<u64>().prop_map(Duration::from_nanos),
    ]
}

fn timeouts() -> impl Strategy<Value = u32> {
    prop_oneof![0..80u32, any::<u32>()]
}

fn policies() -> impl Strategy<Value = Policy> {
    (spans(), spans(), spans(), 0..9u32, any::<bool>()).prop_map(
        |(initial, step, maximum, count, choice)| {
            let exponential = Exponential {
                initial,
                maximum,
                minor_timeouts: count,
                cascade: if choice {
                    Cascade::Same
                } else {
                    Cascade::Doubled
                },
            };
            let linear = Linear {
                initial,
                step,
                maximum,
            };
            let hybrid = HybridLinear {
                initial,
                step,
                linear_steps: count,
                maximum,
            };
            let adaptive = Adaptive {
                initial,
                minimum: step,
                maximum,
                steady: count,
                ..Adaptive::default()
            };
            match count % 4 {
                0 => Policy::Exponential(exponential),
                1 => Policy::Linear(linear),
                2 => Policy::HybridLinear(hybrid),
                _ => Policy::Adaptive(adaptive),
            }
        },
    )
}

proptest! {
    /// A wait of nothing would make a client spin.
    #[test]
    fn what_passes_the_check_waits(policy in policies(), timeouts in timeouts(), known in spans()) {
        prop_assume!(policy.check().is_ok());
        let situation = RuleInput { timeouts, round_trip: None, slowest: None };
        prop_assert!(!policy.wait(&situation).is_zero());
        let round_trip = Some(RoundTrip::first(known));
        let situation = RuleInput { timeouts, round_trip, slowest: round_trip };
        prop_assert!(!policy.wait(&situation).is_zero());
        let resumed = policy.rule().resume(&situation, timeouts % 2 == 0);
        prop_assert!(resumed.is_none_or(|wait| !wait.is_zero()));
    }
}
