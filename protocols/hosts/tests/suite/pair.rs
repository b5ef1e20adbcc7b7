//! A mobile host and its gateway over a channel, in virtual time, with the wiring that the daemons use.

use units::{Duration, Instant};

use crate::support::{Pair, Traffic};

/// Runs bulk traffic down the named link and returns the pair.
fn bulk(link: &str, seconds: u64) -> Pair {
    let mut pair = Pair::new(link, 1);
    pair.add(Traffic::bulk(1));
    pair.run_until(Instant::from_millis(seconds * 1000));
    pair
}

#[test]
fn a_clean_link_is_filled_and_every_packet_arrives_in_order() {
    let pair = bulk("l2-clean", 20);
    let received = pair.received(1);
    assert!(received.in_order, "packets of one flow left their order");
    let share = pair.share(1, Duration::from_secs(20));
    assert!(share > 0.92, "share {share:.3}");
}

#[test]
fn fades_are_repaired_without_a_gap() {
    for link in ["l1-b40", "l1-b160", "l2-b40", "l2-b160", "l3-b80"] {
        let pair = bulk(link, 20);
        let received = pair.received(1);
        assert!(
            received.in_order && received.packets > 100,
            "{link}: {received:?}"
        );
        let share = pair.share(1, Duration::from_secs(20));
        assert!(share > 0.85, "{link}: share {share:.3} {}", pair.summary());
    }
}

#[test]
fn lonely_losses_are_repaired_without_a_gap() {
    for (link, seconds) in [("l3-p1", 10), ("l3-p5", 10), ("l4-p1", 30)] {
        let pair = bulk(link, seconds);
        let received = pair.received(1);
        assert!(
            received.in_order && received.packets > 1000,
            "{link}: {received:?}"
        );
        let share = pair.share(1, Duration::from_secs(seconds));
        assert!(share > 0.8, "{link}: share {share:.3} {}", pair.summary());
    }
}

#[test]
fn two_runs_are_alike() {
    let print = || {
        format!(
            "{:?} {}",
            bulk("l2-b80", 5).received(1),
            bulk("l2-b80", 5).summary()
        )
    };
    assert_eq!(print(), print());
}
