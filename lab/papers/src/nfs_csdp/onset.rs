//! When clients are so many that they congest the air.
//!
//! Congestion is air that is spent on calls which need not have been sent again. It sets in, by the definition that was
//! chosen before any run, at the least number of clients with which at least [`IN_VAIN`] of all calls that are sent are
//! spurious repeats. It *hurts* where throughput has fallen, beyond chance, below what fewer clients get: at the least
//! such number.

use experiment::{Table, Unknown};

/// Numbers of clients, from the least on.
pub(super) const CLIENTS: [&str; 6] = ["1", "2", "4", "8", "16", "32"];
/// Spurious repeats that mean congestion, in per cent of the calls that are sent.
pub(super) const IN_VAIN: f64 = 10.0;

/// A place in the table: a policy and a number of clients.
pub(super) type Place<'a> = [(&'a str, &'a str); 2];

/// That place.
pub(super) fn place<'a>(policy: &'a str, clients: &'a str) -> Place<'a> {
    [("policy", policy), ("clients", clients)]
}

/// With how many clients congestion sets in, or nothing if it does not.
pub(super) fn onset(
    table: &Table,
    scheme: &str,
    policy: &str,
) -> Result<Option<&'static str>, Unknown> {
    for clients in CLIENTS {
        if table.mean(scheme, &place(policy, clients), "spurious")? >= IN_VAIN {
            return Ok(Some(clients));
        }
    }
    Ok(None)
}

/// From how many clients on it hurts, or nothing if it does not.
pub(super) fn decline(
    table: &Table,
    scheme: &str,
    policy: &str,
) -> Result<Option<&'static str>, Unknown> {
    for (number, clients) in CLIENTS.iter().enumerate() {
        for fewer in &CLIENTS[..number] {
            let places = [*clients, *fewer].map(|clients| place(policy, clients));
            let cells = [(scheme, places[0].as_slice()), (scheme, &places[1])];
            let paired = table.compared(cells, "throughput")?;
            if paired.is_significant() && paired.difference.mean < 0.0 {
                return Ok(Some(clients));
            }
        }
    }
    Ok(None)
}

/// The most that any number of clients gets together, in KB/s.
pub(super) fn most(table: &Table, scheme: &str, policy: &str) -> Result<f64, Unknown> {
    let means = CLIENTS.map(|clients| table.mean(scheme, &place(policy, clients), "throughput"));
    let means = means.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(means.into_iter().fold(0.0, f64::max))
}
