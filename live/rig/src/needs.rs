//! The requirements of tests on the machine.

use edges::namespace::Namespace;
use edges::process::find_program;

/// Returns whether a test can run, for which this is missing. It prints what is.
///
/// # Panics
/// If something is missing under CI, where no test is skipped.
pub fn can_test(missing: Option<String>) -> bool {
    let Some(reason) = missing else { return true };
    let is_ci = std::env::var_os("CI").is_some();
    assert!(!is_ci, "under CI nothing is skipped: {reason}");
    eprintln!("skipped: {reason}");
    false
}

/// Returns the reason why this machine cannot create hosts, if there is one.
pub fn no_hosts() -> Option<String> {
    Namespace::create().err().map(|error| error.to_string())
}

/// Returns that a program cannot be found, if so.
pub fn no_program(name: &str) -> Option<String> {
    find_program(name)
        .is_none()
        .then(|| format!("the program '{name}' is missing"))
}
