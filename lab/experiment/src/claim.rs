//! What a paper says in words, judged over the measured table.

use std::fmt;

use crate::table::Table;

/// A sentence of a paper as a predicate over the table.
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
    /// In lower case with `-`; unique within its experiment.
    pub name: &'static str,
    /// What is claimed, in a sentence.
    pub text: &'static str,
    /// Where the paper says it.
    pub source: &'static str,
    /// Whether it holds; [`Unknown`] where the table lacks what it speaks of.
    pub judge: fn(&Table) -> Result<Verdict, Unknown>,
}

/// Whether a claim holds, and the numbers that say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it holds.
    pub holds: bool,
    /// The numbers, for people.
    pub numbers: String,
}

impl Verdict {
    /// A verdict with its numbers.
    pub fn of(holds: bool, numbers: impl Into<String>) -> Self {
        Self {
            holds,
            numbers: numbers.into(),
        }
    }
}

/// That the table has no such value: another plan was run than the claim speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown(String);

impl Unknown {
    /// `what` is what the table lacks.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not run: {}", self.0)
    }
}

/// A claim with its verdict.
#[derive(Debug, Clone)]
pub struct Judged {
    /// What is claimed.
    pub claim: Claim,
    /// The verdict.
    pub verdict: Result<Verdict, Unknown>,
}

impl Judged {
    /// Whether it was judged and does not hold.
    pub fn fails(&self) -> bool {
        self.verdict.as_ref().is_ok_and(|verdict| !verdict.holds)
    }

    /// `holds`, `FAILS` or `unknown`.
    pub fn word(&self) -> &'static str {
        match &self.verdict {
            Ok(verdict) if verdict.holds => "holds",
            Ok(_) => "FAILS",
            Err(_) => "unknown",
        }
    }

    /// The numbers, or what is missing.
    pub fn numbers(&self) -> String {
        match &self.verdict {
            Ok(verdict) => verdict.numbers.clone(),
            Err(unknown) => unknown.to_string(),
        }
    }
}
