//! The plan of two hops: its schemes, and the basis for marks there.

use channel::errors::ErrorConfig;
use channel::{DirectionConfig, QueueBound, Rate};
use experiment::{Case, Measurements, PlanError, RunError};
use machine::RandomStream;
use serde::Deserialize;
use simulator::Line;
use tcp::Policy;
use units::Duration;

use super::super::losses::Tally;
use super::super::network::SetUp;
use super::super::parameters::{Base, Direction, Parameters, Scheme, TwoHopsConfig};
use crate::failed;

/// Basis of the radios' marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Marking {
    /// The truth, as if the headers of corrupted packets could be read.
    Heard,
    /// The neighbours' reports on their queues.
    Exchanged,
    /// None: every gap is marked.
    All,
}

/// A scheme, from the plan's `[schemes.NAME]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct HopScheme {
    /// The fixed host's loss recovery.
    #[serde(default)]
    sender: Policy,
    /// The repair on each hop.
    #[serde(default)]
    base: Base,
    /// True if the agents shield the sender.
    #[serde(default)]
    tcp_aware: bool,
    /// Basis of the marks to which the sender reacts.
    marks: Option<Marking>,
}

impl HopScheme {
    fn read(case: &Case) -> Result<Self, PlanError> {
        let scheme: Self = case.scheme()?;
        let heeds = matches!(
            scheme.sender,
            Policy::Eln | Policy::ElnRxmt | Policy::SackEln
        );
        let rules = [
            (
                "base",
                scheme.base == Base::Split || scheme.base.mtcp_profile().is_some(),
                "allowed here: \"forward\", \"snoop\", \"arq\"",
            ),
            (
                "tcp_aware",
                scheme.tcp_aware && scheme.base != Base::Snoop,
                "only an agent can be that: allowed with base = \"snoop\"",
            ),
            (
                "marks",
                scheme.marks.is_some() != heeds,
                "\"heard\", \"exchanged\" or \"all\" is for \"eln\", \"eln-rxmt\" and \"sack-eln\", which need it",
            ),
            (
                "marks",
                scheme.marks.is_some() && scheme.base != Base::Forward,
                "radios that mark do not repair: allowed with base = \"forward\"",
            ),
        ];
        let broken = rules.iter().find(|(_, broken, _)| *broken);
        broken.map_or(Ok(()), |(key, _, what)| Err(case.wrong_scheme(key, what)))?;
        Ok(scheme)
    }
}

/// A case with its seed, ready to be built.
pub(super) struct Plan {
    /// The fixed host, the mobile host and the wire.
    pub(super) ends: SetUp,
    pub(super) config: TwoHopsConfig,
    /// Threshold of congestion in packets.
    pub(super) threshold: u64,
    pub(super) marks: Option<Marking>,
}

impl Plan {
    pub(super) fn read(case: &Case, seed: u64) -> Result<Self, PlanError> {
        let parameters = Parameters::read(case)?;
        let Some(config) = parameters.two_hops.clone() else {
            return Err(case.wrong_parameter("two_hops", "this table is missing"));
        };
        let (QueueBound::Packets(threshold), QueueBound::Packets(queue)) =
            (config.threshold, parameters.air.queue())
        else {
            let what =
                "radios count packets: give this and `air.queue` as such, such as \"12 packets\"";
            return Err(case.wrong_parameter("two_hops.threshold", what));
        };
        let exchange = Duration::from_millis(1)..=Duration::from_secs(60);
        let rules = [
            (
                "two_hops.threshold",
                (1..=queue).contains(&threshold),
                "allowed: 1 packet up to `air.queue`",
            ),
            (
                "two_hops.exchange",
                exchange.contains(&config.exchange),
                "allowed: 1 ms to 60 s",
            ),
            ("two_hops.rivals", config.rivals <= 8, "allowed: 0 to 8"),
            (
                "direction",
                parameters.direction == Direction::Download,
                "this experiment only downloads",
            ),
            (
                "errors",
                parameters.errors == ErrorConfig::default(),
                "the hops have errors of their own: `two_hops.first` and `two_hops.second`",
            ),
        ];
        let broken = rules.iter().find(|(_, holds, _)| !holds);
        broken.map_or(
            Ok(()),
            |(key, _, what)| Err(case.wrong_parameter(key, what)),
        )?;
        let scheme = HopScheme::read(case)?;
        let plan = Self {
            ends: SetUp {
                parameters,
                scheme: Scheme {
                    sender: scheme.sender,
                    base: scheme.base,
                    smart: false,
                    tcp_aware: scheme.tcp_aware,
                    hop: None,
                },
                seed,
            },
            config,
            threshold,
            marks: scheme.marks,
        };
        for (key, errors) in [
            ("two_hops.first", &plan.config.first),
            ("two_hops.second", &plan.config.second),
        ] {
            plan.hop(key, errors)
                .map_err(|error| case.wrong_parameter(key, error))?;
        }
        Ok(plan)
    }

    /// Returns a hop, with losses from the random stream of seed and name: the same in every scheme, but not on the
    /// other hop.
    pub(super) fn hop(&self, name: &str, errors: &ErrorConfig) -> Result<Line, String> {
        let parameters = Parameters {
            errors: errors.clone(),
            ..self.ends.parameters.clone()
        };
        let mut chance = RandomStream::named(self.ends.seed, &format!("ton97/{name}"));
        parameters.hop(chance.next_u64())
    }

    pub(super) fn with_losses(&self, measured: Measurements, tally: &Tally) -> Measurements {
        let of_marks = |count: u64| self.marks.map(|_| count as f64);
        measured
            .with("congestion_losses", tally.refused as f64)
            .with_some("marked_by_mistake", of_marks(tally.mistaken))
            .with("congestion_hidden", tally.hidden as f64)
            .with("air_losses", tally.corrupted as f64)
            .with_some("missed", of_marks(tally.unmarked))
            .with("air_punished", tally.punished as f64)
    }

    /// Returns the link between the parts of a router.
    pub(super) fn inside() -> Result<Line, RunError> {
        let queue = QueueBound::Packets(50);
        let each = DirectionConfig::steady(Rate::Unlimited, Duration::ZERO, queue);
        Line::wire(each).map_err(failed)
    }
}
