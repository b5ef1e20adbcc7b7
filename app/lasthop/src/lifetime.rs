//! Lifetimes of invitations, in whole seconds.

use units::Duration;

const MINUTE: u32 = 60;
const HOUR: u32 = 60 * MINUTE;
const DAY: u32 = 24 * HOUR;
/// Longest lifetime.
const MOST: u32 = 366 * DAY;

/// Reads a lifetime such as `30min`, `24h` or `7d`; returns it in seconds.
pub(crate) fn parse(text: &str) -> Result<u32, String> {
    let with_unit = |unit: &str, seconds: u32| {
        let number = text.strip_suffix(unit)?.trim_end();
        let count: u32 = number.parse().ok()?;
        Some(count.saturating_mul(seconds))
    };
    let seconds = with_unit("h", HOUR).or_else(|| with_unit("d", DAY));
    let seconds = if let Some(seconds) = seconds {
        seconds
    } else {
        let span: Duration = text
            .parse()
            .map_err(|_| format!("'{text}' is not a time; write it like 30min, 24h or 7d"))?;
        u32::try_from(span.as_nanos() / 1_000_000_000).unwrap_or(u32::MAX)
    };
    if (1..=MOST).contains(&seconds) {
        return Ok(seconds);
    }
    Err("a join line can be used for at least 1s and at most 366d; usual: 24h".into())
}

/// Returns this number of seconds in its two largest units.
pub(crate) fn in_words(seconds: u32) -> String {
    let parts = |unit: u32, name: &str, next: u32, next_name: &str| {
        let (whole, rest) = (seconds / unit, seconds % unit / next);
        match rest {
            0 => format!("{whole} {name}"),
            _ => format!("{whole} {name} {rest} {next_name}"),
        }
    };
    match seconds {
        DAY.. => parts(DAY, "d", HOUR, "h"),
        HOUR.. => parts(HOUR, "h", MINUTE, "min"),
        MINUTE.. => parts(MINUTE, "min", 1, "s"),
        _ => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_have_units() {
        for (text, seconds) in [
            ("24h", DAY),
            ("7d", 7 * DAY),
            ("30min", 1_800),
            ("1 h", HOUR),
            ("90s", 90),
        ] {
            assert_eq!(parse(text), Ok(seconds), "{text}");
        }
        for wrong in ["", "h", "24", "-1h", "0h", "99999d", "1w", "9999999999h"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn words_have_two_units() {
        let cases = [
            (59, "59 s"),
            (61, "1 min 1 s"),
            (HOUR, "1 h"),
            (DAY - 1, "23 h 59 min"),
            (8 * DAY + 2 * HOUR, "8 d 2 h"),
        ];
        for (seconds, words) in cases {
            assert_eq!(in_words(seconds), words);
        }
    }
}
