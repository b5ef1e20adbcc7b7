//! One combination of scheme and axis values.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::axis::Point;
use super::keys::{PARAMETERS, SCHEMES};
use super::source::{Place, PlanError, Source, join};

/// One combination of scheme and axis values, as an experiment runs it.
#[derive(Debug, Clone)]
pub struct Case {
    source: Arc<Source>,
    scheme_name: String,
    scheme: Table,
    parameters: Table,
    labels: Vec<(String, String)>,
    moved: Vec<(String, String)>,
}

impl Case {
    /// Creates the case of a scheme at one point on each axis.
    pub(super) fn new(
        source: &Arc<Source>,
        scheme: (&str, &Table),
        parameters: &Table,
        points: &[&Point],
    ) -> Self {
        let mut case = Self {
            source: Arc::clone(source),
            scheme_name: scheme.0.into(),
            scheme: scheme.1.clone(),
            parameters: parameters.clone(),
            labels: Vec::new(),
            moved: Vec::new(),
        };
        for point in points {
            case.labels.push((point.axis.clone(), point.label.clone()));
            for setting in &point.settings {
                let inside = setting.path.join(".");
                case.moved
                    .push((join(PARAMETERS, &inside), setting.origin.clone()));
                put(&mut case.parameters, &setting.path, setting.value.clone());
            }
        }
        case
    }

    /// Returns the name of the scheme.
    pub fn scheme_name(&self) -> &str {
        &self.scheme_name
    }

    /// Returns the axes with their values in this case, as the plan writes them, in the order of the plan.
    pub fn labels(&self) -> &[(String, String)] {
        &self.labels
    }

    /// Returns the value of one axis in this case, as the plan writes it.
    pub fn label(&self, axis: &str) -> Option<&str> {
        let found = self.labels.iter().find(|(name, _)| name == axis);
        found.map(|(_, label)| label.as_str())
    }

    /// Reads the `[parameters]` of the plan, with the values of the axes, into the experiment's own type. The error
    /// names the key, its place and the allowed values.
    pub fn parameters<P: DeserializeOwned>(&self) -> Result<P, PlanError> {
        let place = Place::moved(PARAMETERS, &self.moved);
        self.source
            .read(&Value::Table(self.parameters.clone()), &place)
    }

    /// Reads the table `[schemes.NAME]` into the experiment's own type.
    pub fn scheme<S: DeserializeOwned>(&self) -> Result<S, PlanError> {
        let place = Place::new(join(SCHEMES, &self.scheme_name));
        self.source.read(&Value::Table(self.scheme.clone()), &place)
    }

    /// Returns the error that the parameter at the dotted path `key` is wrong; `what` names the allowed values.
    pub fn wrong_parameter(&self, key: &str, what: impl fmt::Display) -> PlanError {
        let place = Place::moved(join(PARAMETERS, key), &self.moved);
        self.source.wrong(&place, what)
    }

    /// Returns the error that `key` of the scheme is wrong (or the scheme as a whole, if `key` is empty); `what` names
    /// the allowed values.
    pub fn wrong_scheme(&self, key: &str, what: impl fmt::Display) -> PlanError {
        let place = Place::new(join(&join(SCHEMES, &self.scheme_name), key));
        self.source.wrong(&place, what)
    }

    /// Returns the scheme and axis values as text for people: `LL, size = 100 B`.
    pub fn describe(&self) -> String {
        let labels = self.labels.iter();
        let labels = labels.map(|(axis, label)| format!(", {axis} = {label}"));
        format!("{}{}", self.scheme_name, labels.collect::<String>())
    }
}

/// Puts `value` at `path`; creates the tables on the way, and replaces values that are not tables.
pub(super) fn put(table: &mut Table, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    if rest.is_empty() {
        table.insert(first.clone(), value);
        return;
    }
    let inner = table
        .entry(first.clone())
        .or_insert_with(|| Value::Table(Table::new()));
    if !inner.is_table() {
        *inner = Value::Table(Table::new());
    }
    if let Value::Table(inner) = inner {
        put(inner, rest, value);
    }
}
