//! The parameters of a plan: the network, the protocols, and the schemes.

use channel::QueueBound;
use channel::errors::ErrorConfig;
use experiment::{Case, PlanError};
use machine::RandomStream;
use serde::Deserialize;
use simulator::Line;
use snoop::ExplicitLoss;
use tcp::Policy;
use units::{Bytes, Duration};

use crate::host_work::Costs;
use crate::links::{Air, Wire};

/// Name of the mobile host in random streams.
pub(crate) const MOBILE_NAME: &str = "mobile";
/// Upper limit of a transfer; more than any run needs, and still short enough to wait for.
const TRANSFER_MAX: Bytes = Bytes::new(1 << 30);

/// The `[parameters]` of the plan.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    /// Bytes that each sender transfers.
    pub(crate) transfer: Bytes,
    /// Direction of the transfer.
    #[serde(default)]
    pub(crate) direction: Direction,
    /// Time at which the state of a run is observed, in experiments that show it.
    pub(crate) at: Option<Duration>,
    /// Time limit of a run.
    pub(crate) give_up: Duration,
    /// TCP of both hosts, and of the base station if it splits connections.
    #[serde(default)]
    pub(crate) tcp: tcp::Config,
    /// The base station's agent.
    #[serde(default)]
    pub(crate) snoop: snoop::Config,
    /// True if the retransmissions of the agent overtake the packets that wait for the air; else they join the queue.
    #[serde(default)]
    pub(crate) repairs_ahead: bool,
    /// The buffer between the connections of SPLIT and MTCP.
    #[serde(default)]
    pub(crate) redirector: redirector::Config,
    /// Both ends of the hop with `base = "mtcp"`; `lean` applies only to the mobile host.
    #[serde(default)]
    pub(crate) mtcp: mtcp::Config,
    /// Both ends of the hop with `base = "mtcp-wide"`.
    #[serde(default = "mtcp::Config::wide")]
    pub(crate) mtcp_wide: mtcp::Config,
    /// Interval at which the base station's end of that checks whether the air has room for one more packet. Without
    /// it, the end sends its whole window at once, as in the paper's profile.
    pub(crate) grants: Option<Duration>,
    /// Costs of the mobile host's processor, if its work is counted.
    #[serde(default)]
    pub(crate) work: Costs,
    /// The wire from the fixed host to the base station.
    pub(crate) wire: Wire,
    /// The air from the base station to the mobile host.
    pub(crate) air: Air,
    /// Error model of the air, in each direction.
    #[serde(default)]
    pub(crate) errors: ErrorConfig,
    /// Two hops, in the experiment that has them.
    pub(crate) two_hops: Option<TwoHopsConfig>,
}

/// Direction of a transfer. The fixed host opens the connection in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Direction {
    /// The fixed host sends.
    #[default]
    Download,
    /// The mobile host sends.
    Upload,
    /// Both send at once, over one connection.
    Both,
}

impl Direction {
    /// Returns true if the fixed host sends.
    pub(crate) fn is_down(self) -> bool {
        self != Self::Upload
    }

    /// Returns true if the mobile host sends.
    pub(crate) fn is_up(self) -> bool {
        self != Self::Download
    }
}

/// The plan's `[parameters.two_hops]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TwoHopsConfig {
    /// Time between two reports of radios on their queue.
    pub(super) exchange: Duration,
    /// Queue length, in packets, from which a gap counts as congestion.
    pub(super) threshold: QueueBound,
    /// Number of E2E connections across the second hop.
    pub(super) rivals: u8,
    /// Error model of the first hop, in each direction.
    #[serde(default)]
    pub(super) first: ErrorConfig,
    /// Error model of the second hop.
    #[serde(default)]
    pub(super) second: ErrorConfig,
}

impl Parameters {
    /// Reads and checks the parameters of a case.
    pub(crate) fn read(case: &Case) -> Result<Self, PlanError> {
        let parameters: Self = case.parameters()?;
        if !(Bytes::new(1)..=TRANSFER_MAX).contains(&parameters.transfer) {
            return Err(case.wrong_parameter("transfer", "allowed: 1 B to 1 GiB"));
        }
        let tcp = &parameters.tcp;
        tcp.check()
            .map_err(|error| case.wrong_parameter("tcp", error))?;
        if tcp.recovery.policy != Policy::default() {
            let what = "the scheme says it, as `sender` or `hop`; leave it out here";
            return Err(case.wrong_parameter("tcp.recovery.policy", what));
        }
        parameters
            .snoop
            .check()
            .map_err(|error| case.wrong_parameter("snoop", error))?;
        if parameters.grants.is_some_and(Duration::is_zero) {
            return Err(case.wrong_parameter("grants", "must be more than 0 s"));
        }
        for (key, mtcp) in [
            ("mtcp", &parameters.mtcp),
            ("mtcp_wide", &parameters.mtcp_wide),
        ] {
            mtcp.check()
                .map_err(|error| case.wrong_parameter(key, error))?;
        }
        parameters
            .wire()
            .map_err(|error| case.wrong_parameter("wire", error))?;
        parameters
            .hop(0)
            .map_err(|error| case.wrong_parameter("air", error))?;
        Ok(parameters)
    }

