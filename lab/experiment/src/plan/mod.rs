//! Plans of experiments, read from TOML.

mod axis;
mod case;
mod keys;
mod overrides;
mod seeds;
mod source;

use std::fmt::Write;
use std::sync::Arc;

use blake2::{Blake2s256, Digest};
use serde::Deserialize;
use toml::{Table, Value};

pub use axis::Axis;
pub use case::Case;
use keys::{AXES, PARAMETERS, SCHEMES};
pub use overrides::Override;
pub use seeds::{Adaptive, Seeds};
pub use source::PlanError;
use source::{Place, Source, join};

/// Upper limit of cases in a plan.
const MOST_CASES: usize = 100_000;

/// The plan of an experiment.
///
/// ```toml
/// [experiment]
/// name = "channel-errors"
/// seeds = 20              # or { min = 10, max = 200, ci95 = "2 %" }
/// first_seed = 1          # the default
///
/// [parameters]            # the experiment's own keys
/// packets = 5000
/// rate = "2 Mbit/s"
///
/// [axes]                  # parameters that take several values; all combinations are run
/// size = ["100 B", "1440 B"]
/// # Several parameters that vary together, under a name of the plan's choice:
/// # setting = [{ name = "LAN", delay = "5 ms" }, { name = "WAN", delay = "65 ms" }]
///
/// [schemes.sparse]        # each scheme is data, in the experiment's own keys
/// model = "distance"
/// mean = "256 KiB"
/// ```
#[derive(Debug, Clone)]
pub struct Plan {
    source: Arc<Source>,
    table: Table,
    header: Header,
    seeds: Seeds,
    axes: Vec<Axis>,
}

/// The table `[experiment]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    name: String,
    seeds: Value,
    #[serde(default = "first_seed")]
    first_seed: u64,
}

fn first_seed() -> u64 {
    1
}

/// The tables of a plan before they are checked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Draft {
    experiment: Header,
    #[serde(default)]
    axes: Table,
    #[serde(default, rename = "parameters")]
    _parameters: Table,
    schemes: Table,
}

impl Plan {
    /// Reads a plan and applies `overrides`, the later ones last; errors contain `name`.
    pub fn parse(name: &str, text: &str, overrides: &[Override]) -> Result<Self, PlanError> {
        let (mut source, mut table) = Source::parse(name, text)?;
        for change in overrides {
            change.apply(&mut table, &mut source)?;
        }
        let draft: Draft = source.read(&Value::Table(table.clone()), &Place::new(""))?;
        let seeds = Seeds::read(&draft.experiment.seeds, &source)?;
        let axes = draft.axes.iter();
        let axes = axes
            .map(|(name, value)| Axis::read(name, value, &source))
            .collect::<Result<Vec<_>, _>>()?;
        let plan = Self {
            source: Arc::new(source),
            header: draft.experiment,
            seeds,
            axes,
            table,
        };
        plan.check(&draft.schemes)?;
        Ok(plan)
    }

    fn check(&self, schemes: &Table) -> Result<(), PlanError> {
        let wrong = |key: &str, what: String| Err(self.source.wrong(&Place::new(key), what));
        if schemes.is_empty() {
            return wrong(
                SCHEMES,
                "give at least one scheme, as [schemes.NAME]".into(),
            );
        }
        if let Some((name, _)) = schemes.iter().find(|(_, scheme)| !scheme.is_table()) {
            let what = format!("a scheme is a table; write [schemes.{name}]");
            return wrong(&join(SCHEMES, name), what);
        }
        if self.count_cases().is_none_or(|count| count > MOST_CASES) {
            let what = format!("all combinations are more than {MOST_CASES} cases; vary less");
            return wrong(AXES, what);
        }
        Ok(())
    }

    fn count_cases(&self) -> Option<usize> {
        let points = self.axes.iter().map(|axis| axis.points.len());
        points
            .chain([self.schemes().len()])
            .try_fold(1, usize::checked_mul)
    }

    /// Returns the name of its experiment.
    pub fn experiment(&self) -> &str {
        &self.header.name
    }

