use proptest::prelude::*;

use super::expand;

/// Returns the 64-bit number nearest to `expected` that ends in `low`, by trying the three candidates;
/// in 128 bits nothing wraps. If two are equally near, the later (RFC 9000, A.3).
fn reference(expected: u64, low: u32) -> u64 {
    let span = 1_i128 << 32;
    let base = i128::from(expected) / span * span + i128::from(low);
    let nearest = [base + span, base, base - span]
        .into_iter()
        .filter(|candidate| (0..i128::from(u64::MAX) - span).contains(candidate))
        .min_by_key(|candidate| candidate.abs_diff(i128::from(expected)))
        .expect("one of them is in range");
    u64::try_from(nearest).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn the_nearest_number_is_meant(
        high in prop_oneof![0_u64..4, any::<u64>().prop_map(|high| high >> 33)],
        middle in prop_oneof![0_u64..3, Just((1 << 31) - 1), Just(1 << 31), (0_u64..1 << 32)],
        low in any::<u32>(),
    ) {
        let expected = high << 32 | middle;
        prop_assert_eq!(expand(expected, low), reference(expected, low));
    }

    #[test]
    fn what_is_less_than_half_a_span_away_comes_back_whole(
        expected in 0_u64..u64::MAX / 2,
        distance in -(1_i64 << 31) + 1..1_i64 << 31,
    ) {
        let number = expected.saturating_add_signed(distance);
        prop_assert_eq!(expand(expected, number as u32), number);
    }
}
