//! The command line option `--set key=value`.

use std::str::FromStr;

use toml::{Table, Value};

use super::axis::label;
use super::case::put;
use super::keys::{AXES, EXPERIMENT, PARAMETERS, SEEDS, TABLES};
use super::source::{Place, PlanError, Source, join};

/// A change of a plan from the command line: `key=value`.
///
/// The key is a dotted path: a whole one (`parameters.link.rate`, `schemes.LL.suppress`), or one within `[parameters]`.
/// If the key is an axis, the axis has only that value. The value is TOML, or else plain text, so quantities need no
/// quotes.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    text: String,
    path: Vec<String>,
    value: Value,
}

impl FromStr for Override {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let parts = text.split_once('=').map(|(key, value)| {
            let path: Vec<String> = key.trim().split('.').map(Into::into).collect();
            (path, value.trim())
        });
        match parts {
            Some((path, value)) if path.iter().all(|part| !part.is_empty()) => Ok(Self {
                text: format!("--set {text}"),
                path,
                value: read(value),
            }),
            _ => Err(PlanError::new(format!(
                "'{text}' changes nothing; write it like 'size=100 B' or 'schemes.LL.suppress=true'"
            ))),
        }
    }
}

fn read(value: &str) -> Value {
    let document = format!("value = {value}");
    let mut table = toml::from_str::<Table>(&document).unwrap_or_default();
    match table.remove("value") {
        Some(read) if table.is_empty() => read,
        _ => Value::String(value.into()),
    }
}

impl Override {
    /// Sets the number of seeds for each case, as `--seeds` does.
    pub fn seeds(count: u64) -> Self {
        Self {
            text: format!("--seeds {count}"),
            path: vec![EXPERIMENT.into(), SEEDS.into()],
            value: Value::Integer(i64::try_from(count).unwrap_or(i64::MAX)),
        }
    }

    /// Applies the change to the plan `table`.
    pub(super) fn apply(&self, table: &mut Table, source: &mut Source) -> Result<(), PlanError> {
        let (mut path, mut value) = (self.path.clone(), self.value.clone());
        if !TABLES.contains(&path[0].as_str()) {
            let name = path.join(".");
            let axis = table.get(AXES).and_then(|axes| axes.get(&name)).cloned();
            match axis {
                Some(axis) => {
                    path = vec![AXES.into(), name];
                    value = Value::Array(vec![self.on(&axis, source)?]);
                }
                None => path.insert(0, PARAMETERS.into()),
            }
        }
        source.note_override(&path.join("."), &self.text);
        put(table, &path, value);
        Ok(())
    }

    /// Returns the point of `axis` that the value selects: the point of that name, or the value itself.
    fn on(&self, axis: &Value, source: &Source) -> Result<Value, PlanError> {
        let points = axis.as_array().map(Vec::as_slice).unwrap_or_default();
        let named: Vec<_> = points.iter().filter(|point| point.is_table()).collect();
        if named.is_empty() || self.value.is_table() {
            return Ok(self.value.clone());
        }
        let wanted = label(&self.value);
        let found = named.iter().find(|point| label(point) == wanted);
        found.map(|point| (*point).clone()).ok_or_else(|| {
            let known: Vec<_> = named.iter().filter_map(|point| label(point)).collect();
            let place = Place::new(join(AXES, &self.path.join(".")));
            let error = source.wrong(&place, format_args!("has only: {}", known.join(", ")));
            PlanError::new(format!("{}: {error}", self.text))
        })
    }
}