    /// Returns the number of seeds for each case.
    pub fn seeds(&self) -> &Seeds {
        &self.seeds
    }

    /// Returns the first seed of every case.
    pub fn first_seed(&self) -> u64 {
        self.header.first_seed
    }

    /// Returns the axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Returns the plan with its overrides, as TOML.
    pub fn text(&self) -> String {
        toml::to_string(&self.table).expect("what was read from TOML can be written as TOML")
    }

    /// Returns the parameters that are the same in all cases, by dotted path, as the plan writes them.
    pub fn constants(&self) -> Vec<(String, String)> {
        let mut constants = Vec::new();
        flatten("", &self.table_of(PARAMETERS), &mut constants);
        let varies = |key: &str| self.axes.iter().any(|axis| axis.name == key);
        constants.retain(|(key, _)| !varies(key));
        constants
    }

    /// Returns the schemes, with their keys as the plan writes them.
    pub fn schemes(&self) -> Vec<(String, Vec<(String, String)>)> {
        let schemes = self.table_of(SCHEMES);
        let schemes = schemes.iter().map(|(name, scheme)| {
            let mut keys = Vec::new();
            flatten("", scheme.as_table().unwrap_or(&Table::new()), &mut keys);
            (name.clone(), keys)
        });
        schemes.collect()
    }

    fn table_of(&self, name: &str) -> Table {
        let table = self.table.get(name).and_then(Value::as_table);
        table.cloned().unwrap_or_default()
    }

    /// Returns every combination; schemes vary fastest and the first axis slowest.
    pub fn cases(&self) -> Vec<Case> {
        let (parameters, schemes) = (self.table_of(PARAMETERS), self.table_of(SCHEMES));
        let mut combinations = vec![Vec::new()];
        for axis in &self.axes {
            let longer = combinations.iter().flat_map(|combination| {
                let with = |point| [combination.as_slice(), &[point]].concat();
                axis.points.iter().map(with)
            });
            combinations = longer.collect();
        }
        let cases = combinations.iter().flat_map(|points| {
            schemes.iter().filter_map(|(name, scheme)| {
                let scheme = (name.as_str(), scheme.as_table()?);
                Some(Case::new(&self.source, scheme, &parameters, points))
            })
        });
        cases.collect()
    }

    /// Returns a hash of all content but the number of seeds, which changes only the number of runs. Comments, spaces
    /// and the order of keys do not change it; the order of axis values does.
    pub fn hash(&self) -> String {
        let mut text = format!("{}\n", self.header.name);
        for table in [PARAMETERS, AXES, SCHEMES] {
            canonical(&Value::Table(self.table_of(table)), &mut text);
        }
        let order = self.axes.iter().map(Axis::name);
        let schemes = self.schemes();
        let order = order.chain(schemes.iter().map(|(name, _)| name.as_str()));
        text.extend(order.map(|name| format!("{name}\n")));
        hex(&Blake2s256::digest(text)[..16])
    }

    /// Returns the error that `key` of the plan is wrong.
    pub(crate) fn wrong(&self, key: &str, what: impl std::fmt::Display) -> PlanError {
        self.source.wrong(&Place::new(key), what)
    }
}

/// Returns `bytes` as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing to a String does not fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

fn flatten(path: &str, table: &Table, into: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let path = join(path, key);
        match value {
            Value::Table(inner) => flatten(&path, inner, into),
            Value::String(text) => into.push((path, text.clone())),
            other => into.push((path, other.to_string())),
        }
    }
}

/// Appends a text of `value` in which keys are sorted.
fn canonical(value: &Value, into: &mut String) {
    match value {
        Value::Table(table) => {
            let mut keys: Vec<_> = table.iter().collect();
            keys.sort_by_key(|(key, _)| *key);
            into.push('{');
            for (key, value) in keys {
                let _ = write!(into, "{key:?}=");
                canonical(value, into);
            }
            into.push_str("}\n");
        }
        Value::Array(values) => {
            into.push('[');
            for value in values {
                canonical(value, into);
            }
            into.push(']');
        }
        other => {
            let _ = write!(into, "{other},");
        }
    }
}
