//! The claims that fail or hold in a table.

use experiment::{Judged, Table};

use crate::lab::named;

/// Returns the names of the claims that fail in a table of this experiment; all others hold.
pub(crate) fn failing(name: &str, table: &Table) -> Vec<&'static str> {
    let judged = table.judge(named(name));
    for judged in &judged {
        let numbers = judged.numbers();
        assert!(judged.verdict.is_ok(), "{}: {numbers}", judged.claim.name);
    }
    let failing = judged.into_iter().filter(Judged::fails);
    failing.map(|judged| judged.claim.name).collect()
}
