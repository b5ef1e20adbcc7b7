use std::collections::BTreeSet;
use std::ops::Range;

use proptest::prelude::*;

use super::Ranges;

fn range() -> impl Strategy<Value = Range<u64>> {
    (0_u64..40, 0_u64..12).prop_map(|(start, length)| start..start + length)
}

proptest! {
    #[test]
    fn a_set_of_ranges_is_a_set(steps in prop::collection::vec((any::<bool>(), range()), 0..40), asked in range()) {
        let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
        for (adds, range) in steps {
            if adds {
                set.extend(range.clone());
                ranges.insert(range);
            } else {
                set.retain(|number| !range.contains(number));
                ranges.remove(&range);
            }
            prop_assert_eq!(ranges.total(), set.len() as u64);
            let starts = set.iter().filter(|number| !set.contains(&number.wrapping_sub(1)));
            prop_assert_eq!(ranges.pieces(), starts.count());
        }
        let within: Vec<_> = ranges.within(&asked).flatten().collect();
        let expected: Vec<_> = set.into_iter().filter(|number| asked.contains(number)).collect();
        prop_assert_eq!(ranges.meets(&asked), !expected.is_empty());
        prop_assert_eq!(within, expected);
    }
}
