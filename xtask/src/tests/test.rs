use super::{Count, failed_tests, passed};

const OUTPUT: &str = "\
running 3 tests
test a::passes ... ok
test a::fails ... FAILED
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
a test printed: 7 passed; 9 failed;
test result: FAILED. 40 passed; 5 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s
";

#[test]
fn result_lines_are_summed_up_and_other_lines_are_not() {
    let expected = Count {
        passed: 42,
        failed: 5,
        ignored: 1,
    };
    assert_eq!(Count::of(OUTPUT), expected);
}

#[test]
fn a_run_without_tests_is_a_failure() {
    assert!(passed(&Count::of("running 0 tests\n")).is_err());
    let outcome = passed(&Count::of(OUTPUT)).unwrap();
    assert_eq!(
        (outcome.tests_passed, outcome.note.as_str()),
        (42, "42 tests, 1 ignored")
    );
}

#[test]
fn the_tests_that_failed_are_named_again_at_the_end() {
    assert_eq!(failed_tests(OUTPUT), "test a::fails ... FAILED\n");
}
