//! A segment in steady state costs no allocation.

use tcp::Policy;

use crate::pair::Pair;

#[test]
fn segments_cost_no_allocation_once_the_window_has_opened() {
    for policy in Policy::ALL {
        let mut pair = Pair::connected(policy);
        // With losses too: the lists of lost ranges keep their storage.
        pair.exchange(20_000, 50);
        let steady = allocation_counter::measure(|| pair.exchange(5_000, u64::MAX));
        assert_eq!(steady.count_total, 0, "{policy:?}");
        let losing = allocation_counter::measure(|| pair.exchange(5_000, 50));
        assert!(
            losing.count_total <= 5,
            "{policy:?}: {}",
            losing.count_total
        );
        assert!(pair.ends[0].counters().recovered.fast_retransmissions > 100);
    }
}
