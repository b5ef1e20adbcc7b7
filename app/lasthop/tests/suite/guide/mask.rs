//! What is compared of an output: all but what varies from run to run.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

/// A line that stands for any lines, also none.
const ANY: &str = "…";
/// Beginnings of words that are new in each run.
const SECRETS: [&str; 2] = ["lasthop-join1-", "lasthop-pk1-"];
/// What may follow a number that was measured, or that depends on the machine.
const UNITS: [&str; 20] = [
    "%", "B", "KiB", "MiB", "GiB", "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "cores", "d", "h", "min",
    "s", "ms", "us", "µs", "ns", "packets", "flows",
];
/// What may stand around a number or an address.
const MARKS: [char; 6] = ['(', ')', ',', ';', ':', '.'];
/// In place of what was measured, or was not yet.
const MEASURED: &str = "<measured>";
/// The legend of a table in which something was not measured yet.
const LEGEND: &str = "- = not measured yet";

/// Returns the line with `…` in place of keys and join lines, to be shown.
pub(super) fn without_secrets(line: &str) -> String {
    let word = |word: &str| {
        let found = SECRETS
            .iter()
            .find_map(|secret| word.split_once(secret).zip(Some(secret)));
        let Some(((before, after), secret)) = found else {
            return word.to_owned();
        };
        let after =
            after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || ANY.contains(c));
        format!("{before}{secret}{ANY}{after}")
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Returns true if `printed` is as the page shows it.
pub(super) fn equal(shown: &[String], printed: &[String]) -> bool {
    let [shown, printed] = [shown, printed].map(|lines| {
        let lines = lines.iter().filter(|line| *line != LEGEND);
        lines.map(|line| masked(line)).collect::<Vec<_>>()
    });
    matches(&shown, &printed)
}

fn matches(shown: &[String], printed: &[String]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (Some((first, rest)), _) if first == ANY => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        (Some((first, shown)), Some((line, printed))) => first == line && matches(shown, printed),
        (None, None) => true,
        _ => false,
    }
}

/// Returns a line without what varies, and with single spaces.
fn masked(line: &str) -> String {
    let line = without_secrets(line).replace("not measured yet", "-");
    let words: Vec<_> = line.split_whitespace().collect();
    let mut masked: Vec<String> = Vec::new();
    let mut index = 0;
    while let Some(word) = words.get(index) {
        let core = word.trim_matches(MARKS);
        let unit = words
            .get(index + 1)
            .map(|word| word.trim_end_matches(MARKS));
        let is_number = core.parse::<f64>().is_ok();
        let is_measured = is_number && unit.is_some_and(|unit| UNITS.contains(&unit));
        if is_measured || *word == "-" {
            index += usize::from(is_measured);
            // Of several in a row, as in "1 min 5 s" and in the columns of a table, one stays.
            if masked.last().is_none_or(|last| last != MEASURED) {
                masked.push(MEASURED.into());
            }
        } else if let Some(address) = address(word) {
            masked.push(word.replace(address, "<address>"));
        } else if is_version(core) {
            masked.push(word.replace(core, "<version>"));
        } else {
            masked.push((*word).into());
        }
        index += 1;
    }
    masked.join(" ")
}

/// Returns the address in a word, if it is one between marks; one of IPv6 with a port has brackets of its own.
fn address(word: &str) -> Option<&str> {
    let inner = [&MARKS[..], &['[', ']', '"']].concat();
    let is_address = |word: &&str| {
        word.parse::<IpAddr>().is_ok()
            || word.parse::<SocketAddr>().is_ok()
            || word.parse::<IpNet>().is_ok()
    };
    let cores = [word.trim_matches(MARKS), word.trim_matches(&inner[..])];
    cores.into_iter().find(is_address)
}

fn is_version(word: &str) -> bool {
    word.split('.').count() == 3 && word.split('.').all(|part| part.parse::<u32>().is_ok())
}

#[test]
fn only_what_varies_may_differ() {
    let lines = |text: &str| -> Vec<String> { text.lines().map(Into::into).collect() };
    let same = |shown, printed| equal(&lines(shown), &lines(printed));
    assert!(same("up 13 s; 1 of 2 hosts", "up 1 min 5 s; 1 of 2 hosts"));
    assert!(!same("up 13 s; 1 of 2 hosts", "up 13 s; 2 of 2 hosts"));
    assert!(same(
        "a  1.2 Mbit/s 3 %  -\n- = not measured yet",
        "a 0 bit/s - 5 us"
    ));
    assert!(!same("a  0 bit/s nothing", "a 0 bit/s the air"));
    assert!(same(
        "m1 at 10.0.0.1:5, (fd00::1)",
        "m1 at [fd00::2]:6, (10.0.0.1)"
    ));
    assert!(same(
        "[\"10.0.0.1\", \"fd00::1\"]",
        "[\"10.0.0.2\", \"fd00::2\"]"
    ));
    assert!(same("join lasthop-join1-abc", "join lasthop-join1-…"));
    assert!(same("k = \"lasthop-pk1-abc\"", "k = \"lasthop-pk1-…\""));
    assert!(!same("join lasthop-join1-abc", "join none"));
    assert!(same("a\n…\nz", "a\nz") && same("a\n…\nz", "a\nb\nc\nz") && same("…", ""));
    assert!(!same("a\n…\nz", "a\nb") && !same("", "a") && !same("a", ""));
}
