use super::{Binary, Count, Run, binaries, failed_tests, passed};
use xtask::shell::Failure;

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

#[test]
fn binaries_of_tests_are_found_among_what_cargo_prints() {
    let built = r#"   Compiling one v0.1.0
{"reason":"compiler-artifact","manifest_path":"/r/one/Cargo.toml","profile":{"test":true},"executable":"/t/one-1"}
{"reason":"compiler-artifact","manifest_path":"/r/one/Cargo.toml","profile":{"test":false},"executable":"/t/one"}
{"reason":"compiler-artifact","manifest_path":"/r/two/Cargo.toml","profile":{"test":true},"executable":null}
{"reason":"build-finished","success":true}
"#;
    let expected = Binary {
        program: "/t/one-1".into(),
        folder: "/r/one".into(),
    };
    assert_eq!(binaries(built), [expected]);
}

#[test]
fn one_binary_that_fails_fails_the_run_and_hides_no_other() {
    let mut run = Run::default();
    let failure = Failure::Exit {
        command: "first".into(),
        how: "exit code 101".into(),
        output: "test a ... FAILED\ntest result: FAILED. 1 passed; 1 failed;\n".into(),
    };
    run.add(Err(failure)).unwrap();
    run.add(Ok("test result: ok. 2 passed; 0 failed;\n".into()))
        .unwrap();
    let Err(Failure::Exit {
        command, output, ..
    }) = run.outcome()
    else {
        panic!("one has failed");
    };
    assert_eq!(command, "first");
    assert!(
        output.ends_with("test a ... FAILED\n3 passed, 1 failed\n"),
        "{output}"
    );
}
