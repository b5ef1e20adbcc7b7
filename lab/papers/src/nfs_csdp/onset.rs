//! When clients are so many that they congest the air.
//!
//! Congestion is air that is spent on calls which need not have been sent again. It sets in, by the definition that was
//! chosen before any run, at the least number of clients with which at least [`IN_VAIN`] of all calls that are sent are
//! spurious repeats. It *hurts* where throughput has fallen, beyond chance, below what fewer clients get together: at
//! the least such number.

use experiment::{Table, Unknown};

/// Spurious repeats that mean congestion, in per cent of the calls that are sent.
pub(super) const IN_VAIN: f64 = 10.0;

/// Labels on axes.
pub(super) type At<'a> = [(&'a str, &'a str)];

/// A scheme at a place, with each of these numbers of clients, the least first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) scheme: &'a str,
    pub(super) at: &'a At<'a>,
    pub(super) clients: &'a [&'static str],
}

/// A place with so many clients.
pub(super) fn with_clients<'a>(at: &At<'a>, clients: &'a str) -> Vec<(&'a str, &'a str)> {
    [at, &[("clients", clients)]].concat()
}

impl Line<'_> {
    fn mean(&self, table: &Table, clients: &str, metric: &str) -> Result<f64, Unknown> {
        table.mean(self.scheme, &with_clients(self.at, clients), metric)
    }

    /// With how many clients congestion sets in, or nothing if it does not.
    pub(super) fn onset(&self, table: &Table) -> Result<Option<&'static str>, Unknown> {
        for clients in self.clients {
            if self.mean(table, clients, "spurious")? >= IN_VAIN {
                return Ok(Some(clients));
            }
        }
        Ok(None)
    }

    /// From how many clients on it hurts, or nothing if it does not.
    pub(super) fn decline(&self, table: &Table) -> Result<Option<&'static str>, Unknown> {
        for (number, clients) in self.clients.iter().enumerate() {
            for fewer in &self.clients[..number] {
                let places = [*clients, *fewer].map(|clients| with_clients(self.at, clients));
                let cells = [0, 1].map(|place: usize| (self.scheme, places[place].as_slice()));
                let paired = table.compared(cells, "throughput")?;
                if paired.is_significant() && paired.difference.mean < 0.0 {
                    return Ok(Some(clients));
                }
            }
        }
        Ok(None)
    }

    /// What the last number of clients gets, as a share of the most that any gets.
    pub(super) fn kept(&self, table: &Table) -> Result<f64, Unknown> {
        let clients = self.clients.iter();
        let means = clients.map(|clients| self.mean(table, clients, "throughput"));
        let means = means.collect::<Result<Vec<_>, _>>()?;
        let most = means.iter().copied().fold(0.0, f64::max);
        Ok(means.last().copied().unwrap_or_default() / most)
    }
}
