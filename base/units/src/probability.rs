//! Probabilities.

use crate::ParseQuantityError;

const ONE: u64 = 1 << 63;

/// A probability between 0 and 1, in steps of 2⁻⁶³.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Probability(u64);

impl Probability {
    /// Probability 0.
    pub const NEVER: Self = Self(0);
    /// Probability 1.
    pub const ALWAYS: Self = Self(ONE);

    /// Returns the probability `numerator ÷ denominator`.
    ///
    /// # Panics
    /// If `denominator` is zero or less than `numerator`.
    pub fn ratio(numerator: u64, denominator: u64) -> Self {
        assert!(
            numerator <= denominator && denominator > 0,
            "a chance lies between 0 and 1"
        );
        let scaled = u128::from(numerator) * u128::from(ONE) / u128::from(denominator);
        Self(u64::try_from(scaled).unwrap_or(ONE))
    }

    /// Returns true with this probability, if `uniform` is drawn uniformly from all of `u64`.
    pub const fn covers(self, uniform: u64) -> bool {
        (uniform >> 1) < self.0
    }

    /// Returns the probability of the opposite.
    pub const fn complement(self) -> Self {
        Self(ONE - self.0)
    }

    /// Returns the probability as a fraction of one, for reports only.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / ONE as f64
    }
}

/// Parses `1 %`, `0.01` or `1e-7`.
impl std::str::FromStr for Probability {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let (number, divisor) = match trimmed.strip_suffix('%') {
            Some(number) => (number.trim_end(), 100.0),
            None => (trimmed, 1.0),
        };
        let value: f64 = number.parse().map_err(|_| ParseQuantityError::NoNumber {
            text: text.into(),
            example: "1 %",
        })?;
        let chance = value / divisor;
        if !(0.0..=1.0).contains(&chance) {
            return Err(ParseQuantityError::OutOfRange {
                text: text.into(),
                range: "0 to 1, or 0 % to 100 %",
            });
        }
        // IEEE 754 specifies division and rounding exactly, so this is the same everywhere.
        Ok(Self((chance * ONE as f64) as u64))
    }
}

/// Prints the probability in per cent.
impl std::fmt::Display for Probability {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let per_cent = self.as_f64() * 100.0;
        let digits = format!("{per_cent:.6}");
        write!(
            formatter,
            "{} %",
            digits.trim_end_matches('0').trim_end_matches('.')
        )
    }
}

impl<'de> serde::Deserialize<'de> for Probability {
    /// Reads a number between 0 and 1, or text such as `1 %`.
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Written {
            Whole(u64),
            Number(f64),
            Text(String),
        }
        let text = match Written::deserialize(input)? {
            Written::Whole(number) => number.to_string(),
            Written::Number(number) => number.to_string(),
            Written::Text(text) => text,
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl serde::Serialize for Probability {
    fn serialize<S: serde::Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.collect_str(self)
    }
}

impl schemars::JsonSchema for Probability {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Probability".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A share in percent, with at most six decimals.",
            "pattern": "^[0-9]+(\\.[0-9]{1,6})? %$",
            "examples": ["46.714254 %"],
        })
    }
}
