//! The number of clients at which they congest the air.
//!
//! Congestion is air that is spent on unnecessary retransmissions of calls. It begins, by the definition chosen before
//! any run, at the least number of clients with which significantly at least [`IN_VAIN`] of all transmissions of calls
//! are spurious. It *hurts* if throughput is significantly below that of fewer clients together: at the least such
//! number.

use experiment::{Summary, Table, Unknown};

/// Spurious retransmissions that mean congestion, in per cent of all transmissions of calls.
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

/// Returns a place with this number of clients.
pub(super) fn with_clients<'a>(at: &At<'a>, clients: &'a str) -> Vec<(&'a str, &'a str)> {
    [at, &[("clients", clients)]].concat()
}

/// Returns the bounds of a mean, by its 95 % interval.
pub(super) fn bounds(summary: &Summary) -> [f64; 2] {
    let half = summary.ci95.unwrap_or(f64::INFINITY);
    [summary.mean - half, summary.mean + half]
}

impl Line<'_> {
    fn summary(&self, table: &Table, clients: &str, metric: &str) -> Result<Summary, Unknown> {
        table.summary(self.scheme, &with_clients(self.at, clients), metric)
    }

    /// Returns the number of clients at which congestion begins; `None` if it does not.
    pub(super) fn onset(&self, table: &Table) -> Result<Option<&'static str>, Unknown> {
        for clients in self.clients {
            let [least, _] = bounds(&self.summary(table, clients, "spurious")?);
            if least >= IN_VAIN {
                return Ok(Some(clients));
            }
        }
        Ok(None)
    }

    /// Returns the least number of clients at which it hurts; `None` if it does not.
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

    /// Returns the throughput of the last number of clients as a share of the largest throughput: the mean, and bounds
    /// that hold for any correlation of the two.
    pub(super) fn kept(&self, table: &Table) -> Result<(f64, [f64; 2]), Unknown> {
        let clients = self.clients.iter();
        let all = clients.map(|clients| self.summary(table, clients, "throughput"));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        let most = all
            .iter()
            .max_by(|one, other| one.mean.total_cmp(&other.mean));
        let (Some(last), Some(most)) = (all.last(), most) else {
            return Err(Unknown::new("any number of clients"));
        };
        let ([low, high], [least, greatest]) = (bounds(last), bounds(most));
        Ok((last.mean / most.mean, [low / greatest, high / least]))
    }
}
