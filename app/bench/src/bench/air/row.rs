//! One run.

use clap::ValueEnum;
use serde::Serialize;

/// The rate of the air, in bits per second; all share it, in both directions.
pub(super) const RATE: f64 = 20e6;

/// What the air is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Case {
    /// Every channel fades, 100 ms in each 1.1 s in the mean.
    Fading,
    /// The same, but the channel of the last mobile host is always good.
    Good,
    /// The same, but the channel of the last mobile host is bad half of the time: 200 ms in each 400 ms in the mean.
    Half,
}

fn fades(good_ms: u32, bad_ms: u32) -> String {
    format!(
        "[errors]\nmodel = \"temporal\"\ngood = {{ distribution = \"exponential\", mean = \"{good_ms} ms\" }}\n\
         bad = {{ distribution = \"exponential\", mean = \"{bad_ms} ms\" }}\n"
    )
}

impl Case {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fading => "all fade",
            Self::Good => "the last is always good",
            Self::Half => "the last is bad half of the time",
        }
    }

    /// The errors of each of so many mobile hosts, as in a link's file.
    pub(super) fn errors(self, mobiles: usize) -> Vec<String> {
        let usual = fades(1_000, 100);
        let mut errors = vec![usual; mobiles];
        if let Some(last) = errors.last_mut() {
            match self {
                Self::Fading => {}
                Self::Good => last.clear(),
                Self::Half => *last = fades(200, 200),
            }
        }
        errors
    }
}

/// A run with its figures, one for each mobile host where there are several.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) scheme: String,
    pub(super) case: Case,
    pub(super) seed: u64,
    pub(super) mobiles: usize,
    /// How long was measured.
    pub(super) seconds: f64,
    /// Bits of payload per second, of those that fetched.
    pub(super) goodput_bps: Vec<f64>,
    /// Of that time, for how much its packets occupied the air, in both directions.
    pub(super) airtime: Vec<f64>,
    /// Of that time, for how much its channel was good.
    pub(super) good: Vec<f64>,
    /// For how much packets from mobile hosts occupied the air, lost ones with them.
    pub(super) up: f64,
    /// For how much those did that were lost.
    pub(super) lost: f64,
    /// The rate that the gateway has found for the hop to each, at the end.
    pub(super) rates_bps: Vec<f64>,
    /// Deadlines that the emulator missed by more than 2 ms.
    pub(super) late: u64,
}

impl Row {
    /// What all got, of what the air can carry.
    pub(super) fn share(&self) -> f64 {
        self.goodput_bps.iter().sum::<f64>() / RATE
    }

    /// What all but the last mobile host got, in bits per second.
    pub(super) fn others(&self) -> f64 {
        self.goodput_bps.iter().take(self.mobiles - 1).sum()
    }

    /// How fair the time on the air is: Jain's index of airtime over good time of those that fetched.
    pub(super) fn fairness(&self) -> f64 {
        let fetching = self
            .airtime
            .iter()
            .zip(&self.good)
            .take(self.goodput_bps.len());
        jain(fetching.map(|(airtime, good)| airtime / good))
    }
}

/// Jain's index of fairness (Jain, Chiu, Hawe, DEC-TR-301, 1984): 1 if all have the same.
pub(super) fn jain(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let sum = values.clone().sum::<f64>();
    let count = values.clone().count() as f64;
    sum * sum / (count * values.map(|value| value * value).sum::<f64>())
}

#[cfg(test)]
mod tests {
    use super::jain;

    #[test]
    fn the_index_is_one_for_equals_and_a_part_of_one_for_a_single_owner() {
        let index = |values: &[f64]| jain(values.iter().copied());
        assert!((index(&[2.0, 2.0, 2.0]) - 1.0).abs() < 1e-9);
        assert!((index(&[3.0, 0.0, 0.0]) - 1.0 / 3.0).abs() < 1e-9);
    }
}
