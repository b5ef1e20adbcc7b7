//! The table of measured values.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::about::{About, Metric};
use crate::plan::{Case, Plan};
use crate::published::Published;
use crate::statistics::{Paired, Summary};

/// One run: the index of its case in the plan, and its seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunKey {
    /// Index of the case in [`Plan::cases`].
    pub case: usize,
    /// The seed.
    pub seed: u64,
}

/// Values of runs, in the order of the experiment's metrics.
pub(crate) type Runs = BTreeMap<RunKey, Vec<Option<f64>>>;

/// All runs of a plan, with the published numbers.
#[derive(Debug, Clone)]
pub struct Table {
    experiment: &'static str,
    metrics: &'static [Metric],
    cases: Vec<Case>,
    runs: Runs,
    published: Published,
}

/// A line of the results: one metric in one case. Serialises to the object that `--json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The experiment's name.
    pub experiment: &'static str,
    /// The scheme's name.
    pub scheme: String,
    /// Axes with their values.
    #[serde(serialize_with = "as_object")]
    pub parameters: Vec<(String, String)>,
    /// The metric's name.
    pub metric: &'static str,
    /// The metric's unit.
    pub unit: &'static str,
    /// Statistics over the runs.
    #[serde(flatten)]
    pub summary: Summary,
    /// Value in the paper.
    pub published: Option<f64>,
}

/// Error: the table lacks a value, because another plan was run than the claim is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown(String);

impl Unknown {
    /// Creates the error; `what` names the missing value.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "not run: {}", self.0)
    }
}

fn as_object<S: Serializer>(labels: &[(String, String)], output: S) -> Result<S::Ok, S::Error> {
    output.collect_map(labels.iter().map(|(axis, label)| (axis, label)))
}

impl Row {
    /// Returns the measured value divided by the published one.
    pub fn ratio(&self) -> Option<f64> {
        let published = self.published.filter(|value| *value != 0.0)?;
        Some(self.summary.mean / published)
    }
}

impl Table {
    pub(crate) fn new(about: &About, plan: &Plan, runs: Runs) -> Result<Self, String> {
        Ok(Self {
            experiment: about.name,
            metrics: about.metrics,
            cases: plan.cases(),
            runs,
            published: Published::read(about)?,
        })
    }

    /// Returns the cases of the plan, in its order.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Returns the metrics of the experiment.
    pub fn metrics(&self) -> &'static [Metric] {
        self.metrics
    }

    /// Returns the number of runs.
    pub fn count_runs(&self) -> usize {
        self.runs.len()
    }

    /// Returns every run with its values in the order of the metrics; sorted by case, then seed.
    pub fn runs(&self) -> impl Iterator<Item = (RunKey, &[Option<f64>])> {
        self.runs
            .iter()
            .map(|(key, values)| (*key, values.as_slice()))
    }

    /// Returns a row for each case and metric with a value, in the order of the plan.
    pub fn rows(&self) -> Vec<Row> {
        let cases = 0..self.cases.len();
        cases
            .flat_map(|case| {
                (0..self.metrics.len()).filter_map(move |metric| self.row(case, metric))
            })
            .collect()
    }

    /// Returns the row of a case and a metric, both by index.
    pub fn row(&self, case: usize, metric: usize) -> Option<Row> {
        let values: Vec<_> = self.values(case, metric).map(|(_, value)| value).collect();
        let summary = Summary::of(&values)?;
        let (case, metric) = (&self.cases[case], &self.metrics[metric]);
        Some(Row {
            experiment: self.experiment,
            scheme: case.scheme_name().into(),
            parameters: case.labels().to_vec(),
            metric: metric.name,
            unit: metric.unit,
            summary,
            published: self.published.value(case, metric.name),
        })
    }

    /// Returns the mean of `metric` for `scheme` at these values of the axes; axes that are left out must have a single
    /// value.
    pub fn mean(&self, scheme: &str, at: &[(&str, &str)], metric: &str) -> Result<f64, Unknown> {
        Ok(self.summary(scheme, at, metric)?.mean)
    }

    /// Returns the statistics of `metric` over the runs of `scheme` at these values of the axes.
    pub fn summary(
        &self,
        scheme: &str,
        at: &[(&str, &str)],
        metric: &str,
    ) -> Result<Summary, Unknown> {
        let found = self.summary_of(self.find(scheme, at)?, metric)?;
        found.ok_or_else(|| Unknown::new(format!("{metric} of {scheme}")))
    }

    /// Returns the statistics of `metric` over the runs of the case at this index; `None` if no run has it.
    pub fn summary_of(&self, case: usize, metric: &str) -> Result<Option<Summary>, Unknown> {
        let column = self.column(metric)?;
        let values: Vec<_> = self.values(case, column).map(|(_, value)| value).collect();
        Ok(Summary::of(&values))
    }

    /// Compares `metric` of two schemes on their common seeds: the first minus the second.
    pub fn paired(
        &self,
        schemes: [&str; 2],
        at: &[(&str, &str)],
        metric: &str,
    ) -> Result<Paired, Unknown> {
        self.compared(schemes.map(|scheme| (scheme, at)), metric)
    }

    /// Compares `metric` of two cases on their common seeds: the first minus the second. A case is a scheme at values
    /// of the axes.
    pub fn compared(
        &self,
        cases: [(&str, &[(&str, &str)]); 2],
        metric: &str,
    ) -> Result<Paired, Unknown> {
        let column = self.column(metric)?;
        let [first, second] = cases.map(|(scheme, at)| self.find(scheme, at));
        let second: BTreeMap<_, _> = self.values(second?, column).collect();
        let common = self.values(first?, column);
        let pairs: Vec<_> = common
            .filter_map(|(seed, value)| Some((value, *second.get(&seed)?)))
            .collect();
        let [first, second] = cases.map(|(scheme, _)| scheme);
        Paired::of(&pairs)
            .ok_or_else(|| Unknown::new(format!("{first} and {second} on common seeds")))
    }

    /// Returns seeds and values of a metric in a case.
    fn values(&self, case: usize, metric: usize) -> impl Iterator<Item = (u64, f64)> {
        values(&self.runs, case, metric)
    }

    fn find(&self, scheme: &str, at: &[(&str, &str)]) -> Result<usize, Unknown> {
        let fits = |case: &Case| {
            let mut wanted = at.iter();
            case.scheme_name() == scheme
                && wanted.all(|(axis, label)| case.label(axis) == Some(label))
        };
        let mut found = self.cases.iter().enumerate().filter(|(_, case)| fits(case));
        match (found.next(), found.next()) {
            (Some((number, _)), None) => Ok(number),
            (found, _) => {
                let at = at.iter().map(|(axis, label)| format!(", {axis} = {label}"));
                let at: String = at.collect();
                let several = if found.is_some() {
                    " (several cases)"
                } else {
                    ""
                };
                Err(Unknown::new(format!("{scheme}{at}{several}")))
            }
        }
    }

    fn column(&self, metric: &str) -> Result<usize, Unknown> {
        let found = self.metrics.iter().position(|known| known.name == metric);
        found.ok_or_else(|| Unknown::new(format!("there is no metric '{metric}'")))
    }
}

/// Returns seeds and values of a metric in a case.
pub(crate) fn values(runs: &Runs, case: usize, metric: usize) -> impl Iterator<Item = (u64, f64)> {
    let [from, until] = [0, u64::MAX].map(|seed| RunKey { case, seed });
    runs.range(from..=until)
        .filter_map(move |(key, values)| Some((key.seed, (*values.get(metric)?)?)))
}
