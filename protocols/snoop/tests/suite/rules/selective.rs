//! Tests of repair by selective information in acknowledgements.

use snoop::Config;

use super::script::{Script, ack, data, repair, sack, smart, up};

/// The comparison: SMART treats a gap as a loss at once, since the hop keeps order.
#[test]
fn the_first_duplicate_with_a_cause_repairs_every_gap_before_it() {
    let mut script = Script::with_data(Config::smart_tcp_aware(), 6);
    assert_eq!(
        script.mobile_sends(smart(0, 3)),
        [repair(0), repair(1), repair(2)]
    );
    assert_eq!(script.mobile_sends(smart(0, 5)), [repair(4)]);
    assert_eq!(script.agent.counters().held, 2);
}

/// The comparison: a packet is sent again only if it was not within the last round trip.
#[test]
fn a_repair_is_repeated_after_a_round_trip_only() {
    let mut script = Script::with_data(Config::smart_tcp_aware(), 4);
    script.pause(16);
    script.mobile_sends(smart(1, 0));
    assert_eq!(script.mobile_sends(smart(1, 2)), [repair(1)]);
    script.pause(1);
    assert_eq!(script.mobile_sends(smart(1, 3)), []);
    // The hop's queue may have grown: time alone proves nothing.
    script.pause(60);
    assert_eq!(script.mobile_sends(smart(1, 3)), []);
    script.fixed_sends(data(4));
    script.pause(1);
    assert_eq!(script.mobile_sends(smart(1, 4)), [repair(1)]);
}

/// The copy that arrived may be the first one, which was sent before the repair.
#[test]
fn what_was_sent_twice_proves_no_loss_of_a_repair() {
    let mut script = Script::with_data(Config::smart_tcp_aware(), 6);
    script.mobile_sends(ack(1));
    assert_eq!(script.mobile_sends(smart(1, 2)), [repair(1)]);
    script.pause(5);
    script.fixed_sends(data(3));
    assert_eq!(script.mobile_sends(smart(1, 3)), []);
    assert_eq!(script.mobile_sends(smart(1, 5)), [repair(4)]);
}

/// FACTS: the base station strips the SMART information before it forwards.
#[test]
fn the_cause_does_not_reach_the_sender() {
    for config in [Config::smart(), Config::smart_tcp_aware()] {
        let mut script = Script::with_data(config, 4);
        assert_eq!(script.mobile_sends(smart(2, 1)), [up(ack(2))]);
    }
}

/// The comparison: LL-SMART repairs selectively and suppresses nothing.
#[test]
fn a_link_layer_with_smart_lets_duplicates_pass() {
    let mut script = Script::with_data(Config::smart(), 4);
    assert_eq!(
        script.mobile_sends(smart(0, 2)),
        [repair(0), repair(1), up(ack(0))]
    );
}

/// A cause at or below the acknowledgement number reports a segment that arrived twice: nothing is missing.
#[test]
fn a_repeated_arrival_is_no_loss() {
    let mut script = Script::with_data(Config::smart_tcp_aware(), 5);
    script.mobile_sends(smart(3, 2));
    for _ in 0..3 {
        assert_eq!(script.mobile_sends(smart(3, 1)), []);
    }
    assert_eq!(script.agent.counters().repairs, 0);
}

/// A new acknowledgement with a cause beyond it shows a gap too.
#[test]
fn a_partial_acknowledgement_repairs_what_it_shows() {
    let mut script = Script::with_data(Config::smart_tcp_aware(), 6);
    assert_eq!(
        script.mobile_sends(smart(2, 4)),
        [repair(2), repair(3), up(ack(2))]
    );
}

/// The SACK blocks of a kernel mean the same as SMART's causes.
#[test]
fn sack_blocks_repair_selectively() {
    let mut script = Script::with_data(Config::smart_tcp_aware(), 8);
    assert_eq!(
        script.mobile_sends(sack(0, &[(2, 3)])),
        [repair(0), repair(1)]
    );
    let blocks = [(5, 6), (2, 3)];
    assert_eq!(
        script.mobile_sends(sack(0, &blocks)),
        [repair(3), repair(4)]
    );
    assert_eq!(script.mobile_sends(sack(0, &blocks)), []);
    assert_eq!(script.mobile_sends(ack(8)), [up(ack(8))]);
}

/// Segments that came late had been lost on the wired side: the agent does not repair them.
#[test]
fn what_came_late_is_not_repaired() {
    let mut script = Script::with_data(Config::smart_tcp_aware(), 2);
    script.fixed_sends(data(3));
    script.fixed_sends(data(2));
    let blocks = [(3, 4)];
    script.mobile_sends(ack(2));
    assert_eq!(
        script.mobile_sends(sack(2, &blocks)),
        [up(sack(2, &blocks))]
    );
    assert_eq!(script.agent.counters().repairs, 0);
}

/// Without selective information a SMART agent counts, like the others.
#[test]
fn without_information_duplicates_are_counted() {
    let mut script = Script::with_data(Config::smart_tcp_aware(), 5);
    assert_eq!(script.mobile_sends(ack(0)), []);
    assert_eq!(script.mobile_sends(ack(0)), [repair(0)]);
}

/// RFC 8985 §6.2: what came late once is waited for, and what stays away is repaired after that time.
#[test]
fn after_a_late_arrival_a_gap_is_repaired_only_when_it_has_lasted() {
    let config = Config {
        expects_reordering: true,
        ..Config::smart_tcp_aware()
    };
    let mut script = Script::with_data(config, 4);
    script.pause(20);
    script.mobile_sends(ack(1));
    assert_eq!(script.mobile_sends(smart(1, 2)), [repair(1)]);
    // No repair can have arrived so soon: it was the segment itself, 8 ms late.
    script.pause(8);
    assert_eq!(script.mobile_sends(ack(4)), [up(ack(4))]);
    for place in 4..8 {
        script.fixed_sends(data(place));
    }
    script.pause(20);
    assert_eq!(script.mobile_sends(smart(4, 5)), []);
    script.pause(9);
    assert_eq!(script.wait(1), [repair(4)]);
    // What arrives in that time is not repaired at all.
    script.pause(20);
    script.mobile_sends(ack(6));
    assert_eq!(script.mobile_sends(smart(6, 7)), []);
    script.pause(9);
    assert_eq!(script.mobile_sends(ack(8)), [up(ack(8))]);
    script.pause(100);
}
