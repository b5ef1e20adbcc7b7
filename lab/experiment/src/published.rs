//! The numbers of a paper, used only for the comparison.

use toml::{Table as Toml, Value};

use crate::about::About;
use crate::plan::Case;

/// The published numbers of one experiment.
///
/// They are in one TOML file for each paper, under the name of the experiment. A row has a scheme, its values on the
/// axes as the default plan writes them (a missing axis means all its values), and metrics in their units:
///
/// ```toml
/// [ton97-table2]
/// rows = [
///   { scheme = "LL", setting = "LAN 8 KB", throughput = 1.20, wireless_goodput = 95.6 },
/// ]
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Published {
    rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq)]
struct Row {
    scheme: String,
    labels: Vec<(String, String)>,
    values: Vec<(&'static str, f64)>,
}

impl Published {
    /// Reads the numbers of the experiment from its data file; the error is a sentence about the file.
    pub fn read(about: &About) -> Result<Self, String> {
        let wrong = |what: String| format!("the published numbers of {}: {what}", about.name);
        let file: Toml =
            toml::from_str(about.published).map_err(|error| wrong(error.to_string()))?;
        let rows = file.get(about.name).and_then(|table| table.get("rows"));
        let rows = rows.and_then(Value::as_array).map(Vec::as_slice);
        let rows = rows.unwrap_or_default().iter().enumerate();
        let read = rows.map(|(number, row)| {
            Row::read(row, about).map_err(|what| wrong(format!("row {}: {what}", number + 1)))
        });
        Ok(Self {
            rows: read.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the published value of a metric in this case.
    pub fn value(&self, case: &Case, metric: &str) -> Option<f64> {
        let fits = |row: &&Row| {
            let mut labels = row.labels.iter();
            row.scheme == case.scheme_name()
                && labels.all(|(axis, label)| case.label(axis) == Some(label))
        };
        let values = self.rows.iter().filter(fits).flat_map(|row| &row.values);
        values
            .filter(|(name, _)| *name == metric)
            .map(|(_, value)| *value)
            .next()
    }

    /// Returns true if nothing was published.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Row {
    fn read(row: &Value, about: &About) -> Result<Self, String> {
        let row = row.as_table().ok_or("is no table")?;
        let mut read = Self {
            scheme: String::new(),
            labels: Vec::new(),
            values: Vec::new(),
        };
        for (key, value) in row {
            let metric = about.metrics.iter().find(|metric| metric.name == key);
            match (metric, value) {
                (Some(metric), Value::Float(value)) => read.values.push((metric.name, *value)),
                (Some(metric), Value::Integer(value)) => {
                    read.values.push((metric.name, *value as f64));
                }
                (None, Value::String(name)) if key == "scheme" => read.scheme.clone_from(name),
                (None, Value::String(label)) => read.labels.push((key.clone(), label.clone())),
                (None, Value::Integer(label)) => read.labels.push((key.clone(), label.to_string())),
                _ => return Err(format!("`{key}` is neither scheme, axis nor metric")),
            }
        }
        Ok(read)
    }
}
