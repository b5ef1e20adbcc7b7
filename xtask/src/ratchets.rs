//! The step that keeps code small and clean: limits for all files, and a list of today's exceptions that may only
//! shrink.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::files::read;
use crate::outcome::Outcome;
use crate::source::{code_only, functions, structs, words};
use xtask::shell::{Failure, Shell};

#[cfg(test)]
mod tests;

/// The list of exceptions, relative to the root.
const EXCEPTIONS: &str = "xtask/ratchets.txt";

/// A measured property with its limit.
struct Rule {
    name: &'static str,
    most: usize,
    what: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        name: "file",
        most: 500,
        what: "lines in a file",
    },
    Rule {
        name: "function",
        most: 70,
        what: "lines in a function",
    },
    Rule {
        name: "fields",
        most: 12,
        what: "fields in a struct that is no format",
    },
    Rule {
        name: "parameters",
        most: 6,
        what: "parameters of a function",
    },
    Rule {
        name: "tuples",
        most: 0,
        what: "parameters that are tuples without a name",
    },
    Rule {
        name: "columns",
        most: 120,
        what: "columns in a line",
    },
    Rule {
        name: "control",
        most: 0,
        what: "control characters (tabs too)",
    },
    Rule {
        name: "unfinished",
        most: 0,
        what: "notes of unfinished work",
    },
    Rule {
        name: "dbg",
        most: 0,
        what: "debugging prints",
    },
    Rule {
        name: "unsafe",
        most: 0,
        what: "uses of unsafe outside live/edges",
    },
];

/// The only folder whose code may be unsafe.
const UNSAFE_HOME: &str = "live/edges/";

/// The words that mark unfinished work; split, so that this file does not contain them.
const UNFINISHED: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// The name of the rule and the place, as `path` or `path::function`.
type Key = (&'static str, String);

/// The measured values: the largest size of each key, and the line where it begins.
type Sizes = BTreeMap<Key, (usize, usize)>;

/// Measures every source file of the repository.
pub(crate) fn run(shell: &Shell) -> Result<Outcome, Failure> {
    let mut sizes = Sizes::new();
    let mut files = 0;
    for path in sources(&shell.root)? {
        measure(&path, &read(&shell.root.join(&path))?, &mut sizes);
        files += 1;
    }
    let exceptions = parse(&read(&shell.root.join(EXCEPTIONS))?).map_err(Failure::Found)?;
    Failure::unless_empty(&compare(&sizes, &exceptions))?;
    let note = format!("{files} files, {} exceptions", exceptions.len());
    Ok(Outcome::noted(note))
}

/// Returns the Rust files below `root`, relative to it, sorted.
fn sources(root: &Path) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let unreadable = |source| Failure::Read {
            path: folder.clone(),
            source,
        };
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && !name.starts_with('.') && !name.starts_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let inside = path.strip_prefix(root).unwrap_or(&path);
                found.push(inside.to_string_lossy().into());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Adds the measurements of one file.
fn measure(path: &str, text: &str, sizes: &mut Sizes) {
    let code = code_only(text);
    let mut add = |rule, place: String, size, line| {
        let largest = sizes.entry((rule, place)).or_default();
        *largest = (*largest).max((size, line));
    };
    add("file", path.into(), text.lines().count(), 1);
    for function in functions(&code) {
        let place = format!("{path}::{}", function.name);
        add("function", place.clone(), function.lines, function.line);
        let parameters = function.parameters;
        add("parameters", place.clone(), parameters, function.line);
        add("tuples", place, function.tuples, function.line);
    }
    // The number of fields of a format is given from outside.
    for found in structs(&code).into_iter().filter(|found| !found.is_format) {
        let place = format!("{path}::{}", found.name);
        add("fields", place, found.fields, found.line);
    }
    for (index, line) in text.lines().enumerate() {
        add("columns", path.into(), line.chars().count(), index + 1);
    }
    let mut count = |rule, positions: Vec<usize>| {
        if let Some(first) = positions.first() {
            add(
                rule,
                path.into(),
                positions.len(),
                1 + text[..*first].matches('\n').count(),
            );
        }
    };
    let control = |c: &(usize, char)| c.1.is_control() && c.1 != '\n';
    count(
        "control",
        text.char_indices()
            .filter(control)
            .map(|(at, _)| at)
            .collect(),
    );
    count(
        "unfinished",
        positions(text, |word| UNFINISHED.contains(&word)),
    );
    count("dbg", positions(&code, |word| word == "dbg"));
    if !path.starts_with(UNSAFE_HOME) {
        count("unsafe", positions(&code, |word| word == "unsafe"));
    }
}

/// Returns the positions of the words that `is_asked` selects.
fn positions(text: &str, is_asked: impl Fn(&str) -> bool) -> Vec<usize> {
    words(text)
        .filter(|(_, word)| is_asked(word))
        .map(|(position, _)| position)
        .collect()
}

/// Reads the list of exceptions: on each line a rule, a size and a place; `#` begins a comment.
fn parse(text: &str) -> Result<BTreeMap<Key, usize>, String> {
    let mut exceptions = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let entry = line.split('#').next().unwrap_or_default();
        let fields: Vec<_> = entry.split_whitespace().collect();
        if fields.is_empty() {
            continue;
        }
        let rule = |name: &str| RULES.iter().find(|rule| rule.name == name);
        let read = match fields[..] {
            [name, size, place] => rule(name).zip(size.parse().ok()).zip(Some(place)),
            _ => None,
        };
        let Some(((rule, size), place)) = read else {
            let form = "write '<rule> <size> <path or path::function>'";
            return Err(format!(
                "{EXCEPTIONS}:{}: cannot read '{line}'; {form}",
                index + 1
            ));
        };
        exceptions.insert((rule.name, place.into()), size);
    }
    Ok(exceptions)
}

/// Returns the violations beyond the exceptions, and the exceptions that are larger than necessary.
fn compare(sizes: &Sizes, exceptions: &BTreeMap<Key, usize>) -> Vec<String> {
    let mut findings = Vec::new();
    for rule in RULES {
        for ((_, place), (size, line)) in sizes.iter().filter(|(key, _)| key.0 == rule.name) {
            let most = exceptions
                .get(&(rule.name, place.clone()))
                .map_or(rule.most, |size| rule.most.max(*size));
            if *size > most {
                let what = rule.what;
                findings.push(format!(
                    "{place} (line {line}): {size} {what}; at most {most}"
                ));
            }
        }
        for ((name, place), excused) in exceptions.iter().filter(|(key, _)| key.0 == rule.name) {
            let size = sizes
                .get(&(*name, place.clone()))
                .map_or(0, |(size, _)| *size);
            let entry = format!("{EXCEPTIONS}: '{name} {excused} {place}'");
            if size <= rule.most {
                findings.push(format!("{entry} is no longer needed; remove it"));
            } else if size < *excused {
                findings.push(format!("{entry} may shrink; write {size}"));
            }
        }
    }
    findings
}
