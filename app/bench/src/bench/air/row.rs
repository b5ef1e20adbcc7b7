//! One run.

use clap::ValueEnum;
use serde::Serialize;

/// Rate of the air, in bits per second; all mobile hosts share it, in both directions.
pub(super) const RATE: f64 = 20e6;

/// Errors of the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Case {
    /// Every channel fades: on average 100 ms in each 1.1 s.
    Fading,
    /// As `Fading`, but the channel of the last mobile host is always good.
    Good,
    /// As `Fading`, but the channel of the last mobile host is bad half of the time: on average 200 ms in each 400 ms.
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

    /// Returns the errors of each mobile host, as in a link's file.
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

/// A run with its figures, a list if there is one for each mobile host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) scheme: String,
    pub(super) case: Case,
    pub(super) seed: u64,
    pub(super) mobiles: usize,
    /// Measured time in seconds.
    pub(super) seconds: f64,
    /// Payload of each fetching mobile host, in bits per second.
    pub(super) goodput_bps: Vec<f64>,
    /// Seconds for which its packets occupied the air, in both directions.
    pub(super) airtime: Vec<f64>,
    /// Seconds for which its channel was good.
    pub(super) good: Vec<f64>,
    /// Seconds for which packets from mobile hosts occupied the air, lost ones included.
    pub(super) up: f64,
    /// Seconds for which lost packets did.
    pub(super) lost: f64,
    /// The gateway's estimate of the rate of the hop to each, at the end.
    pub(super) rates_bps: Vec<f64>,
    /// Deadlines that the emulator missed by more than 2 ms.
    pub(super) late: u64,
}

impl Row {
    /// Returns the total goodput as a share of the air's capacity.
    pub(super) fn share(&self) -> f64 {
        self.goodput_bps.iter().sum::<f64>() / RATE
    }

    /// Returns the goodput of all but the last mobile host, in bits per second.
    pub(super) fn others(&self) -> f64 {
        self.goodput_bps.iter().take(self.mobiles - 1).sum()
    }

    /// Returns the fairness of the airtime: Jain's index of airtime over good time of the hosts that fetched.
    pub(super) fn fairness(&self) -> f64 {
        let fetching = self
            .airtime
            .iter()
            .zip(&self.good)
            .take(self.goodput_bps.len());
        jain(fetching.map(|(airtime, good)| airtime / good))
    }
}

/// Returns Jain's index of fairness (Jain, Chiu, Hawe, DEC-TR-301, 1984): 1 if all values are equal.
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
