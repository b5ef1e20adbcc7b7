//! Quantities read, print and calculate exactly.

use proptest::prelude::*;
use units::{BitRate, Bytes, Duration, Instant, ParseQuantityError, Probability, SeqNumber};

#[test]
fn reads_what_people_write() {
    assert_eq!("20 ms".parse(), Ok(Duration::from_millis(20)));
    assert_eq!("1.5s".parse(), Ok(Duration::from_millis(1500)));
    assert_eq!("0".parse(), Ok(Duration::ZERO));
    assert_eq!("2 Mbit/s".parse(), Ok(BitRate::from_megabits(2)));
    assert_eq!(
        "9.6 kbit/s".parse(),
        Ok(BitRate::from_bits_per_second(9600))
    );
    assert_eq!("64 KiB".parse(), Ok(Bytes::kibi(64)));
    assert_eq!("1 %".parse::<Probability>(), "0.01".parse());
    assert_eq!("50 %".parse(), Ok(Probability::ratio(1, 2)));
}

#[test]
fn says_what_is_wrong_and_what_would_be_right() {
    let no_unit = "20".parse::<Duration>().expect_err("no unit");
    assert!(no_unit.to_string().contains("20 ms"), "{no_unit}");
    let unknown = "20 parsecs".parse::<Duration>().expect_err("no such unit");
    assert!(
        matches!(unknown, ParseQuantityError::UnknownUnit { ref unit, .. } if unit == "parsecs")
    );
    assert!("fast".parse::<BitRate>().is_err());
    assert!("1.2.3 ms".parse::<Duration>().is_err());
    assert!("99999999999999999999 s".parse::<Duration>().is_err());
    assert!("101 %".parse::<Probability>().is_err());
    assert!("-1 ms".parse::<Duration>().is_err());
    assert!("NaN".parse::<Probability>().is_err());
}

#[test]
fn prints_in_a_readable_unit() {
    assert_eq!(Duration::from_micros(1500).to_string(), "1.5 ms");
    assert_eq!(BitRate::from_megabits(2).to_string(), "2 Mbit/s");
    assert_eq!(Probability::ratio(1, 80).to_string(), "1.25 %");
    assert_eq!(Instant::from_millis(1500).to_string(), "1.500000");
}

#[test]
fn serialisation_time_is_rounded_up_so_that_a_link_is_never_too_fast() {
    let rate = BitRate::from_megabits(3);
    assert_eq!(rate.time_for(Bytes::new(1)).as_nanos(), 2667);
    assert_eq!(BitRate::ZERO.time_for(Bytes::new(1)), Duration::MAX);
    assert_eq!(
        BitRate::of(Bytes::new(1250), Duration::from_millis(1)),
        Some(BitRate::from_megabits(10))
    );
    assert_eq!(BitRate::of(Bytes::new(1), Duration::ZERO), None);
}

#[test]
fn certain_chances_are_certain() {
    assert!(Probability::ALWAYS.covers(u64::MAX) && Probability::ALWAYS.covers(0));
    assert!(!Probability::NEVER.covers(0) && !Probability::NEVER.covers(u64::MAX));
}

proptest! {
    #[test]
    fn arithmetic_never_panics(a: u64, b: u64) {
        let (x, y) = (Duration::from_nanos(a), Duration::from_nanos(b));
        let _ = (x + y, x - y, x * b, Instant::from_nanos(a) + y, Instant::from_nanos(a) - y);
        let rate = BitRate::from_bits_per_second(a);
        let _ = (rate.time_for(Bytes::new(b)), rate.bytes_in(y), BitRate::of(Bytes::new(a), y));
    }

    /// Whether the product has more than 64 bits or not.
    #[test]
    fn quotients_are_exact(a: u64, b: u64, c in 1u64.., less in 0u32..64, fewer in 0u32..64) {
        let (a, b) = (a >> less, b >> fewer);
        let wide = |factors: [u64; 3]| factors.map(u128::from).iter().product::<u128>();
        let narrow = |wide: u128| u64::try_from(wide).unwrap_or(u64::MAX);
        let (rate, span) = (BitRate::from_bits_per_second(a), Duration::from_nanos(b));
        let scaled = narrow(wide([a, b, 1]) / u128::from(c));
        prop_assert_eq!(rate.scaled(b, c).bits_per_second(), scaled);
        prop_assert_eq!(Duration::from_nanos(a).scaled(b, c).as_nanos(), scaled);
        prop_assert_eq!(rate.bytes_in(span).get(), narrow(wide([a, b, 1]) / 8_000_000_000));
        let bits = |amount| wide([amount, 8, 1_000_000_000]);
        let time = rate.time_for(Bytes::new(b)).as_nanos();
        prop_assert!(a == 0 || time == narrow(bits(b).div_ceil(u128::from(a))));
        let found = BitRate::of(Bytes::new(a), span).map(BitRate::bits_per_second);
        prop_assert_eq!(found, bits(a).checked_div(u128::from(b)).map(narrow));
    }

    #[test]
    fn text_never_panics(text: String) {
        let _ = (text.parse::<Duration>(), text.parse::<BitRate>(), text.parse::<Probability>());
    }

    #[test]
    fn sequence_order_survives_the_wrap(start: u32, step in 1u32..0x7fff_ffff) {
        let (first, second) = (SeqNumber(start), SeqNumber(start) + step);
        prop_assert!(first < second);
        prop_assert_eq!(second - step, first);
    }
}
