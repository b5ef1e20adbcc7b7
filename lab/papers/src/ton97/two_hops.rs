//! Two hops between radio routers that lose whole packets, and the basis for marks there.

use channel::errors::ErrorConfig;
use channel::{DirectionConfig, QueueBound, Rate};
use experiment::{About, Case, Experiment, Measurements, Metric, PlanError, RunError};
use machine::RandomStream;
use serde::Deserialize;
use simulator::Line;
use tcp::Policy;
use units::{Duration, Instant};

use super::losses::Tally;
use super::network::{SetUp, failed};
use super::parameters::{Base, Direction, Parameters, Scheme};
use super::rival;
use super::tables::about;
use crate::metric;
use network::Hops;

mod network;

const METRICS: &[Metric] = &[
    metric(
        "throughput",
        "Mbit/s",
        "data that arrive at the mobile host's application",
    ),
    metric("timeouts", "", "retransmission timeouts of the fixed host"),
    metric("fast_retransmissions", "", "recoveries of the fixed host"),
    metric(
        "without_reduction",
        "",
        "of those, the ones that marks of air losses let leave the window as it was",
    ),
    metric(
        "congestion_losses",
        "",
        "data packets of the fixed host that a full queue refused and whose data came later (not for ARQ)",
    ),
    metric(
        "marked_by_mistake",
        "",
        "of those, the ones that acknowledgements told of as lost on the air, which never lost the same data",
    ),
    metric(
        "congestion_hidden",
        "",
        "of the refused, the ones that no smaller window answered since their data were first sent",
    ),
    metric(
        "air_losses",
        "",
        "data packets of the fixed host that a hop lost on the air (not told for ARQ)",
    ),
    metric(
        "missed",
        "",
        "of those, the ones that no acknowledgement told of as lost on the air",
    ),
    metric(
        "air_punished",
        "",
        "of those, the ones that a smaller window answered while nothing was missing that a queue had refused",
    ),
    metric(
        "rival_throughput",
        "Mbit/s",
        "data of all rivals in the same time",
    ),
];

/// The plan's `[parameters.two_hops]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Time between two reports of radios on their queue.
    exchange: Duration,
    /// Queue length, in packets, from which a gap counts as congestion.
    threshold: QueueBound,
    /// Number of E2E connections across the second hop.
    rivals: u8,
    /// Error model of the first hop, in each direction.
    #[serde(default)]
    first: ErrorConfig,
    /// Error model of the second hop.
    #[serde(default)]
    second: ErrorConfig,
}

/// Basis of the radios' marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Marking {
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
struct Plan {
    /// The fixed host, the mobile host and the wire.
    ends: SetUp,
    config: Config,
    /// Threshold of congestion in packets.
    threshold: u64,
    marks: Option<Marking>,
}

impl Plan {
    fn read(case: &Case, seed: u64) -> Result<Self, PlanError> {
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
    fn hop(&self, name: &str, errors: &ErrorConfig) -> Result<Line, String> {
        let parameters = Parameters {
            errors: errors.clone(),
            ..self.ends.parameters.clone()
        };
        let mut chance = RandomStream::named(self.ends.seed, &format!("ton97/{name}"));
        parameters.hop(chance.next_u64())
    }

    fn with_losses(&self, measured: Measurements, tally: &Tally) -> Measurements {
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
    fn inside() -> Result<Line, RunError> {
        let queue = QueueBound::Packets(50);
        let each = DirectionConfig::steady(Rate::Unlimited, Duration::ZERO, queue);
        Line::wire(each).map_err(failed)
    }
}

/// The experiment of transfers across two hops.
#[derive(Debug)]
pub(super) struct TwoHops {
    about: About,
}

pub(super) const TWO_HOPS: TwoHops = TwoHops {
    about: About {
        metrics: METRICS,
        ..about(
            [
                "ton97-two-hops",
                "Beyond the paper: two lossy hops, ELN with exchanged queue lengths",
            ],
            concat!(
                include_str!("plans/two-hops.toml"),
                include_str!("plans/parameters.toml")
            ),
        )
    },
};

impl Experiment for TwoHops {
    fn about(&self) -> &About {
        &self.about
    }

    fn check(&self, case: &Case) -> Result<(), PlanError> {
        Plan::read(case, 0).map(drop)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        let plan = Plan::read(case, seed)?;
        let mut hops = Hops::build(&plan)?;
        let moved = hops.finish(&plan)?;
        let seconds = hops.simulation.now().since(Instant::ZERO).as_secs_f64();
        let rate = |bytes: u64| bytes as f64 * 8e-6 / seconds;
        let recovered = rival::endpoint(&hops.simulation, hops.source)?
            .counters()
            .recovered;
        let mut rivals = 0;
        for rival in &hops.rivals {
            rivals += rival::endpoint(&hops.simulation, *rival)?.acknowledged_bytes();
        }
        let measured = Measurements::new()
            .with("throughput", rate(moved))
            .with("timeouts", recovered.timeouts as f64)
            .with(
                "fast_retransmissions",
                recovered.fast_retransmissions as f64,
            )
            .with("without_reduction", recovered.without_reduction as f64)
            .with("rival_throughput", rate(rivals));
        Ok(match plan.ends.scheme.base {
            // Its hops carry frames, and its own queues are before those of the radios.
            Base::Arq => measured,
            _ => plan.with_losses(measured, &hops.losses.tally()),
        })
    }
}
