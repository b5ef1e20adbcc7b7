//! The findings: each is a function of the facts.

mod firewall;
mod host;
mod network;

use std::fmt;

use serde::Serialize;

use super::facts::Facts;

/// Weight of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// Good to know.
    Note,
    /// It costs something, or will, or may keep the hop from working.
    Warning,
    /// The hop does not work with it.
    Error,
}

impl Severity {
    /// Returns the word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    /// Name of its kind, for programs.
    pub(crate) code: &'static str,
    /// What was found.
    pub(crate) what: String,
    /// Why it matters.
    pub(crate) why: String,
    /// What to do: a command where there is one.
    pub(crate) remedy: String,
}

/// Writes it as a line of a log.
impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            what,
            why,
            remedy,
            ..
        } = self;
        write!(formatter, "{what} ({code}): {why}. Remedy: {remedy}")
    }
}

/// What is examined.
type Check = fn(&Facts) -> Vec<Finding>;

const CHECKS: &[Check] = &[
    host::tun,
    host::nft,
    host::clock,
    host::secrets,
    network::clash,
    firewall::forward,
    firewall::input,
    network::port,
    network::source_check,
    network::advertisements,
    network::gateway,
    network::path,
    network::names,
    network::resolver,
    network::translation,
    host::connections,
    host::open_files,
    host::speed,
    host::segmentation,
    host::sandbox,
];

/// Returns all findings, the weightiest first.
pub(crate) fn all(facts: &Facts) -> Vec<Finding> {
    let mut all: Vec<_> = CHECKS.iter().flat_map(|check| check(facts)).collect();
    all.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    all
}
