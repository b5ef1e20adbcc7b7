//! Recent totals count what is recent, exactly, and nothing older.

use machine::RecentTotal;
use proptest::prelude::*;
use units::{BitRate, Duration, Instant};

const SPAN: Duration = Duration::from_secs(3);

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

#[test]
fn a_steady_flow_shows_its_rate() {
    let mut recent = RecentTotal::over(SPAN);
    // 1,250 bytes each 10 ms are 1 Mbit/s.
    for millis in (0..20_000).step_by(10) {
        recent.add(at(millis), 1_250);
        if millis >= 3_000 && millis % 250 == 240 {
            assert_eq!(recent.rate(at(millis + 10)), rate_after(&recent, millis));
        }
    }
    let rate = recent.rate(at(19_999)).bits_per_second();
    assert!((990_000..=1_010_000).contains(&rate), "{rate}");
}

/// At the end of a part, the oldest of twelve has just gone.
fn rate_after(recent: &RecentTotal, millis: u64) -> BitRate {
    let end = at(millis + 10);
    assert_eq!(recent.span(end), SPAN * 11 / 12);
    assert_eq!(recent.total(end), 2_750 / 10 * 1_250);
    BitRate::from_megabits(1)
}

#[test]
fn it_falls_to_zero_when_nothing_comes_any_more() {
    let mut recent = RecentTotal::over(SPAN);
    for millis in (0..5_000).step_by(10) {
        recent.add(at(millis), 1_250);
    }
    let rates = (5_000..=8_000)
        .step_by(250)
        .map(|millis| recent.rate(at(millis)));
    let rates: Vec<_> = rates.collect();
    assert!(rates.is_sorted_by(|one, next| one > next || *next == BitRate::ZERO));
    assert_eq!(rates.last(), Some(&BitRate::ZERO));
    assert_eq!(recent.total(at(u64::MAX / 1_000_000)), 0);
    recent.add(at(3_600_000), 7);
    assert_eq!(
        recent.total(at(3_600_000)),
        7,
        "an hour later nothing old is left"
    );
}

#[test]
fn a_new_one_has_counted_nothing() {
    let recent = RecentTotal::over(SPAN);
    assert_eq!(
        (recent.total(at(0)), recent.rate(at(0))),
        (0, BitRate::ZERO)
    );
}

proptest! {
    /// A list of all additions predicts the total.
    #[test]
    fn it_counts_what_a_list_would(
        steps in proptest::collection::vec((0_u64..900, 0_u64..5_000), 1..200),
        span in 12_u64..5_000,
    ) {
        let mut recent = RecentTotal::over(Duration::from_millis(span));
        let part = Duration::from_millis(span).as_nanos() / 12;
        let (mut now, mut list) = (0, Vec::new());
        for (pause, amount) in steps {
            now += pause;
            recent.add(at(now), amount);
            list.push((at(now).as_nanos() / part, amount));
            let seen = at(now + pause / 2);
            let oldest = (seen.as_nanos() / part).saturating_sub(11);
            let expected: u64 = list.iter().filter(|(number, _)| *number >= oldest).map(|(_, amount)| amount).sum();
            prop_assert_eq!(recent.total(seen), expected);
            prop_assert!(recent.span(seen) <= Duration::from_millis(span));
        }
    }
}
