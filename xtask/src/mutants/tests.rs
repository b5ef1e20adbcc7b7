//! Tests of the choice, the names, the copy and the share.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use super::copy::Copy;
use super::first;
use super::report::{Report, Verdict};
use super::sample::draw;
use super::tool::{Found, exactly, has_failed, lines_of};
use xtask::shell::Shell;

fn names(count: usize) -> Vec<String> {
    (0..count)
        .map(|line| format!("src/lib.rs:{line}:9: replace + with - in f"))
        .collect()
}

#[test]
fn equal_seeds_draw_equal_mutants_and_others_draw_others() {
    let first = draw(names(100), 10, 1);
    assert_eq!(first, draw(names(100), 10, 1));
    assert_ne!(first, draw(names(100), 10, 2));
    assert_eq!(first.len(), 10);
}

#[test]
fn a_larger_sample_contains_a_smaller_one_in_the_order_of_the_code() {
    let all = names(100);
    let (small, large) = (draw(all.clone(), 10, 7), draw(all.clone(), 20, 7));
    assert!(small.iter().all(|name| large.contains(name)));
    let in_order: Vec<_> = all
        .into_iter()
        .filter(|name| large.contains(name))
        .collect();
    assert_eq!(large, in_order);
    assert_eq!(draw(names(3), 10, 7), names(3));
}

#[test]
fn names_match_as_they_are_written() {
    assert_eq!(
        exactly("a.rs:1:2: replace f -> Option<u8> with Some(1) in <impl T for U>::f"),
        r"^a\.rs:1:2: replace f \-> Option<u8> with Some\(1\) in <impl T for U>::f$"
    );
}

/// Returns the report of a crate of which so many mutants are unviable, or survive.
fn report(tried: usize, unviable: usize, survivors: usize) -> Report {
    let mut verdict = Verdict::new("arq", 1000, tried);
    verdict.add(
        "arq",
        Found {
            unviable: names(unviable),
            missed: names(survivors),
            ..Found::default()
        },
    );
    verdict.end();
    let mut report = Report::new(1);
    report.crates.push(verdict);
    report
}

#[test]
fn one_mutant_of_twenty_may_survive_and_those_that_do_not_compile_count_for_nothing() {
    assert!(report(20, 0, 1).judge().is_ok());
    assert!(report(20, 1, 1).judge().is_err());
    assert!(report(2, 2, 0).judge().is_ok());
    let table = report(20, 0, 1).to_string();
    assert!(table.contains("95.0 %"), "{table}");
    assert!(
        table.contains("survived: src/lib.rs:0:9: replace + with - in f"),
        "{table}"
    );
}

#[test]
fn a_patch_adds_the_lines_of_the_mutants() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a.rs"), "one\ntwo\nthree\n").unwrap();
    let names = ["a.rs:3:1: delete !", "a.rs:1:9: x", "a.rs:3:7: y"].map(String::from);
    let patch = lines_of(root.path(), &names).unwrap();
    let expected = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n\
                    @@ -0,0 +1,1 @@\n+one\n@@ -1,0 +3,1 @@\n+three\n";
    assert_eq!(patch, expected);
}

#[test]
fn a_mutant_out_of_time_is_not_caught_unless_other_tests_catch_it() {
    let late = |caught: usize| {
        let mut verdict = Verdict::new("arq", 1000, 20);
        let timed_out = names(2);
        verdict.add(
            "arq",
            Found {
                timed_out,
                ..Found::default()
            },
        );
        let (caught, missed) = (names(2)[..caught].to_vec(), names(2)[caught..].to_vec());
        verdict.add(
            "hosts",
            Found {
                caught,
                missed,
                ..Found::default()
            },
        );
        verdict.end();
        let mut report = Report::new(1);
        report.crates.push(verdict);
        report
    };
    assert!(late(0).judge().is_err());
    assert!(late(1).judge().is_ok());
    assert!(late(1).to_string().contains("out of time: src/lib.rs:1:9"));
    assert!(!late(1).to_string().contains("survived: "));
}

#[test]
fn a_test_that_failed_shows_in_the_log_of_a_run_that_was_stopped() {
    assert!(has_failed("test a::b ... ok\ntest a::c ... FAILED\n"));
    assert!(!has_failed(
        "test a::b ... ok\ntest a::FAILED has been running for over 60 seconds\n"
    ));
}

#[test]
fn a_run_of_tests_ends_at_the_first_that_fails() {
    let run = |script: &str| {
        let words = ["sh", "-c", script].map(Into::into).to_vec();
        first::run(&first::Options { words })
    };
    let begun = Instant::now();
    assert!(run("echo 'test a ... FAILED'; exec sleep 60").is_err());
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert!(run("echo 'test a ... ok'").is_ok());
    assert!(run("echo 'test a ... ok'; exit 101").is_err());
}

#[test]
fn a_copy_follows_the_repository_and_leaves_equal_files_alone() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let git = Command::new("git")
        .args(["init", "--quiet"])
        .arg(from.path())
        .status()
        .unwrap();
    assert!(git.success());
    fs::create_dir(from.path().join("src")).unwrap();
    fs::write(from.path().join("src/a.rs"), "a").unwrap();
    fs::write(from.path().join("b.rs"), "b").unwrap();
    let shell = Shell::quiet(from.path());
    let root = to.path().join("tree");
    Copy::refresh(&shell, root.clone()).unwrap();
    let time = |name: &str| fs::metadata(root.join(name)).unwrap().modified().unwrap();
    let before = time("src/a.rs");

    fs::remove_file(from.path().join("b.rs")).unwrap();
    fs::write(from.path().join("c.rs"), "c").unwrap();
    fs::write(root.join("stray"), "").unwrap();
    Copy::refresh(&shell, root.clone()).unwrap();
    assert_eq!(time("src/a.rs"), before);
    assert_eq!(fs::read(root.join("c.rs")).unwrap(), b"c");
    assert!(!root.join("b.rs").exists() && !root.join("stray").exists());
}
