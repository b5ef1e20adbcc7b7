//! The parameters of a plan: the copy, the client, the network, and the schemes.

use channel::errors::ErrorConfig;
use experiment::{Case, PlanError};
use rpc::{Adaptive, Cascade, Exponential, HybridLinear, Linear};
use serde::Deserialize;
use units::{Bytes, Duration};

use super::copy::Way;
use super::processor::ProcessorConfig;
use super::reassembly::Room;
use crate::links::{Air, Wire};

/// Upper limit of a file; more than any run needs, and still short enough to wait for.
const FILE_MAX: Bytes = Bytes::new(1 << 26);
/// Upper limit of mobile hosts on one air and hosts on the wire, together.
const CLIENTS_MAX: u64 = 64;

/// The `[parameters]` of the plan.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    /// The copies of the applications.
    pub(crate) copy: CopyPlan,
    /// The NFS clients.
    pub(crate) client: files::Config,
    /// Parameters of the retransmission policies.
    pub(crate) timeouts: Timeouts,
    /// The server.
    pub(crate) server: ServerPlan,
    /// Number and network of the clients.
    pub(crate) hosts: Hosts,
    /// The wire from the server to the base station.
    pub(crate) wire: Wire,
    /// The air from the base station to the mobile hosts, which share it.
    pub(crate) air: Air,
    /// The processors of mobile hosts.
    pub(crate) mobile: ProcessorConfig,
    /// Processor of the base station, for packets from and to the air.
    pub(crate) station: ProcessorConfig,
    /// Error model in the driver of each mobile host, which loses packets or holds them.
    #[serde(default)]
    pub(crate) errors: ErrorConfig,
    /// Time at which the state of a run is observed, in experiments that show it.
    pub(crate) at: Option<Duration>,
}

/// The copies of the applications.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CopyPlan {
    /// Direction of the copies.
    pub(crate) way: Way,
    /// Length of each file.
    pub(crate) file: Bytes,
    /// Bytes that an application reads or writes at once.
    pub(crate) piece: Bytes,
    /// Time limit of a copy, after which it is terminated and repeated; `None` for no limit.
    pub(crate) abort_after: Option<Duration>,
    /// Time limit of a run.
    pub(crate) give_up: Duration,
}

/// The hosts of clients and their IP.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hosts {
    /// Number of mobile hosts on the air, each with a client that copies.
    pub(crate) mobile: u64,
    /// Number of hosts on fast links of their own to the base station, each with a client that copies.
    #[serde(default)]
    pub(crate) wired: u64,
    /// Applications begin at random times within this span; the first one begins at its start.
    #[serde(default)]
    pub(crate) within: Duration,
    /// Largest packet, in bytes.
    pub(crate) mtu: Bytes,
    /// Limit of incomplete datagrams.
    pub(crate) reassembly: Room,
}

/// The server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerPlan {
    /// Time that calls take.
    pub(crate) service: fileserver::Service,
    /// Faults of the wired network for calls and replies.
    #[serde(default)]
    pub(crate) faults: fileserver::Faults,
    /// Period in which the server receives nothing.
    pub(crate) silence: Option<Silence>,
}

/// A period in which the server receives nothing.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Silence {
    pub(crate) from: Duration,
    pub(crate) lasts: Duration,
}

/// Parameters of the retransmission policies.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timeouts {
    /// The first timeout (Initial), of all policies.
    initial: Duration,
    /// Time that each linear step adds (c).
    step: Duration,
    /// Number of linear timeouts before hybrid linear doubles (a).
    linear_steps: u32,
    /// The largest timeout (Max Timeout).
    maximum: Duration,
    /// Number of minor timeouts before a major one, and the effect of a major one: for the exponential policy.
    minor: u32,
    cascade: Cascade,
    /// Parameters of the adaptive policy alone.
    #[serde(default)]
    adaptive: Adaptive,
}

/// Policy of retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Policy {
    /// Doubles the timeout: the unchanged client.
    Exponential,
    /// Adds a constant to the timeout each time, without limit.
    Linear,
    /// The papers' mixture of both.
    HybridLinear,
    /// Our own policy.
    Adaptive,
}

/// Refuses a parameter unless `holds`; the array has its key and the allowed values.
fn within(case: &Case, holds: bool, [key, allowed]: [&str; 2]) -> Result<(), PlanError> {
    let wrong = || case.wrong_parameter(key, format!("allowed: {allowed}"));
    if holds { Ok(()) } else { Err(wrong()) }
}

impl CopyPlan {
    /// Refuses invalid values.
    pub(crate) fn check(&self, case: &Case) -> Result<(), PlanError> {
        let files = Bytes::new(1)..=FILE_MAX;
        let file = files.contains(&self.file);
        within(case, file, ["copy.file", "1 B to 64 MiB"])?;
        let pieces = Bytes::new(1)..=Bytes::mebi(1);
        let piece = pieces.contains(&self.piece);
        within(case, piece, ["copy.piece", "1 B to 1 MiB"])?;
        let ends = self.abort_after.is_none_or(|after| after <= self.give_up);
        within(case, ends, ["copy.abort_after", "no more than `give_up`"])
    }
}

