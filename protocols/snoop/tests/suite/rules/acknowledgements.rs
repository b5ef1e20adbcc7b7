//! Tests of acknowledgements from the mobile host.

use snoop::Config;

use super::script::{Script, ack, data, down, repair, up};

/// FACTS: a new acknowledgement frees the cache and goes on.
#[test]
fn a_new_acknowledgement_frees_the_cache_and_goes_on() {
    let mut script = Script::with_data(Config::tcp_aware(), 4);
    assert_eq!(script.mobile_sends(ack(3)), [up(ack(3))]);
    assert_eq!(script.agent.cached_bytes(), 1_040);
}

/// FACTS: a spurious acknowledgement, below the last one, is discarded.
#[test]
fn an_old_acknowledgement_is_discarded() {
    let mut script = Script::with_data(Config::tcp_aware(), 4);
    script.mobile_sends(ack(3));
    assert_eq!(script.mobile_sends(ack(2)), []);
    let mut script = Script::with_data(Config::link_layer(), 4);
    script.mobile_sends(ack(3));
    assert_eq!(script.mobile_sends(ack(2)), [up(ack(2))], "LL looks on");
}

/// The comparison: LL-TCP-AWARE repairs after two duplicates; FACTS: those expected after it are discarded.
#[test]
fn the_second_duplicate_repairs_and_none_reaches_the_sender() {
    let mut script = Script::with_data(Config::tcp_aware(), 6);
    assert_eq!(script.mobile_sends(ack(0)), []);
    assert_eq!(script.mobile_sends(ack(0)), [repair(0)]);
    for _ in 0..3 {
        assert_eq!(script.mobile_sends(ack(0)), [], "expected");
    }
    assert_eq!(script.mobile_sends(ack(6)), [up(ack(6))]);
    let counters = script.agent.counters();
    assert_eq!((counters.repairs, counters.held), (1, 5));
}

/// Mobicom 1995: the first duplicate repairs.
#[test]
fn one_duplicate_repairs_where_one_is_enough() {
    let config = Config {
        duplicates: 1,
        ..Config::tcp_aware()
    };
    let mut script = Script::with_data(config, 4);
    assert_eq!(script.mobile_sends(ack(0)), [repair(0)]);
}

/// FACTS: a duplicate beyond those expected means that the repair was lost too.
#[test]
fn an_unexpected_duplicate_repairs_again() {
    let mut script = Script::with_data(Config::tcp_aware(), 4);
    script.mobile_sends(ack(0));
    assert_eq!(script.mobile_sends(ack(0)), [repair(0)]);
    for place in 4..6 {
        assert_eq!(script.fixed_sends(data(place)), [down(data(place))]);
    }
    assert_eq!(script.mobile_sends(ack(0)), [], "of the third");
    assert_eq!(script.mobile_sends(ack(0)), [repair(0)], "of the fifth");
    assert_eq!(script.mobile_sends(ack(0)), [], "of the sixth");
}

/// The comparison: LL is snoop without suppression.
#[test]
fn a_plain_link_layer_repairs_and_lets_every_duplicate_pass() {
    let mut script = Script::with_data(Config::link_layer(), 5);
    assert_eq!(script.mobile_sends(ack(0)), [up(ack(0))]);
    assert_eq!(script.mobile_sends(ack(0)), [repair(0), up(ack(0))]);
    assert_eq!(script.mobile_sends(ack(0)), [up(ack(0))]);
    assert_eq!(script.agent.counters().passed, 3);
}

/// FACTS: a duplicate for a packet that is not cached goes on.
#[test]
fn duplicates_for_what_is_not_cached_pass() {
    let mut script = Script::with_data(Config::tcp_aware(), 2);
    script.mobile_sends(ack(2));
    script.fixed_sends(data(3));
    for _ in 0..4 {
        assert_eq!(script.mobile_sends(ack(2)), [up(ack(2))]);
    }
}

/// The sender repeats segments that the agent has repaired (LL does not shield it): its copies reach the mobile host
/// behind all the rest, and the duplicate acknowledgements that answer them show no loss. Repairs for those would be
/// copies as well, and so on.
#[test]
fn answers_to_needless_copies_are_no_losses() {
    let mut script = Script::with_data(Config::link_layer(), 8);
    script.mobile_sends(ack(2));
    script.mobile_sends(ack(2));
    assert_eq!(script.mobile_sends(ack(2))[0], repair(2));
    assert_eq!(script.fixed_sends(data(2)), [down(data(2))]);
    script.mobile_sends(ack(5));
    assert_eq!(script.fixed_sends(data(2)), [down(data(2))]);
    for _ in 0..2 {
        assert_eq!(script.mobile_sends(ack(5)), [up(ack(5))]);
    }
    assert_eq!(script.mobile_sends(ack(6)), [up(ack(6))]);
    assert_eq!(script.agent.counters().repairs, 1);
    script.mobile_sends(ack(6));
    assert_eq!(script.mobile_sends(ack(6))[0], repair(6), "a loss is one");
}
