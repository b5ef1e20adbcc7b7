//! A set of ranges behaves as a set of numbers.

use std::collections::BTreeSet;
use std::ops::Range;

use proptest::prelude::*;
use units::RangeSet;

const MOST: usize = 3;

fn range() -> impl Strategy<Value = Range<u64>> {
    (0_u64..40, 0_u64..12).prop_map(|(start, length)| start..start + length)
}

/// Returns the number of members of `set` that begin a range.
fn starts(set: &BTreeSet<u64>) -> usize {
    let begins = |number: &&u64| {
        number
            .checked_sub(1)
            .is_none_or(|before| !set.contains(&before))
    };
    set.iter().filter(begins).count()
}

fn numbers(ranges: impl Iterator<Item = Range<u64>>) -> BTreeSet<u64> {
    ranges.flatten().collect()
}

proptest! {
    #[test]
    fn a_set_of_ranges_is_a_set(steps in prop::collection::vec((0..5, range(), range()), 0..40), asked in range()) {
        let (mut ranges, mut set) = (RangeSet::default(), BTreeSet::new());
        for (step, range, other) in steps {
            let before = set.clone();
            let mut added = None;
            match step {
                0 => {
                    set.extend(range.clone());
                    added = Some(ranges.insert(range));
                }
                1 => {
                    set.extend(range.clone());
                    if starts(&set) > MOST.max(starts(&before)) {
                        set.clone_from(&before);
                    }
                    added = Some(ranges.insert_up_to(MOST.max(ranges.len()), range));
                }
                2 => {
                    set.extend(range.clone().filter(|number| !other.contains(number)));
                    let mut except = RangeSet::default();
                    except.insert(other);
                    ranges.insert_except(range, &except);
                }
                3 => {
                    set.retain(|number| !range.contains(number));
                    ranges.remove(&range);
                }
                _ => {
                    ranges.keep_highest(6);
                    ranges.keep_lowest(5);
                    set = numbers(ranges.iter());
                    prop_assert!(set.is_subset(&before));
                    prop_assert_eq!(starts(&set), starts(&before).min(5));
                }
            }
            if let Some(added) = added {
                prop_assert_eq!(added, (set.len() - before.len()) as u64);
            }
            prop_assert_eq!(ranges.total(), set.len() as u64);
            prop_assert_eq!(ranges.len(), starts(&set));
            prop_assert_eq!(numbers(ranges.iter()), set.clone());
        }
        prop_assert_eq!(ranges.end(), set.last().map(|last| last + 1));
        prop_assert_eq!(ranges.first().map(|first| first.start), set.first().copied());
        prop_assert_eq!(ranges.first_from(asked.start), set.range(asked.start..).next().copied());
        prop_assert_eq!(ranges.contains(asked.start), set.contains(&asked.start));
        prop_assert_eq!(ranges.covers(&asked), asked.clone().all(|number| set.contains(&number)));
        let around = ranges.range_at(asked.start);
        prop_assert_eq!(around.is_some(), ranges.contains(asked.start));
        prop_assert!(around.is_none_or(|around| ranges.iter().any(|range| range == around)));
        let within: Vec<_> = ranges.within(&asked).flatten().collect();
        let expected: Vec<_> = set.into_iter().filter(|number| asked.contains(number)).collect();
        prop_assert_eq!(within, expected);
    }
}
