//! What claims say of a table.

use experiment::{Judged, Table};

use crate::lab::named;

/// Claims that fail in a table of this experiment, by name; all others hold.
pub(crate) fn failing(name: &str, table: &Table) -> Vec<&'static str> {
    let judged = table.judge(named(name));
    for judged in &judged {
        let numbers = judged.numbers();
        assert!(judged.verdict.is_ok(), "{}: {numbers}", judged.claim.name);
    }
    let failing = judged.into_iter().filter(Judged::fails);
    failing.map(|judged| judged.claim.name).collect()
}
