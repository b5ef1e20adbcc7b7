//! The values measured in one run.

use crate::about::Metric;

/// Values by the names of their metrics.
///
/// A metric without a value in this run (the mean length of a burst, if nothing was lost) is left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measurements {
    values: Vec<(&'static str, f64)>,
}

impl Measurements {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the value of `metric`, in the metric's unit.
    pub fn with(mut self, metric: &'static str, value: f64) -> Self {
        self.values.push((metric, value));
        self
    }

    /// Adds the value of `metric` if there is one.
    pub fn with_some(self, metric: &'static str, value: Option<f64>) -> Self {
        match value {
            Some(value) => self.with(metric, value),
            None => self,
        }
    }

    /// Returns the values in the order of `metrics`; the error is a sentence.
    pub(crate) fn in_order(&self, metrics: &[Metric]) -> Result<Vec<Option<f64>>, String> {
        let mut ordered = vec![None; metrics.len()];
        for (name, value) in &self.values {
            let Some(column) = metrics.iter().position(|metric| metric.name == *name) else {
                return Err(format!(
                    "it measured '{name}', which is none of its metrics"
                ));
            };
            if !value.is_finite() {
                return Err(format!(
                    "it measured {value} as '{name}', which is no number"
                ));
            }
            if ordered[column].replace(*value).is_some() {
                return Err(format!("it measured '{name}' twice"));
            }
        }
        Ok(ordered)
    }
}
