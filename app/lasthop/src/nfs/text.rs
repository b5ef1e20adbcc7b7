//! Attributes and names as text for people.

use std::fmt::Write;

use nfs::{Attributes, FileType, Time};
use serde_json::{Value, json};

/// Returns the kind of a file as a word.
pub(super) fn kind(kind: FileType) -> &'static str {
    match kind {
        FileType::Regular => "file",
        FileType::Directory => "directory",
        FileType::SymbolicLink => "symbolic link",
        FileType::BlockDevice => "block device",
        FileType::CharacterDevice => "character device",
        FileType::Socket => "socket",
        FileType::Pipe => "pipe",
    }
}

/// Returns kind and mode as in `drwxr-xr-x`.
pub(super) fn mode(attributes: &Attributes) -> String {
    let mode = attributes.mode;
    let mut text = String::with_capacity(10);
    text.push(match attributes.kind {
        FileType::Regular => '-',
        FileType::Directory => 'd',
        FileType::SymbolicLink => 'l',
        FileType::BlockDevice => 'b',
        FileType::CharacterDevice => 'c',
        FileType::Socket => 's',
        FileType::Pipe => 'p',
    });
    // For owner, group and others: the shift of the bits, and the special bit with its letter in place of `x`.
    for (shift, special, letter) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let rights = mode >> shift;
        text.push(if rights & 4 == 0 { '-' } else { 'r' });
        text.push(if rights & 2 == 0 { '-' } else { 'w' });
        text.push(match (rights & 1 == 1, mode & special != 0) {
            (true, false) => 'x',
            (false, false) => '-',
            (true, true) => letter,
            (false, true) => letter.to_ascii_uppercase(),
        });
    }
    text
}

/// Returns a time in UTC, as in `2026-11-21T15:04:05Z`.
pub(super) fn time(time: Time) -> String {
    let (days, second) = (time.seconds / 86_400, time.seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Returns year, month and day of a number of days since 1970: the year begins in March, so that the leap day is its
/// last.
fn date(days: u32) -> (u32, u32, u32) {
    let days = days + 719_468; // since 1 March of year 0
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let first = (153 * month + 2) / 5;
    let (month, later) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + later, month, day - first + 1)
}

/// Returns a name unchanged, or with all control characters escaped for a terminal.
pub(super) fn name(bytes: &[u8], for_terminal: bool) -> Vec<u8> {
    if !for_terminal {
        return bytes.to_vec();
    }
    let mut shown = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() {
                shown.extend(character.escape_default().to_string().bytes());
            } else {
                shown.extend(character.encode_utf8(&mut [0; 4]).bytes());
            }
        }
        for byte in chunk.invalid() {
            shown.extend(format!("\\x{byte:02x}").bytes());
        }
    }
    shown
}

/// Returns a size with at most four characters before its unit.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1_024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1_024.0;
    let mut unit = 0;
    while value >= 1_023.5 && unit + 1 < UNITS.len() {
        value /= 1_024.0;
        unit += 1;
    }
    let digits = usize::from(value < 9.95);
    format!("{value:.digits$} {}", UNITS[unit])
}

/// Returns the attributes of a file, for programs. A name that is not UTF-8 also has its bytes in hexadecimal.
pub(super) fn json(name: &[u8], attributes: &Attributes) -> Value {
    let mut value = json!({
        "name": String::from_utf8_lossy(name),
        "kind": kind(attributes.kind),
        "mode": format!("{:04o}", attributes.mode & 0o7777),
        "links": attributes.links,
        "user": attributes.user,
        "group": attributes.group,
        "size": attributes.size,
        "used": attributes.used,
        "file_id": attributes.file_id,
        "file_system": attributes.file_system,
        "accessed": stamp(attributes.times.accessed),
        "modified": stamp(attributes.times.modified),
        "changed": stamp(attributes.times.changed),
    });
    if std::str::from_utf8(name).is_err() {
        value["name_bytes"] = Value::String(hex(name));
    }
    value
}

/// Returns bytes in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the seconds since 1970.
fn stamp(time: Time) -> f64 {
    let time = time.clamped();
    f64::from(time.seconds) + f64::from(time.nanoseconds) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let text = |seconds| {
            let nanoseconds = 0;
            time(Time {
                seconds,
                nanoseconds,
            })
        };
        assert_eq!(text(0), "1970-01-01T00:00:00Z");
        assert_eq!(text(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(text(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(text(1_795_273_445), "2026-11-21T15:04:05Z");
        assert_eq!(text(u32::MAX), "2106-02-07T06:28:15Z");
    }

    #[test]
    fn sizes_have_units() {
        let sizes = [0, 1_023, 1_024, 10_240, 1_048_575, 1 << 20, u64::MAX];
        let texts = [
            "0 B", "1023 B", "1.0 KiB", "10 KiB", "1.0 MiB", "1.0 MiB", "16 EiB",
        ];
        assert_eq!(sizes.map(size), texts);
    }

    #[test]
    fn terminals_get_nothing_to_obey() {
        assert_eq!(name(b"a\x1b[31m\n\xff", true), b"a\\u{1b}[31m\\n\\xff");
        assert_eq!(name("grün".as_bytes(), true), "grün".as_bytes());
        assert_eq!(name(b"\x1b", false), b"\x1b");
    }
}
