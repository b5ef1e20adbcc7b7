//! Parsing and printing of numbers with a unit.

use thiserror::Error;

/// Reason why a text is not a quantity, with what was expected and an example.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseQuantityError {
    /// The text does not begin with a decimal number.
    #[error("'{text}' does not begin with a number; write it like '{example}'")]
    NoNumber {
        /// The text.
        text: String,
        /// A valid value of the same quantity.
        example: &'static str,
    },
    /// The number carries no unit.
    #[error("'{text}' has no unit; write it like '{example}' (units: {allowed})")]
    NoUnit {
        /// The text.
        text: String,
        /// A valid value of the same quantity.
        example: &'static str,
        /// Units that the quantity accepts.
        allowed: String,
    },
    /// The unit is not one that the quantity accepts.
    #[error("unknown unit '{unit}' in '{text}' (units: {allowed})")]
    UnknownUnit {
        /// The text.
        text: String,
        /// The part of the text that was taken as the unit.
        unit: String,
        /// Units that the quantity accepts.
        allowed: String,
    },
    /// The value does not fit, or lies outside the meaningful range.
    #[error("'{text}' is out of range; allowed: {range}")]
    OutOfRange {
        /// The text.
        text: String,
        /// The allowed range, in words.
        range: &'static str,
    },
}

/// Name of a unit, and its size in base units of the quantity.
pub(crate) type Unit = (&'static str, u64);

/// Reads `<decimal><space?><unit>` into base units, exactly: no floating point is involved, and
/// digits below one base unit are rounded to the nearest.
pub(crate) fn quantity(
    text: &str,
    units: &[Unit],
    example: &'static str,
) -> Result<u64, ParseQuantityError> {
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
        .unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim());
    let allowed = || {
        units
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let no_number = || ParseQuantityError::NoNumber {
        text: text.into(),
        example,
    };
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(no_number());
    }
    // Zero means the same in every unit.
    if unit.is_empty() && number.chars().all(|c| matches!(c, '0' | '.')) {
        return Ok(0);
    }
    if unit.is_empty() {
        return Err(ParseQuantityError::NoUnit {
            text: text.into(),
            example,
            allowed: allowed(),
        });
    }
    let Some((_, factor)) = units
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit))
    else {
        return Err(ParseQuantityError::UnknownUnit {
            text: text.into(),
            unit: unit.into(),
            allowed: allowed(),
        });
    };
    let out_of_range = || ParseQuantityError::OutOfRange {
        text: text.into(),
        range: "what fits in 64 bits of the base unit",
    };
    let value = decimal(number, *factor).ok_or_else(no_number)?;
    u64::try_from(value).map_err(|_| out_of_range())
}

/// Returns `number × factor`, rounded half up; `None` unless `number` is digits with at most one point.
fn decimal(number: &str, factor: u64) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| -> Option<u128> {
        part.bytes()
            .filter(|b| *b != b'_')
            .try_fold(0u128, |sum, byte| {
                let digit = char::from(byte).to_digit(10)?;
                sum.checked_mul(10)?.checked_add(u128::from(digit))
            })
    };
    let factor = u128::from(factor);
    let whole = digits(whole)?.checked_mul(factor)?;
    let fraction = &fraction[..fraction.len().min(18)];
    let scale = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let part = digits(fraction)?.checked_mul(factor)?;
    whole.checked_add((part + scale / 2) / scale)
}

/// Prints `value` in the largest unit that keeps it exact, with at most three decimals.
pub(crate) fn display(
    formatter: &mut std::fmt::Formatter<'_>,
    value: u64,
    units: &[Unit],
) -> std::fmt::Result {
    let (name, factor) = units
        .iter()
        .rev()
        .find(|(_, factor)| value >= *factor)
        .or_else(|| units.first())
        .copied()
        .unwrap_or(("", 1));
    let thousandths = (u128::from(value) * 1000 + u128::from(factor) / 2) / u128::from(factor);
    let (whole, rest) = (thousandths / 1000, thousandths % 1000);
    if rest == 0 {
        return write!(formatter, "{whole} {name}");
    }
    let digits = format!("{rest:03}");
    write!(formatter, "{whole}.{} {name}", digits.trim_end_matches('0'))
}

/// Returns the JSON schema of the text of a quantity.
pub(crate) fn schema(units: &[Unit], example: &str) -> schemars::Schema {
    let names: Vec<_> = units.iter().map(|(name, _)| *name).collect();
    schemars::json_schema!({
        "type": "string",
        "description": "A number with at most three decimals, a space, and its unit.",
        "pattern": format!("^[0-9]+(\\.[0-9]{{1,3}})? ({})$", names.join("|")),
        "examples": [example],
    })
}

/// Implements `FromStr`, `Display`, serde as text, and its schema, for a newtype over a count of base units.
macro_rules! text_quantity {
    ($name:ident, $units:expr, $example:literal) => {
        impl std::str::FromStr for $name {
            type Err = $crate::ParseQuantityError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::parse::quantity(text, $units, $example).map(Self)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::parse::display(formatter, self.0, $units)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(input)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
                output.collect_str(self)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::parse::schema($units, $example)
            }
        }
    };
}
pub(crate) use text_quantity;
