//! Planted bugs: mistakes that the simulators must find, so that the tester is tested.
//!
//! Each [`Bug`] is a mistake that was made here once, or that is easy to make. The line where it belongs asks [`is`],
//! which is `false` at compile time in every ordinary build. Only `cargo xtask planted` sets `--cfg lasthop_planted`,
//! in a target folder of its own; there the environment variable [`VARIABLE`] plants one bug in a process. The program
//! `lasthop` does not compile with that switch.

mod table;

pub use table::Bug;

/// Environment variable with the name of the bug to plant.
pub const VARIABLE: &str = "LASTHOP_PLANTED";

/// True if this build has the switch.
pub const CAN_PLANT: bool = cfg!(lasthop_planted);

/// Place of a bug, and the search that must find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The bug.
    pub bug: Bug,
    /// Its name on the command line.
    pub name: &'static str,
    /// The promise that it breaks, by its number in `docs/promises.md`.
    pub promise: &'static str,
    /// The search: `world`, a target of `fuzz`, or `package::filter` for ordinary tests.
    pub search: &'static str,
    /// The mistake, in a sentence.
    pub about: &'static str,
}

/// Returns true if this bug is planted: never in an ordinary build.
#[cfg(not(lasthop_planted))]
#[inline]
pub const fn is(_bug: Bug) -> bool {
    false
}

/// Returns true if this bug is planted in this process.
///
/// # Panics
/// If [`VARIABLE`] names no bug.
#[cfg(lasthop_planted)]
#[inline]
pub fn is(bug: Bug) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<Bug>> = std::sync::OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| {
        let name = std::env::var(VARIABLE).ok()?;
        let row = Bug::ROWS.iter().find(|row| row.name == name);
        Some(
            row.unwrap_or_else(|| panic!("{VARIABLE}={name}: there is no such bug"))
                .bug,
        )
    });
    *chosen == Some(bug)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn an_ordinary_build_has_no_bug() {
        let planted = Bug::ROWS.iter().filter(|row| is(row.bug));
        assert_eq!((CAN_PLANT, planted.count()), (false, 0));
    }

    /// S10 and R12 need a real kernel, and the second half of S9 too.
    #[test]
    fn each_promise_has_a_bug() {
        let names: BTreeSet<_> = Bug::ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), Bug::ROWS.len());
        let promised = (1..=13).map(|n| format!("R{n}"));
        for promise in promised.chain((1..=13).map(|n| format!("S{n}"))) {
            assert!(
                Bug::ROWS.iter().any(|row| row.promise == promise),
                "{promise} has no bug"
            );
        }
    }
}
