//! The text of a plan and the place of each key in it, so that every error names its place.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_path_to_error::{Segment, Track};
use thiserror::Error;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// Error in a plan: the place, the key, and the allowed values.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PlanError(String);

impl PlanError {
    /// Creates an error from a sentence that names its place already.
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

/// The text of a plan with the places of its keys. Keys are dotted paths such as `axes.size.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// Name of the file, as errors show it.
    name: String,
    text: String,
    spans: BTreeMap<String, Range<usize>>,
    /// Keys that an override set, with the text of the override.
    overrides: BTreeMap<String, String>,
}

impl Source {
    /// Reads TOML; errors contain `name`.
    pub(crate) fn parse(name: &str, text: &str) -> Result<(Self, Table), PlanError> {
        let mut source = Self {
            name: name.into(),
            text: text.into(),
            spans: BTreeMap::new(),
            overrides: BTreeMap::new(),
        };
        let wrong = |error: toml::de::Error| source.at(error.span(), error.message());
        let spanned = DeTable::parse(text).map_err(wrong)?;
        let table = toml::from_str(text).map_err(wrong)?;
        let mut spans = BTreeMap::new();
        collect_table(spanned.get_ref(), "", &mut spans);
        source.spans = spans;
        Ok((source, table))
    }

    /// Notes that `key` comes from the override written as `text`.
    pub(crate) fn note_override(&mut self, key: &str, text: &str) {
        let below = format!("{key}.");
        self.spans
            .retain(|path, _| path != key && !path.starts_with(&below));
        self.overrides.insert(key.into(), text.into());
    }

    /// Reads `value`, which is the value of `key`, into a type.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        value: &Value,
        key: &Place<'_>,
    ) -> Result<T, PlanError> {
        let mut track = Track::new();
        let deserializer = serde_path_to_error::Deserializer::new(value.clone(), &mut track);
        // Each type is compiled for this deserializer alone, and not for all that is inside of it.
        let mut deserializer = <dyn erased_serde::Deserializer<'_>>::erase(deserializer);
        let read = erased_serde::deserialize(&mut deserializer);
        read.map_err(|error| {
            let mut inside: Vec<String> = track.path().iter().filter_map(segment).collect();
            let text = error.to_string();
            // The place is that of the innermost table only.
            let message = text.split("\nin `").next().unwrap_or_default().trim_end();
            // Inside a tagged enum, serde names the unknown field but loses the path to it.
            let unknown = message
                .strip_prefix("unknown field `")
                .and_then(|rest| rest.split_once('`'))
                .map(|(name, _)| name.to_owned());
            if let Some(name) = unknown.filter(|name| inside.last() != Some(name)) {
                inside.push(name);
            }
            let meant = inside
                .iter()
                .try_fold(value, |value, part| descend(value, part));
            let hint = match meant {
                Some(Value::Integer(_) | Value::Float(_)) if message.contains("a string") => {
                    "; a quantity is text with its unit, such as \"20 ms\" or \"64 KiB\""
                }
                _ => "",
            };
            self.wrong(&key.inside(&inside), format_args!("{message}{hint}"))
        })
    }

    /// Returns the error `what` at `key`, or at the closest table around it that has a place.
    pub(crate) fn wrong(&self, key: &Place<'_>, what: impl fmt::Display) -> PlanError {
        let (shown, mut origin) = (key.shown(), key.origin());
        loop {
            if let Some(text) = self.overrides.get(&origin) {
                return PlanError(format!("{text}: `{shown}`: {what}"));
            }
            if let Some(span) = self.spans.get(&origin) {
                return self.at(Some(span.clone()), format_args!("`{shown}`: {what}"));
            }
            match origin.rsplit_once('.') {
                Some((around, _)) => origin.truncate(around.len()),
                None => return self.at(None, format_args!("`{shown}`: {what}")),
            }
        }
    }

    /// Returns the error `name:line:column: what`, with the line and a mark below the text in question.
    fn at(&self, span: Option<Range<usize>>, what: impl fmt::Display) -> PlanError {
        let name = &self.name;
        let Some(span) = span else {
            return PlanError(format!("{name}: {what}"));
        };
        let before = self.text.get(..span.start).unwrap_or(&self.text);
        let number = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |place| place + 1);
        let line = self.text[start..].lines().next().unwrap_or_default();
        let column = before[start..].chars().count() + 1;
        let meant = self.text.get(span).unwrap_or_default();
        let length = meant.lines().next().unwrap_or_default().chars().count();
        let margin = " ".repeat(number.to_string().len());
        let (indent, mark) = (" ".repeat(column - 1), "^".repeat(length.max(1)));
        PlanError(format!(
            "{name}:{number}:{column}: {what}\n {number} | {line}\n {margin} | {indent}{mark}"
        ))
    }
}

/// A key as the experiment sees it, and the place where its value was written.
///
/// They differ if an axis gives a parameter its value: `parameters.size` is written in `axes.size.1`.
#[derive(Debug, Clone)]
pub(crate) struct Place<'a> {
    path: String,
    /// Prefixes of paths, and the paths that their values were written at.
    moved: &'a [(String, String)],
}

impl<'a> Place<'a> {
    pub(crate) fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            moved: &[],
        }
    }

    pub(crate) fn moved(path: impl Into<String>, moved: &'a [(String, String)]) -> Self {
        Self {
            path: path.into(),
            moved,
        }
    }

    fn inside(&self, parts: &[String]) -> Self {
        Self {
            path: join(&self.path, &parts.join(".")),
            moved: self.moved,
        }
    }

    fn shown(&self) -> &str {
        &self.path
    }

    fn origin(&self) -> String {
        let longest = self
            .moved
            .iter()
            .filter_map(|(prefix, origin)| {
                let rest = self.path.strip_prefix(prefix.as_str())?;
                let whole = rest.is_empty() || rest.starts_with('.');
                whole.then(|| (prefix.len(), format!("{origin}{rest}")))
            })
            .max();
        longest.map_or_else(|| self.path.clone(), |(_, origin)| origin)
    }
}

/// Returns `outer.inner`, without a dot if one of them is empty.
pub(crate) fn join(outer: &str, inner: &str) -> String {
    match (outer, inner) {
        ("", only) | (only, "") => only.into(),
        _ => format!("{outer}.{inner}"),
    }
}

fn segment(segment: &Segment) -> Option<String> {
    match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.clone()),
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}

fn descend<'a>(value: &'a Value, part: &str) -> Option<&'a Value> {
    match value {
        Value::Array(values) => values.get(part.parse::<usize>().ok()?),
        Value::Table(table) => table.get(part),
        _ => None,
    }
}

fn collect_table(table: &DeTable<'_>, path: &str, spans: &mut BTreeMap<String, Range<usize>>) {
    for (key, value) in table {
        let path = join(path, key.get_ref());
        // The place of a table is its name, because its values may be spread over the file.
        let span = match value.get_ref() {
            DeValue::Table(_) => key.span(),
            _ => value.span(),
        };
        spans.insert(path.clone(), span);
        collect_value(value.get_ref(), &path, spans);
    }
}

fn collect_value(value: &DeValue<'_>, path: &str, spans: &mut BTreeMap<String, Range<usize>>) {
    match value {
        DeValue::Table(table) => collect_table(table, path, spans),
        DeValue::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                let path = join(path, &number.to_string());
                spans.insert(path.clone(), value.span());
                collect_value(value.get_ref(), &path, spans);
            }
        }
        _ => {}
    }
}
