use super::{show, spread};

#[test]
fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
    assert_eq!(spread([4.0, 1.0, 3.0, 2.0]), Some([2.5, 1.0, 4.0]));
    assert_eq!(spread([3.0, 1.0, 2.0]), Some([2.0, 1.0, 3.0]));
    assert_eq!(spread([]), None);
}

#[test]
fn a_spread_is_median_least_and_most() {
    let text = |values: &[f64], places| show(spread(values.iter().copied()), places);
    assert_eq!(text(&[3.0, 1.0, 2.0], 0), "2 (1 – 3)");
    assert_eq!(text(&[4.0, 1.0, 2.0, 3.0], 1), "2.5 (1.0 – 4.0)");
    assert_eq!(text(&[], 1), "–");
}

#[test]
fn what_was_not_measured_is_a_dash() {
    assert_eq!(show(spread([1.5, 2.5]), 2), "2.00 (1.50 – 2.50)");
    assert_eq!(show(None, 2), "–");
}