    /// Returns the wired network as one link.
    pub(crate) fn wire(&self) -> Result<Line, String> {
        self.wire.line()
    }

    /// Returns the hop, with losses from the random stream of `seed`.
    pub(crate) fn hop(&self, seed: u64) -> Result<Line, String> {
        let line = self.air.line(&self.errors, seed)?;
        Ok(line.with_corruption_heard())
    }

    /// Returns the TCP of a host, whose timer ticks have their own phase.
    pub(crate) fn host(&self, name: &str, policy: Policy, seed: u64) -> tcp::Config {
        let mut config = self.tcp.clone().with_policy(policy);
        config.timing.phase = phase(name, config.timing.tick, seed);
        config
    }

    /// Returns MTCP in the paper's profile or the wide one.
    pub(crate) fn mtcp_of(&self, wide: bool) -> &mtcp::Config {
        if wide { &self.mtcp_wide } else { &self.mtcp }
    }

    /// Returns an end of MTCP, whose timer ticks have their own phase.
    pub(crate) fn mtcp(&self, name: &str, wide: bool, seed: u64) -> mtcp::Config {
        let mut config = self.mtcp_of(wide).clone();
        config.timing.phase = phase(name, config.timing.tick, seed);
        config.lean &= name == MOBILE_NAME;
        config
    }
}

/// Returns the time of a host's first tick.
fn phase(name: &str, tick: Duration, seed: u64) -> Duration {
    let mut chance = RandomStream::named(seed, &format!("ton97/tick/{name}"));
    let last = tick.saturating_sub(Duration::from_nanos(1));
    chance.uniform(Duration::ZERO, last)
}

/// The work of the base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Base {
    /// It only forwards.
    #[default]
    Forward,
    /// A snoop agent retransmits.
    Snoop,
    /// It splits connections.
    Split,
    /// Our own link layer retransmits, in order for each flow.
    Arq,
    /// It marks acknowledgements of data before a loss on the air, and retransmits nothing.
    Mark,
    /// It splits connections, with MTCP on the hop, in the paper's profile.
    Mtcp,
    /// It splits connections, with MTCP on the hop, in the wide profile.
    MtcpWide,
}

impl Base {
    /// Returns true for the wide profile of MTCP, false for the paper's, and `None` if the hop does not carry MTCP.
    pub(crate) fn mtcp_profile(self) -> Option<bool> {
        match self {
            Self::Mtcp => Some(false),
            Self::MtcpWide => Some(true),
            Self::Forward | Self::Snoop | Self::Split | Self::Arq | Self::Mark => None,
        }
    }
}

/// A scheme, from the plan's `[schemes.NAME]`; the default of every key is that of plain TCP.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scheme {
    /// The fixed host's loss recovery.
    #[serde(default)]
    pub(crate) sender: Policy,
    /// The work of the base station.
    #[serde(default)]
    pub(crate) base: Base,
    /// True if the agent retransmits selectively.
    #[serde(default)]
    pub(crate) smart: bool,
    /// True if the agent shields the sender.
    #[serde(default)]
    pub(crate) tcp_aware: bool,
    /// The loss recovery of the hop's connection, if the base station splits.
    pub(crate) hop: Option<Policy>,
}

impl Scheme {
    /// Reads and checks the scheme of a case.
    pub(crate) fn read(case: &Case) -> Result<Self, PlanError> {
        let scheme: Self = case.scheme()?;
        let only_snoop = "only an agent can be that: allowed with base = \"snoop\"";
        let deaf = scheme.explicit_loss() == ExplicitLoss::Off;
        let rules = [
            (
                "base",
                scheme.base == Base::Mark && deaf,
                "\"mark\" is for senders that understand marks: \"eln\", \"eln-rxmt\" or \"sack-eln\"",
            ),
            (
                "smart",
                scheme.smart && scheme.base != Base::Snoop,
                only_snoop,
            ),
            (
                "tcp_aware",
                scheme.tcp_aware && scheme.base != Base::Snoop,
                only_snoop,
            ),
            (
                "hop",
                scheme.hop.is_some() != (scheme.base == Base::Split),
                "the recovery on the hop (such as \"reno\" or \"smart\") is for base = \"split\", which needs it",
            ),
        ];
        let broken = rules.iter().find(|(_, broken, _)| *broken);
        broken.map_or(Ok(()), |(key, _, what)| Err(case.wrong_scheme(key, what)))?;
        Ok(scheme)
    }

    /// Returns the marks by which the base station reports losses on the air to the sender, if the scheme has them.
    pub(crate) fn explicit_loss(&self) -> ExplicitLoss {
        match self.sender {
            Policy::Eln | Policy::ElnRxmt => ExplicitLoss::Next,
            Policy::SackEln => ExplicitLoss::Ranges,
            Policy::Reno | Policy::NewReno | Policy::Smart | Policy::Sack | Policy::SackNew => {
                ExplicitLoss::Off
            }
        }
    }

    /// Returns the loss recovery that the mobile host's acknowledgements must support.
    pub(crate) fn towards_mobile(&self) -> Policy {
        self.hop.unwrap_or(self.sender)
    }
}
