//! What a plan says: the copy, the client, the network, and the schemes.

use channel::errors::ErrorConfig;
use experiment::{Case, PlanError};
use rpc::{Adaptive, Cascade, Exponential, HybridLinear, Linear};
use serde::Deserialize;
use units::{Bytes, Duration};

use super::copy::Way;
use super::processor::ProcessorConfig;
use super::reassembly::Room;
use crate::links::{Air, Wire};

/// More than any run needs, and little enough to wait for.
const FILE_MAX: Bytes = Bytes::new(1 << 26);
/// Mobile hosts on one air, at most, and hosts on the wire.
const CLIENTS_MAX: u64 = 64;

/// The plan's `[parameters]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    /// What the applications do.
    pub(crate) copy: CopyPlan,
    /// The clients of files.
    pub(crate) client: files::Config,
    /// When they send calls again.
    pub(crate) timeouts: Timeouts,
    /// The server.
    pub(crate) server: ServerPlan,
    /// Who is there.
    pub(crate) hosts: Hosts,
    /// From the server to the base station.
    pub(crate) wire: Wire,
    /// From the base station to the mobile hosts, which share it.
    pub(crate) air: Air,
    /// The processors of mobile hosts.
    pub(crate) mobile: ProcessorConfig,
    /// The base station's, for what comes from the air or goes there.
    pub(crate) station: ProcessorConfig,
    /// What the driver of each mobile host loses, or holds.
    #[serde(default)]
    pub(crate) errors: ErrorConfig,
    /// When the state of a run is looked at, in experiments that show it.
    pub(crate) at: Option<Duration>,
}

/// What the applications do.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CopyPlan {
    /// Which way the files go.
    pub(crate) way: Way,
    /// How long each file is.
    pub(crate) file: Bytes,
    /// What an application moves at once.
    pub(crate) piece: Bytes,
    /// A copy that takes longer is terminated and run again; without it, none is.
    pub(crate) abort_after: Option<Duration>,
    /// When a run is given up altogether.
    pub(crate) give_up: Duration,
}

/// Who is there, and what their IP has.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hosts {
    /// Mobile hosts on the air, each with a client that copies.
    pub(crate) mobile: u64,
    /// Hosts on links of their own to the base station, fast ones, each with a client that copies.
    #[serde(default)]
    pub(crate) wired: u64,
    /// Applications begin at a moment of their own within this time, but for the first one, which begins it.
    #[serde(default)]
    pub(crate) within: Duration,
    /// The longest packet, in bytes.
    pub(crate) mtu: Bytes,
    /// For datagrams that are not whole yet.
    pub(crate) reassembly: Room,
}

/// The server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerPlan {
    /// How long calls take.
    pub(crate) service: fileserver::Service,
    /// What the wired network does to calls and replies.
    #[serde(default)]
    pub(crate) faults: fileserver::Faults,
    /// When it hears nothing.
    pub(crate) silence: Option<Silence>,
}

/// When the server hears nothing.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Silence {
    pub(crate) from: Duration,
    pub(crate) lasts: Duration,
}

/// What the policies are made of.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timeouts {
    /// The first wait (Initial), of all policies.
    initial: Duration,
    /// What each linear step adds (c).
    step: Duration,
    /// Timeouts before hybrid linear doubles (a).
    linear_steps: u32,
    /// The longest wait (Max Timeout).
    maximum: Duration,
    /// Timeouts that make a major one, and what that changes: of the exponential policy.
    minor: u32,
    cascade: Cascade,
    /// What is only the adaptive policy's.
    #[serde(default)]
    adaptive: Adaptive,
}

/// When calls are sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Policy {
    /// The unchanged client.
    Exponential,
    /// A constant more each time, for ever.
    Linear,
    /// The papers' mixture of both.
    HybridLinear,
    /// Ours.
    Adaptive,
}

/// Refuses a parameter unless it holds: its key, and what is allowed.
fn within(case: &Case, holds: bool, [key, allowed]: [&str; 2]) -> Result<(), PlanError> {
    let wrong = || case.wrong_parameter(key, format!("allowed: {allowed}"));
    if holds { Ok(()) } else { Err(wrong()) }
}

impl CopyPlan {
    /// Refuses what makes no sense.
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
    /// Refuses what makes no sense.
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
    /// The server of a run.
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
    /// The RPC of a client of this policy.
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

/// What the link layer does about fades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LinkLayer {
    /// Nothing.
    #[default]
    Plain,
    /// Packets are held in the mobile host's driver until the good state returns: the papers' emulation.
    Hold,
    /// Our own link layer repairs.
    Arq,
}

/// A scheme, as the plan's `[schemes.NAME]` states it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scheme {
    /// When calls are sent again.
    pub(crate) policy: Policy,
    /// What the link layer does about fades.
    #[serde(default)]
    pub(crate) link: LinkLayer,
    /// How often our link layer sends a frame, the first time included; without it, until it has arrived.
    pub(crate) tries: Option<u8>,
    /// The driver, or our link layer, tells the client of fades.
    #[serde(default)]
    pub(crate) tells: bool,
}

/// A try of our link layer is the last one, at the latest, when a packet is so old.
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

    /// Our link layer, where the scheme has it. Datagrams want no order, so none waits for another.
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
