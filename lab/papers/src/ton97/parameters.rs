//! What a plan says: the network, the protocols, and the schemes.

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

/// The mobile host's name in draws of chance.
pub(crate) const MOBILE_NAME: &str = "mobile";
/// More than any run needs, and little enough to wait for.
const TRANSFER_MAX: Bytes = Bytes::new(1 << 30);

/// The plan's `[parameters]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    /// What the fixed host sends, or the mobile host, or each of them.
    pub(crate) transfer: Bytes,
    /// Who sends.
    #[serde(default)]
    pub(crate) direction: Direction,
    /// When the state of a run is looked at, in experiments that show it.
    pub(crate) at: Option<Duration>,
    /// When a run is given up.
    pub(crate) give_up: Duration,
    /// Both hosts, and the base station where it ends connections.
    #[serde(default)]
    pub(crate) tcp: tcp::Config,
    /// The base station's agent.
    #[serde(default)]
    pub(crate) snoop: snoop::Config,
    /// The agent's repairs go before what waits for the air; else they join the queue.
    #[serde(default)]
    pub(crate) repairs_ahead: bool,
    /// What joins the connections of SPLIT and MTCP.
    #[serde(default)]
    pub(crate) redirector: redirector::Config,
    /// Both ends of the hop where `base = "mtcp"`; `lean` is for the mobile host's alone.
    #[serde(default)]
    pub(crate) mtcp: mtcp::Config,
    /// The same where `base = "mtcp-wide"`.
    #[serde(default = "mtcp::Config::wide")]
    pub(crate) mtcp_wide: mtcp::Config,
    /// How often the base station's end of that looks whether the air takes one more packet. If it never does, it
    /// hands over its whole window, as in the paper's profile.
    pub(crate) grants: Option<Duration>,
    /// What the mobile host's processor works for, where that is counted.
    #[serde(default)]
    pub(crate) work: Costs,
    /// From the fixed host to the base station.
    pub(crate) wire: Wire,
    /// From the base station to the mobile host.
    pub(crate) air: Air,
    /// What the air loses, in each direction.
    #[serde(default)]
    pub(crate) errors: ErrorConfig,
    /// Two hops, in the experiment that has them.
    pub(crate) two_hops: Option<super::two_hops::Config>,
}

/// Who sends. The fixed host opens the connection in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Direction {
    /// The fixed host.
    #[default]
    Download,
    /// The mobile host.
    Upload,
    /// Both at once, over one connection.
    Both,
}

impl Direction {
    /// Whether the fixed host sends.
    pub(crate) fn is_down(self) -> bool {
        self != Self::Upload
    }

    /// Whether the mobile host sends.
    pub(crate) fn is_up(self) -> bool {
        self != Self::Download
    }
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

    /// The wired network as one link.
    pub(crate) fn wire(&self) -> Result<Line, String> {
        self.wire.line()
    }

    /// The hop, with the losses that `seed` draws.
    pub(crate) fn hop(&self, seed: u64) -> Result<Line, String> {
        let line = self.air.line(&self.errors, seed)?;
        Ok(line.with_corruption_heard())
    }

    /// The TCP of a host, which ticks in its own time.
    pub(crate) fn host(&self, name: &str, policy: Policy, seed: u64) -> tcp::Config {
        let mut config = self.tcp.clone().with_policy(policy);
        config.timing.phase = phase(name, config.timing.tick, seed);
        config
    }

    /// MTCP in the paper's profile or the wide one.
    pub(crate) fn mtcp_of(&self, wide: bool) -> &mtcp::Config {
        if wide { &self.mtcp_wide } else { &self.mtcp }
    }

    /// An end of MTCP, which ticks in its own time.
    pub(crate) fn mtcp(&self, name: &str, wide: bool, seed: u64) -> mtcp::Config {
        let mut config = self.mtcp_of(wide).clone();
        config.timing.phase = phase(name, config.timing.tick, seed);
        config.lean &= name == MOBILE_NAME;
        config
    }
}

/// When a host ticks first.
fn phase(name: &str, tick: Duration, seed: u64) -> Duration {
    let mut chance = RandomStream::named(seed, &format!("ton97/tick/{name}"));
    let last = tick.saturating_sub(Duration::from_nanos(1));
    chance.uniform(Duration::ZERO, last)
}

/// What the base station does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Base {
    /// It forwards.
    #[default]
    Forward,
    /// A snoop agent repairs.
    Snoop,
    /// It ends connections and continues them.
    Split,
    /// Our own link layer repairs, in order for each flow.
    Arq,
    /// It marks acknowledgements that ask for what the air lost, and repairs nothing.
    Mark,
    /// It ends connections and continues them by MTCP, in the paper's profile.
    Mtcp,
    /// The same in the wide profile.
    MtcpWide,
}

impl Base {
    /// Whether the hop carries MTCP, and if so, whether in the wide profile.
    pub(crate) fn mtcp_profile(self) -> Option<bool> {
        match self {
            Self::Mtcp => Some(false),
            Self::MtcpWide => Some(true),
            Self::Forward | Self::Snoop | Self::Split | Self::Arq | Self::Mark => None,
        }
    }
}

/// A scheme, as the plan's `[schemes.NAME]` states it; what it leaves out makes it plain TCP.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scheme {
    /// The fixed host's recovery from losses.
    #[serde(default)]
    pub(crate) sender: Policy,
    /// What the base station does.
    #[serde(default)]
    pub(crate) base: Base,
    /// The agent repairs selectively.
    #[serde(default)]
    pub(crate) smart: bool,
    /// The agent shields the sender.
    #[serde(default)]
    pub(crate) tcp_aware: bool,
    /// The recovery of the hop's connection, where the base station splits.
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

    /// What the base station tells the sender of losses on the air, in a scheme where it does.
    pub(crate) fn explicit_loss(&self) -> ExplicitLoss {
        match self.sender {
            Policy::Eln | Policy::ElnRxmt => ExplicitLoss::Next,
            Policy::SackEln => ExplicitLoss::Ranges,
            Policy::Reno | Policy::NewReno | Policy::Smart | Policy::Sack | Policy::SackNew => {
                ExplicitLoss::Off
            }
        }
    }

    /// The recovery from losses that the mobile host's acknowledgements must serve.
    pub(crate) fn towards_mobile(&self) -> Policy {
        self.hop.unwrap_or(self.sender)
    }
}
