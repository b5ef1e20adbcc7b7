//! Statements of a paper in words, judged against the measured table.

use crate::table::{Table, Unknown};

/// A statement of a paper as a predicate over the table.
///
/// ```
/// use experiment::{Claim, Verdict};
///
/// let claim = Claim {
///     name: "aware-is-faster",
///     text: "Awareness of TCP brings at least 5 % in the local area",
///     source: "Section 4.1",
///     judge: |table| {
///         let at = [("setting", "LAN 32 KB")];
///         let aware = table.mean("LL-TCP-AWARE", &at, "throughput")?;
///         let plain = table.mean("LL", &at, "throughput")?;
///         let gain = aware / plain - 1.0;
///         Ok(Verdict::of(gain >= 0.05, format!("{:.1} %", gain * 100.0)))
///     },
/// };
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    /// Name in lower case with `-`; unique within its experiment.
    pub name: &'static str,
    /// The statement, as one sentence.
    pub text: &'static str,
    /// Place in the paper, such as a section.
    pub source: &'static str,
    /// Judges the statement; returns [`Unknown`] if the table lacks a value that it needs.
    pub judge: fn(&Table) -> Result<Verdict, Unknown>,
}

/// The result of judging a claim, with the numbers behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// True if the claim holds.
    pub holds: bool,
    /// The numbers, as text for people.
    pub numbers: String,
}

impl Verdict {
    /// Creates a verdict with its numbers.
    pub fn of(holds: bool, numbers: impl Into<String>) -> Self {
        Self {
            holds,
            numbers: numbers.into(),
        }
    }
}

/// A claim with its verdict.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The claim.
    pub claim: Claim,
    /// Its verdict.
    pub verdict: Result<Verdict, Unknown>,
}

impl Judged {
    /// Returns true if the claim was judged and does not hold.
    pub fn fails(&self) -> bool {
        self.verdict.as_ref().is_ok_and(|verdict| !verdict.holds)
    }

    /// Returns `holds`, `FAILS` or `unknown`.
    pub fn word(&self) -> &'static str {
        match &self.verdict {
            Ok(verdict) if verdict.holds => "holds",
            Ok(_) => "FAILS",
            Err(_) => "unknown",
        }
    }

    /// Returns the numbers, or the name of the missing value.
    pub fn numbers(&self) -> String {
        match &self.verdict {
            Ok(verdict) => verdict.numbers.clone(),
            Err(unknown) => unknown.to_string(),
        }
    }
}
