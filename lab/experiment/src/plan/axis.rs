//! The axes of a plan: the parameters that it varies.

use toml::Value;

use super::keys::AXES;
use super::source::{Place, PlanError, Source, join};

/// Key with the name of a point that sets several parameters.
const NAME: &str = "name";

/// A parameter, or several that vary together, with its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub(super) name: String,
    pub(super) points: Vec<Point>,
}

/// One value of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) axis: String,
    /// The value as the plan writes it, or the point's name.
    pub(super) label: String,
    pub(super) settings: Vec<Setting>,
}

/// The value of a parameter at a point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    /// Path within the parameters of the plan.
    pub(super) path: Vec<String>,
    pub(super) value: Value,
    /// Path in the plan where the value is written.
    pub(super) origin: String,
}

impl Axis {
    /// Returns its name: that of the parameter, or the one that the plan gives to a group of them.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its values as the plan writes them.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.points.iter().map(|point| point.label.as_str())
    }

    pub(super) fn read(name: &str, value: &Value, source: &Source) -> Result<Self, PlanError> {
        let origin = join(AXES, name);
        let wrong = |origin: &str, what: &str| Err(source.wrong(&Place::new(origin), what));
        let values = value.as_array().filter(|values| !values.is_empty());
        let Some(values) = values else {
            return wrong(
                &origin,
                "an axis is a list of values, such as [\"100 B\", \"1 kB\"]",
            );
        };
        let mut points: Vec<Point> = Vec::new();
        for (number, value) in values.iter().enumerate() {
            let origin = join(&origin, &number.to_string());
            let Some(label) = label(value) else {
                let what = "a point that sets several parameters needs a `name`, \
                            such as { name = \"LAN\", delay = \"5 ms\" }";
                return wrong(&origin, what);
            };
            if points.iter().any(|point| point.label == label) {
                return wrong(&origin, "this value stands twice on its axis");
            }
            points.push(Point {
                axis: name.into(),
                label,
                settings: settings(name, value, &origin),
            });
        }
        Ok(Self {
            name: name.into(),
            points,
        })
    }
}

/// Returns the text that stands for a value of an axis; `None` for a table without a name.
pub(super) fn label(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Table(table) => table.get(NAME)?.as_str().map(Into::into),
        other => Some(other.to_string()),
    }
}

fn settings(axis: &str, value: &Value, origin: &str) -> Vec<Setting> {
    let Value::Table(table) = value else {
        return vec![Setting {
            path: axis.split('.').map(Into::into).collect(),
            value: value.clone(),
            origin: origin.into(),
        }];
    };
    let mut settings = Vec::new();
    let inside = table.iter().filter(|(key, _)| *key != NAME);
    for (key, value) in inside {
        leaves(vec![key.clone()], value, &join(origin, key), &mut settings);
    }
    settings
}

/// Collects every value below `value` that is not a table, so that a point changes single keys of nested tables.
fn leaves(path: Vec<String>, value: &Value, origin: &str, into: &mut Vec<Setting>) {
    let Value::Table(table) = value else {
        into.push(Setting {
            path,
            value: value.clone(),
            origin: origin.into(),
        });
        return;
    };
    for (key, value) in table {
        let inner = path.iter().chain([key]).cloned().collect();
        leaves(inner, value, &join(origin, key), into);
    }
}
