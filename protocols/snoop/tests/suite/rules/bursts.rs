//! Tests of losses in a row, without selective information.

use snoop::Config;

use super::script::{Script, ack, data, down, repair, up};

/// The comparison: a new acknowledgement below the next expected one repairs the next lost segment at once.
#[test]
fn a_new_acknowledgement_below_the_expected_one_repairs_the_next_segment() {
    let mut script = Script::with_data(Config::tcp_aware(), 8);
    // 0, 1 and 2 are lost; 3, 4 and 5 arrive before the repair of 0.
    script.mobile_sends(ack(0));
    assert_eq!(script.mobile_sends(ack(0)), [repair(0)]);
    script.mobile_sends(ack(0));
    assert_eq!(script.mobile_sends(ack(1)), [repair(1), up(ack(1))]);
    assert_eq!(script.mobile_sends(ack(2)), [repair(2), up(ack(2))]);
    assert_eq!(script.mobile_sends(ack(6)), [up(ack(6))]);
    assert_eq!(script.mobile_sends(ack(8)), [up(ack(8))]);
    assert_eq!(script.agent.counters().repairs, 3);
}

/// A repair overtakes segments in the queue to the air: an acknowledgement of segments that arrived before it is as
/// expected, though much lies behind it in the queue.
#[test]
fn a_repair_that_overtakes_the_queue_is_no_sign_of_a_burst() {
    let mut script = Script::with_data(Config::tcp_aware(), 20);
    script.mobile_sends(ack(0));
    assert_eq!(script.mobile_sends(ack(0)), [repair(0)]);
    assert_eq!(script.mobile_sends(ack(3)), [up(ack(3))]);
    assert_eq!(script.mobile_sends(ack(5)), [up(ack(5))]);
    assert_eq!(script.agent.counters().repairs, 1);
}

/// Duplicates of the next loss in a burst that was repaired already are expected.
#[test]
fn duplicates_after_the_next_repair_are_expected() {
    let mut script = Script::with_data(Config::tcp_aware(), 6);
    script.mobile_sends(ack(0));
    script.mobile_sends(ack(0));
    assert_eq!(script.mobile_sends(ack(1)), [repair(1), up(ack(1))]);
    assert_eq!(script.mobile_sends(ack(1)), []);
    assert_eq!(script.mobile_sends(ack(1)), []);
    assert_eq!(script.agent.counters().repairs, 2);
}

/// Segments sent after the first repair are no part of its burst.
#[test]
fn a_burst_ends_where_the_first_repair_found_it() {
    let mut script = Script::with_data(Config::tcp_aware(), 3);
    script.mobile_sends(ack(0));
    assert_eq!(script.mobile_sends(ack(0)), [repair(0)]);
    for place in 3..6 {
        assert_eq!(script.fixed_sends(data(place)), [down(data(place))]);
    }
    for _ in 0..3 {
        script.mobile_sends(ack(0));
    }
    assert_eq!(
        script.mobile_sends(ack(3)),
        [up(ack(3))],
        "beyond the burst"
    );
}
