//! Token buckets pass what they earn, and no more.

use machine::{TokenBucket, TokenDebt};
use units::{Duration, Instant};

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

#[test]
fn a_full_bucket_gives_its_burst_and_then_its_rate() {
    let mut bucket = TokenBucket::new(4, 2);
    assert_eq!([0; 3].map(|_| bucket.take(at(0))), [true, true, false]);
    let later = [249, 250, 499, 500].map(|millis| bucket.take(at(millis)));
    assert_eq!(later, [false, true, false, true]);
    assert_eq!([0; 3].map(|_| bucket.take(at(60_000))), [true, true, false]);
}

#[test]
fn a_rate_of_nothing_earns_nothing() {
    let mut bucket = TokenBucket::new(0, 1);
    let year = Duration::from_secs(365 * 86_400);
    let takes = [1, 2, 3].map(|years| bucket.take(at(0) + year * years));
    assert_eq!(takes, [true, false, false]);
    assert!(!TokenBucket::new(1, 0).take(at(0) + year));
}

#[test]
fn an_empty_bucket_earns_its_first_token() {
    let mut debt = TokenDebt::empty(at(1_000), 160);
    let mut take = |millis| debt.take(at(millis), 20, 160, Duration::as_millis);
    assert!(!take(1_019));
    assert!(take(1_020));
    assert_eq!((0..20).filter(|_| take(9_000)).count(), 8);
}

#[test]
fn what_was_taken_stays_taken_when_the_bucket_changes() {
    let mut debt = TokenDebt::default();
    assert!(debt.take(at(0), 10, 10, |_| 0));
    assert!(!debt.take(at(500), 1, 10, |_| 0));
    // Time that passed at a rate of zero counts once there is a rate.
    assert!(!debt.take(at(1_000), 16, 20, |span| span.as_millis() / 200));
    assert!(debt.take(at(1_000), 15, 20, |span| span.as_millis() / 200));
}

#[test]
fn the_time_is_known_from_which_a_bucket_holds_an_amount() {
    let mut debt = TokenDebt::default();
    let holds_from = |debt: &TokenDebt, amount| {
        debt.holds_from(amount, 100, |missing| Some(Duration::from_millis(missing)))
    };
    assert_eq!(holds_from(&debt, 100), Some(at(0)));
    assert!(debt.take(at(5_000), 70, 100, Duration::as_millis));
    assert_eq!(holds_from(&debt, 30), Some(at(5_000)));
    assert_eq!(holds_from(&debt, 50), Some(at(5_020)));
    assert_eq!(holds_from(&debt, 101), None, "it never holds so much");
    assert_eq!(
        debt.holds_from(50, 100, |_| None),
        None,
        "nothing is earned"
    );
    assert!(!debt.take(at(5_019), 50, 100, |_| 19));
    assert!(debt.take(at(5_020), 50, 100, |_| 1));
}