impl Hosts {
    /// Refuses invalid values.
    pub(crate) fn check(&self, case: &Case) -> Result<(), PlanError> {
        let all = self.mobile.saturating_add(self.wired);
        let some = self.mobile > 0 && all <= CLIENTS_MAX;
        let allowed = "1 to 64 hosts, of them at least one mobile";
        within(case, some, ["hosts.mobile", allowed])?;
        let mtus = Bytes::new(256)..=Bytes::new(65_535);
        let mtu = mtus.contains(&self.mtu);
        within(case, mtu, ["hosts.mtu", "256 B to 65535 B"])
    }
}

impl ServerPlan {
    /// Returns the server's configuration for a run.
    pub(crate) fn config(&self, seed: u64) -> fileserver::Config {
        fileserver::Config {
            seed,
            service: self.service.clone(),
            faults: self.faults.clone(),
            ..fileserver::Config::default()
        }
    }
}

impl Timeouts {
    /// Returns the RPC configuration of a client with this policy.
    pub(crate) fn rpc(&self, policy: Policy) -> rpc::Config {
        rpc::Config {
            retransmission: self.policy(policy),
            ..rpc::Config::default()
        }
    }

    fn policy(&self, name: Policy) -> rpc::Policy {
        let (initial, step, maximum) = (self.initial, self.step, self.maximum);
        match name {
            Policy::Exponential => rpc::Policy::Exponential(Exponential {
                initial,
                maximum,
                minor_timeouts: self.minor,
                cascade: self.cascade,
            }),
            Policy::Linear => rpc::Policy::Linear(Linear {
                initial,
                step,
                maximum,
            }),
            Policy::HybridLinear => rpc::Policy::HybridLinear(HybridLinear {
                initial,
                step,
                linear_steps: self.linear_steps,
                maximum,
            }),
            Policy::Adaptive => rpc::Policy::Adaptive(Adaptive {
                initial,
                ..self.adaptive
            }),
        }
    }
}

impl Parameters {
    /// Reads and checks the parameters of a case.
    pub(crate) fn read(case: &Case) -> Result<Self, PlanError> {
        let parameters: Self = case.parameters()?;
        let within = |holds: bool, key: &str, allowed: &str| within(case, holds, [key, allowed]);
        parameters.copy.check(case)?;
        parameters.hosts.check(case)?;
        within(
            parameters.mobile.variation <= 100,
            "mobile.variation",
            "0 to 100",
        )?;
        within(
            parameters.station.variation <= 100,
            "station.variation",
            "0 to 100",
        )?;
        parameters.check_parts(case)?;
        Ok(parameters)
    }

    fn check_parts(&self, case: &Case) -> Result<(), PlanError> {
        let client = self.client.check();
        client.map_err(|error| case.wrong_parameter("client", error))?;
        let wire = self.wire.line();
        wire.map_err(|error| case.wrong_parameter("wire", error))?;
        let air = self.air.line(&ErrorConfig::default(), 0);
        air.map_err(|error| case.wrong_parameter("air", error))?;
        let fades = self.air.line(&self.errors, 0);
        fades.map_err(|error| case.wrong_parameter("errors", error))?;
        let server = self.server.config(0).check();
        server.map_err(|error| case.wrong_parameter("server", error))?;
        Ok(())
    }
}

/// The link layer's reaction to fades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LinkLayer {
    /// None.
    #[default]
    Plain,
    /// Packets are held in the mobile host's driver until the good state returns: the papers' emulation.
    Hold,
    /// Our own link layer retransmits.
    Arq,
}

/// A scheme, from the plan's `[schemes.NAME]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scheme {
    /// Policy of retransmission of calls.
    pub(crate) policy: Policy,
    /// Reaction of the link layer to fades.
    #[serde(default)]
    pub(crate) link: LinkLayer,
    /// Number of transmissions of a frame by our link layer, the first included; without it, until the frame has
    /// arrived.
    pub(crate) tries: Option<u8>,
    /// True if the driver, or our link layer, reports fades to the client.
    #[serde(default)]
    pub(crate) tells: bool,
}

/// Age of a packet from which a try of our link layer is the last one.
const OLD: Duration = Duration::from_secs(600);

impl Scheme {
    /// Reads and checks the scheme of a case whose parameters are these.
    pub(crate) fn read(case: &Case, parameters: &Parameters) -> Result<Self, PlanError> {
        let scheme: Self = case.scheme()?;
        let policy = parameters.timeouts.rpc(scheme.policy).check();
        policy.map_err(|error| case.wrong_parameter("timeouts", error))?;
        if scheme.tries.is_some() && scheme.link != LinkLayer::Arq {
            let what = "only our own link layer has a limit: allowed with link = \"arq\"";
            return Err(case.wrong_scheme("tries", what));
        }
        if scheme.tries == Some(0) {
            return Err(case.wrong_scheme("tries", "allowed: 1 to 255"));
        }
        Ok(scheme)
    }

    /// Returns our link layer, if the scheme has it. Datagrams need no order, so none waits for another.
    pub(crate) fn repair(&self) -> Option<arq::Config> {
        let tries = match self.tries {
            Some(most) => arq::Tries {
                most,
                age: OLD,
                count_fades: true,
            },
            None => arq::Tries {
                most: u8::MAX,
                age: OLD,
                count_fades: false,
            },
        };
        let config = arq::Config {
            tries,
            ..crate::link_repair::usual()
        };
        (self.link == LinkLayer::Arq).then_some(config)
    }
}
