//! Tests of timers, which act when no packets arrive.

use snoop::{Config, ExplicitLoss, Timing};
use units::Duration;

use super::script::{Script, ack, data, repair, up};

/// FACTS: without activity for 200 ms the oldest segment is repeated.
#[test]
fn silence_repeats_the_oldest_segment() {
    let mut script = Script::with_data(Config::tcp_aware(), 3);
    script.pause(199);
    assert_eq!(script.wait(1), [repair(0)]);
    assert_eq!(script.wait(200), [repair(0)], "and again");
    script.mobile_sends(ack(2));
    assert_eq!(script.wait(200), [repair(2)]);
    script.mobile_sends(ack(3));
    script.pause(10_000);
    assert_eq!(script.agent.counters().timeouts, 3);
}

/// RFC 8985, section 7: the acknowledgement of the last segment shows which of the others are lost.
#[test]
fn a_change_of_the_path_repeats_the_last_segment() {
    let mut script = Script::with_data(Config::smart_tcp_aware(), 3);
    assert_eq!(script.path_changes(), [repair(2)]);
    script.mobile_sends(ack(3));
    assert_eq!(script.path_changes(), [], "nothing is missing");
    let mut script = Script::with_data(Config::explicit_loss(ExplicitLoss::Next), 3);
    assert_eq!(script.path_changes(), [], "it repairs nothing");
}

/// FACTS: the local timeout is armed by the first repair, at twice the smoothed round trip and no less than the
/// minimum: 200 ms in the comparison, 40 ms before.
#[test]
fn a_repair_without_news_is_repeated_after_the_timeout() {
    for (minimum, expected) in [(200, 200), (40, 40), (1, 20)] {
        let timing = Timing {
            minimum_timeout: Duration::from_millis(minimum),
            initial_round_trip: Duration::from_millis(10),
            ..Timing::default()
        };
        let config = Config {
            timing,
            ..Config::tcp_aware()
        };
        let mut script = Script::with_data(config, 4);
        script.mobile_sends(ack(0));
        assert_eq!(script.mobile_sends(ack(0)), [repair(0)]);
        script.pause(expected - 1);
        assert_eq!(script.wait(1), [repair(0)]);
    }
}

/// FACTS: the round trip is smoothed with a gain of 1/4, one sample per window, none from a window in
/// which something was repeated.
#[test]
fn the_round_trip_is_measured_once_per_window_and_not_on_repairs() {
    let timing = Timing {
        minimum_timeout: Duration::ZERO,
        ..Timing::default()
    };
    let config = Config {
        timing,
        ..Config::tcp_aware()
    };
    let mut script = Script::new(config);
    script.fixed_sends(data(0));
    script.pause(40);
    script.mobile_sends(ack(1));
    script.fixed_sends(data(1));
    script.fixed_sends(data(2));
    script.pause(80);
    script.mobile_sends(ack(3));
    // 0.75 × 40 ms + 0.25 × 80 ms = 50 ms.
    for place in 3..6 {
        script.fixed_sends(data(place));
    }
    script.mobile_sends(ack(3));
    assert_eq!(script.mobile_sends(ack(3)), [repair(3)]);
    script.pause(99);
    assert_eq!(script.wait(1), [repair(3)]);
    script.mobile_sends(ack(6));
    script.fixed_sends(data(6));
    script.fixed_sends(data(7));
    script.fixed_sends(data(8));
    script.mobile_sends(ack(6));
    assert_eq!(
        script.mobile_sends(ack(6)),
        [repair(6)],
        "the estimate has not moved"
    );
    script.pause(99);
    assert_eq!(script.wait(1), [repair(6)]);
}

/// FACTS: timers go off at multiples of their granularity.
#[test]
fn timers_tick() {
    let timing = Timing {
        tick: Duration::from_millis(50),
        ..Timing::default()
    };
    let config = Config {
        timing,
        ..Config::tcp_aware()
    };
    let mut script = Script::with_data(config, 1);
    // At 1 ms, so due at 201 ms: the next tick is at 250 ms.
    script.pause(248);
    assert_eq!(script.wait(1), [repair(0)]);
}

/// FACTS: after a timeout no duplicates are expected and the next new acknowledgement is as good as any.
#[test]
fn a_timeout_starts_the_count_anew() {
    let mut script = Script::with_data(Config::tcp_aware(), 6);
    script.mobile_sends(ack(0));
    assert_eq!(script.mobile_sends(ack(0)), [repair(0)]);
    assert_eq!(script.wait(200), [repair(0)]);
    assert_eq!(script.mobile_sends(ack(0)), []);
    assert_eq!(script.mobile_sends(ack(0)), [repair(0)]);
    assert_eq!(script.mobile_sends(ack(1)), [repair(1), up(ack(1))]);
}

/// A connection that is idle for long is removed.
#[test]
fn quiet_connections_are_forgotten() {
    let mut script = Script::with_data(Config::tcp_aware(), 2);
    script.mobile_sends(ack(2));
    script.pause(299_000);
    assert_eq!(script.agent.flows(), 1);
    script.pause(1_000);
    assert_eq!(script.agent.flows(), 0);
}
