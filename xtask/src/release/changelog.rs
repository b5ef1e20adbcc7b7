//! The changelog's part of a release.

/// Heading of the changes that no release has yet.
const UNRELEASED: &str = "## [Unreleased]\n";

/// Returns the text in which the unreleased changes belong to a version of this date.
pub(super) fn release(text: &str, version: &str, date: &str) -> Result<String, &'static str> {
    let (before, after) = text
        .split_once(UNRELEASED)
        .ok_or("it has no section `## [Unreleased]`")?;
    let changes = after.split("\n## [").next().unwrap_or_default();
    if !changes.lines().any(|line| line.starts_with("- ")) {
        return Err("nothing is unreleased; there is nothing to release");
    }
    Ok(format!(
        "{before}{UNRELEASED}\n## [{version}] - {date}\n{after}"
    ))
}

/// Returns the date of a day, counted from 1970-01-01, as in ISO 8601.
pub(super) fn date(days: u64) -> String {
    let mut rest = days;
    let mut year = 1970;
    while rest >= days_of(year) {
        rest -= days_of(year);
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", rest + 1)
}

fn days_of(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreleased_changes_get_their_version() {
        let text = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A.\n\n## [0.1.0] - 2026-01-02\n\n- B.\n";
        let released = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-24\n\n### Added\n\n- A.\n\n\
                        ## [0.1.0] - 2026-01-02\n\n- B.\n";
        assert_eq!(release(text, "0.2.0", "2026-11-24").unwrap(), released);
        assert!(
            release(released, "0.3.0", "2026-11-25").is_err(),
            "nothing new"
        );
        assert!(release("# Changelog\n", "0.3.0", "2026-11-25").is_err());
    }

    #[test]
    fn days_become_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_781, "2026-11-24"),
            (20_818, "2026-12-31"),
            (20_819, "2027-01-01"),
        ] {
            assert_eq!(date(days), expected, "{days}");
        }
    }
}
