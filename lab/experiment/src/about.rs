//! The name, metrics and source of an experiment.

/// The name, metrics and source of an experiment; all of it is fixed text.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Name on the command line, such as `ton97-table2`.
    pub name: &'static str,
    /// Name of the group of related experiments, such as `ton97`.
    pub group: &'static str,
    /// Title, in one line.
    pub title: &'static str,
    /// The paper with authors, year and the table or figure, or another source.
    pub source: &'static str,
    /// The default plan, in TOML (`include_str!`); see [`Plan`](crate::Plan) for its form.
    pub plan: &'static str,
    /// The metrics of a run, the most important first.
    pub metrics: &'static [Metric],
    /// The data file of the paper, in TOML, or empty; see [`Published`](crate::Published) for its form.
    pub published: &'static str,
    /// The parameters that the paper does not state.
    pub calibration: &'static [Calibration],
    /// Deviations from the paper with their reasons, in Markdown, or empty.
    pub deviations: &'static str,
}

/// A quantity that each run measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Name in lower case with `_`, such as `throughput`: a column of the results.
    pub name: &'static str,
    /// Unit, such as `Mbit/s` or `%`; empty for a plain number.
    pub unit: &'static str,
    /// Exact definition, in one line.
    pub description: &'static str,
}

/// A parameter that the paper does not state, and the reason for its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calibration {
    /// Dotted path within the `[parameters]` of the plan.
    pub key: &'static str,
    /// The measurement that it was fitted to (only those without loss), or the reason for the choice.
    pub reason: &'static str,
}
