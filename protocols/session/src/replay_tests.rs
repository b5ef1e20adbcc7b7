use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{ReplayWindow, WINDOW};

/// Remembers every number; forgets none.
#[derive(Default)]
struct Naive {
    seen: BTreeSet<u64>,
}

impl Naive {
    fn is_fresh(&self, number: u64) -> bool {
        let in_reach = self
            .seen
            .last()
            .is_none_or(|newest| number + WINDOW > *newest);
        in_reach && !self.seen.contains(&number)
    }
}

/// Steps that stay near the window, with some far jumps.
fn step() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => -3_i64..=3,
        2 => -200_i64..=200,
        2 => -9_000_i64..=9_000,
        1 => 0_i64..=100_000,
        1 => Just(-(WINDOW as i64)),
        1 => Just(-(WINDOW as i64) + 1),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_ring_agrees_with_a_set(
        start in prop_oneof![Just(0_u64), Just(8_191), Just(1 << 40)],
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let mut window = ReplayWindow::new();
        let mut naive = Naive::default();
        let mut place = start;
        for step in steps {
            place = place.saturating_add_signed(step);
            prop_assert_eq!(window.is_fresh(place), naive.is_fresh(place), "at {}", place);
            if naive.is_fresh(place) {
                let newest = naive.seen.last().is_none_or(|newest| place > *newest);
                prop_assert_eq!(window.commit(place), newest);
                naive.seen.insert(place);
                prop_assert_eq!(window.expected(), naive.seen.last().unwrap() + 1);
            }
        }
    }
}

#[test]
fn a_check_commits_nothing() {
    let mut window = ReplayWindow::new();
    assert!(window.is_fresh(5) && window.is_fresh(5));
    assert!(window.commit(5));
    assert!(!window.is_fresh(5));
    assert!(window.is_fresh(4));
    assert!(!window.commit(4));
}
