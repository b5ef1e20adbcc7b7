//! The clock against the kernel's, in a time namespace.

use std::process::Command;

use edges::clock;

use crate::support::{has_program, privileged};

const NANOS: u64 = 1_000_000_000;
/// Seconds by which the clock is ahead in the namespace: only `CLOCK_BOOTTIME` has the time in suspend.
const AHEAD: u64 = 1_000_000;
const SHOWN: &str = "the clock shows ";

#[test]
fn time_in_suspend_counts() {
    if !privileged() || !has_program("unshare") {
        return;
    }
    let output = Command::new("unshare")
        .args(["--time", "--boottime", &AHEAD.to_string(), "--fork"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "clock::show", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let shown = text.lines().find_map(|line| line.split_once(SHOWN));
    let (_, shown) = shown.unwrap_or_else(|| panic!("{output:?}"));
    let shown: u64 = shown.parse().unwrap();
    let ahead = shown - clock::monotonic().as_nanos().min(shown);
    assert!(ahead > (AHEAD - 60) * NANOS, "{ahead} ns ahead");
}

#[test]
#[ignore = "another test runs it in a time namespace"]
fn show() {
    println!("{SHOWN}{}", clock::monotonic().as_nanos());
}
