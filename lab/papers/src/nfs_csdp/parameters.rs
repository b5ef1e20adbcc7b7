//! The parameters of a plan: the copies, the clients and their server, wire and air, and the drivers.

use channel::CsmaConfig;
use channel::errors::ErrorConfig;
use experiment::{Case, PlanError};
use serde::Deserialize;

use crate::csdp96::parameters::{Driver, check_errors};
use crate::links::Wire;
use crate::nfs::parameters::{CopyPlan, Hosts, Policy, ServerPlan, Timeouts};
use crate::nfs::site::Site;

/// The `[parameters]` of the plan.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    /// The copies of the applications.
    pub(super) copy: CopyPlan,
    /// The NFS clients.
    client: files::Config,
    /// Parameters of their retransmission policies, and the policy chosen.
    timeouts: Timeouts,
    pub(super) policy: Policy,
    server: ServerPlan,
    /// Number and network of the clients.
    pub(super) hosts: Hosts,
    /// The wire from the server to the base station.
    pub(super) wire: Wire,
    /// The medium access.
    #[serde(default)]
    pub(super) air: CsmaConfig,
    /// The drivers of base station and mobile hosts.
    pub(super) driver: Driver,
    /// Error model of each channel, in both directions.
    #[serde(default)]
    pub(super) errors: ErrorConfig,
}

impl Parameters {
    /// Reads and checks the parameters of a case.
    pub(super) fn read(case: &Case) -> Result<Self, PlanError> {
        let parameters: Self = case.parameters()?;
        parameters.copy.check(case)?;
        parameters.hosts.check(case)?;
        if parameters.copy.abort_after.is_some() {
            return Err(case.wrong_parameter("copy.abort_after", "no copy is terminated here"));
        }
        if parameters.hosts.wired > 0 {
            return Err(case.wrong_parameter("hosts.wired", "all hosts are mobile here"));
        }
        parameters.driver.check(case)?;
        let wrong = |key: &'static str| move |error: String| case.wrong_parameter(key, error);
        let text = |error: machine::ConfigError| error.to_string();
        let client = parameters.client.check();
        client.map_err(text).map_err(wrong("client"))?;
        let rpc = parameters.timeouts.rpc(parameters.policy).check();
        rpc.map_err(text).map_err(wrong("timeouts"))?;
        let server = parameters.server.config(0).check();
        server.map_err(text).map_err(wrong("server"))?;
        parameters.air.check().map_err(text).map_err(wrong("air"))?;
        parameters.wire.line().map_err(wrong("wire"))?;
        check_errors(&parameters.errors).map_err(wrong("errors"))?;
        Ok(parameters)
    }

    /// Returns the server and its clients.
    pub(super) fn site(&self, seed: u64) -> Site<'_> {
        Site {
            copy: &self.copy,
            client: &self.client,
            timeouts: &self.timeouts,
            server: &self.server,
            hosts: &self.hosts,
            seed,
        }
    }
}
