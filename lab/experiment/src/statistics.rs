//! Statistics over many runs.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The mean of independent values, with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// The arithmetic mean.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval (Student's t); unknown from a single value.
    pub ci95: Option<f64>,
    /// The least value.
    pub min: f64,
    /// The greatest value.
    pub max: f64,
    /// Number of values.
    pub runs: u64,
}

impl Summary {
    /// Computes the summary of these values; `None` without any.
    ///
    /// ```
    /// let summary = experiment::Summary::of(&[4.0, 6.0, 5.0]).unwrap();
    /// assert_eq!((summary.mean, summary.min, summary.max), (5.0, 4.0, 6.0));
    /// // t(0.975; 2 degrees of freedom) = 4.3027, and the standard error is 1 / sqrt 3.
    /// assert!((summary.ci95.unwrap() - 4.3027 / 3f64.sqrt()).abs() < 1e-4);
    /// ```
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let (count, first) = (values.len() as f64, values[0]);
        // Relative to the first value, equal values have exactly that mean, to the last bit.
        let mean = first + values.iter().map(|value| value - first).sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let freedom = count - 1.0;
        let ci95 = StudentsT::new(0.0, 1.0, freedom).ok().map(|student| {
            let standard_error = (squares / freedom / count).sqrt();
            nine_digits(student.inverse_cdf(0.975) * standard_error)
        });
        Some(Self {
            mean,
            ci95,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            runs: values.len() as u64,
        })
    }
}

/// Rounds a value to nine digits. Logarithms on two machines may differ in the last bit; nine digits hide that.
fn nine_digits(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

/// Two cases on the same seeds: the difference that remains when both meet the same random events.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Paired {
    /// First minus second, seed by seed.
    pub difference: Summary,
    /// Mean of the first divided by the mean of the second, over the common seeds.
    pub ratio: f64,
}

impl Paired {
    /// Compares pairs of values with the same seed; `None` without any.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let differences: Vec<_> = pairs.iter().map(|(one, other)| one - other).collect();
        let difference = Summary::of(&differences)?;
        let first: f64 = pairs.iter().map(|(one, _)| one).sum();
        let second: f64 = pairs.iter().map(|(_, other)| other).sum();
        Some(Self {
            difference,
            ratio: first / second,
        })
    }

    /// Returns true if the 95 % confidence interval of the difference excludes zero.
    pub fn is_significant(&self) -> bool {
        let half = self.difference.ci95.unwrap_or(f64::INFINITY);
        self.difference.mean.abs() > half
    }
}
