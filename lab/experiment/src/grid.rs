//! A table of schemes against axis values, for results too large for a list or a plot.

use crate::table::{Row, Table};

/// Least number of schemes, and of values on the only axis, for which a grid is used. A plot has half as many colours.
const SCHEMES_MIN: usize = 12;
const PLACES_MIN: usize = 6;

/// The schemes and the axis values of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Names of the schemes, in the order of the plan.
    pub(crate) schemes: Vec<String>,
    /// Name of the axis.
    pub(crate) axis: String,
    /// Values of the axis.
    pub(crate) places: Vec<String>,
}

impl Grid {
    /// Returns the grid of a table, if a grid shows it best.
    pub(crate) fn of(table: &Table) -> Option<Self> {
        let cases = table.cases();
        let [(axis, first)] = cases.first()?.labels() else {
            return None;
        };
        let at_first = |case: &&crate::Case| case.label(axis) == Some(first);
        let schemes = cases.iter().take_while(at_first);
        let schemes: Vec<_> = schemes.map(|case| case.scheme_name().to_owned()).collect();
        let places = cases.iter().step_by(schemes.len());
        let places: Vec<_> = places
            .filter_map(|case| Some(case.label(axis)?.to_owned()))
            .collect();
        let many = schemes.len() >= SCHEMES_MIN && places.len() >= PLACES_MIN;
        many.then(|| Self {
            axis: axis.clone(),
            schemes,
            places,
        })
    }

    /// Returns the row of a metric for a scheme and an axis value, all by index. Cases are ordered by axis value.
    pub(crate) fn cell(
        &self,
        table: &Table,
        metric: usize,
        [scheme, place]: [usize; 2],
    ) -> Option<Row> {
        table.row(place * self.schemes.len() + scheme, metric)
    }

    /// Returns the rows of a metric, scheme by scheme; `None` if no run has a value of it.
    pub(crate) fn cells(&self, table: &Table, metric: usize) -> Option<Vec<Vec<Option<Row>>>> {
        let places = 0..self.places.len();
        let line = |scheme| {
            let cells = places.clone();
            cells
                .map(|place| self.cell(table, metric, [scheme, place]))
                .collect()
        };
        let cells: Vec<Vec<_>> = (0..self.schemes.len()).map(line).collect();
        cells.iter().flatten().any(Option::is_some).then_some(cells)
    }
}
