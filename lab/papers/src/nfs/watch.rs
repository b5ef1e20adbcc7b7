//! The experiments that show a run over time, as the papers' captures do.

use experiment::{About, Case, Claim, Experiment, Measurements, Metric, PlanError, RunError};

use super::client::ClientHost;
use super::copies::set_up;
use super::run::Run;
use crate::metric;
use crate::moment::moment;

/// The metrics of a moment.
pub(crate) const METRICS: &[Metric] = &[
    metric(
        "sent",
        "",
        "calls that the first client has sent, each time counted",
    ),
    metric("copied", "KB", "1,000 bytes of the file that are copied"),
    metric(
        "retransmissions",
        "",
        "calls that the first client has sent again",
    ),
    metric(
        "overflows",
        "",
        "packets for which the first client's card had no room",
    ),
];

/// An experiment that shows a run at moments.
#[derive(Debug)]
pub(crate) struct CopyObserver {
    pub(crate) about: About,
}

impl Experiment for CopyObserver {
    fn about(&self) -> &About {
        &self.about
    }

    fn check(&self, case: &Case) -> Result<(), PlanError> {
        moment(case, set_up(case, 0)?.parameters.at).map(drop)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        let set_up = set_up(case, seed)?;
        let at = moment(case, set_up.parameters.at)?;
        let run = Run::until(set_up.build()?, at, &mut ())?;
        let client = run.client(0).map(ClientHost::counts);
        let client = client.ok_or_else(|| RunError::Failed("there is no client".into()))?;
        Ok(Measurements::new()
            .with("sent", client.sent as f64)
            .with("copied", client.copied as f64 / 1e3)
            .with("retransmissions", client.again as f64)
            .with("overflows", client.overflows as f64))
    }

    fn claims(&self) -> Vec<Claim> {
        Vec::new()
    }
}
