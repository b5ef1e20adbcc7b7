//! Tests of marks of losses on the air, made by the base station (the comparison, discussion).

use snoop::AirLoss;
use snoop::{Config, ExplicitLoss};

use super::script::{Script, ack, data, marked, ranges, sack, up};

fn marking(mode: ExplicitLoss) -> Config {
    Config::explicit_loss(mode)
}

#[test]
fn duplicates_for_what_passed_the_base_station_are_marked() {
    let mut script = Script::with_data(marking(ExplicitLoss::Next), 5);
    for _ in 0..3 {
        assert_eq!(
            script.mobile_sends(ack(0)),
            [up(marked(ack(0), AirLoss::Next))]
        );
    }
    assert_eq!(script.mobile_sends(ack(5)), [up(ack(5))]);
    let counters = script.agent.counters();
    assert_eq!((counters.marked, counters.repairs), (3, 0));
}

/// Never for a loss on the wired side: before the sender has repaired it, and after.
#[test]
fn a_loss_on_the_wired_side_is_never_marked() {
    for mode in [ExplicitLoss::Next, ExplicitLoss::Ranges] {
        let mut script = Script::with_data(marking(mode), 2);
        script.mobile_sends(ack(2));
        for place in [3, 4, 5] {
            script.fixed_sends(data(place));
            assert_eq!(script.mobile_sends(ack(2)), [up(ack(2))]);
        }
        script.fixed_sends(data(2));
        assert_eq!(script.mobile_sends(ack(2)), [up(ack(2))]);
    }
}

#[test]
fn several_losses_are_named_in_one_mark() {
    let mut script = Script::with_data(marking(ExplicitLoss::Ranges), 3);
    for place in [4, 5, 6] {
        script.fixed_sends(data(place));
    }
    let duplicate = sack(1, &[(2, 3)]);
    script.mobile_sends(ack(1));
    let lost = AirLoss::Ranges(ranges(&[(1, 2)]));
    assert_eq!(
        script.mobile_sends(duplicate.clone()),
        [up(marked(duplicate, lost))]
    );
    let duplicate = sack(1, &[(6, 7), (2, 3)]);
    // The third was lost before the base station.
    let lost = AirLoss::Ranges(ranges(&[(1, 2), (4, 5), (5, 6)]));
    assert_eq!(
        script.mobile_sends(duplicate.clone()),
        [up(marked(duplicate, lost))]
    );
}
