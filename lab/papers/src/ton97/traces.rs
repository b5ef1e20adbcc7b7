//! The experiments that show a run over time: windows and sequence numbers.

use experiment::{About, Case, Experiment, Measurements, Metric, PlanError, RunError};
use tcp::Endpoint;

use super::about::about;
use super::base::Work;
use super::tables::set_up;
use crate::moment::moment;

const WINDOWS: &[Metric] = &[
    Metric {
        name: "window",
        unit: "bytes",
        description: "congestion window of the fixed host",
    },
    Metric {
        name: "hop_window",
        unit: "bytes",
        description: "congestion window of the base station's connection across the hop",
    },
];

const SEQUENCES: &[Metric] = &[
    Metric {
        name: "sequence",
        unit: "bytes",
        description: "what the fixed host has had acknowledged",
    },
    Metric {
        name: "fast_retransmissions",
        unit: "",
        description: "recoveries that acknowledgements brought about at the fixed host, so far",
    },
    Metric {
        name: "timeouts",
        unit: "",
        description: "retransmission timeouts of the fixed host, so far",
    },
    Metric {
        name: "hop_sequence",
        unit: "bytes",
        description: "what the base station's connection across the hop has had acknowledged",
    },
    Metric {
        name: "hop_retransmissions",
        unit: "",
        description: "segments that the base station sent again, so far",
    },
];

/// The plan of a run over time.
macro_rules! over_time {
    ($name:literal, $title:literal, $metrics:expr, $plan:literal) => {
        OverTime {
            about: About {
                metrics: $metrics,
                ..about(
                    [$name, $title],
                    concat!(
                        "[experiment]\nname = \"",
                        $name,
                        "\"\nseeds = 1\n",
                        include_str!(concat!("plans/", $plan, ".toml")),
                        include_str!("plans/moments.toml"),
                        include_str!("plans/parameters.toml")
                    ),
                )
            },
        }
    };
}

pub(super) const FIGURE_4: OverTime = over_time!(
    "ton97-fig4",
    "Figure 4: congestion window, LL and LL-TCP-AWARE, wide area",
    WINDOWS,
    "watch-link-layer"
);
pub(super) const FIGURE_5: OverTime = over_time!(
    "ton97-fig5",
    "Figure 5: sequence numbers, LL and LL-TCP-AWARE, wide area",
    SEQUENCES,
    "watch-link-layer"
);
pub(super) const FIGURE_7: OverTime = over_time!(
    "ton97-fig7",
    "Figure 7: sequence numbers, E2E and E2E-ELN, wide area",
    SEQUENCES,
    "watch-end-to-end"
);
pub(super) const FIGURE_8: OverTime = over_time!(
    "ton97-fig8",
    "Figure 8: congestion window, E2E and E2E-ELN, wide area",
    WINDOWS,
    "watch-end-to-end"
);
pub(super) const FIGURE_10: OverTime = over_time!(
    "ton97-fig10",
    "Figure 10: sequence numbers of both connections, SPLIT, local area",
    SEQUENCES,
    "watch-split"
);
pub(super) const FIGURE_11: OverTime = over_time!(
    "ton97-fig11",
    "Figure 11: congestion windows of both connections, SPLIT, local area",
    WINDOWS,
    "watch-split"
);

/// An experiment that shows a run at moments.
#[derive(Debug)]
pub(super) struct OverTime {
    about: About,
}

impl Experiment for OverTime {
    fn about(&self) -> &About {
        &self.about
    }

    fn check(&self, case: &Case) -> Result<(), PlanError> {
        moment(case, set_up(case, 0)?.parameters.at).map(drop)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        let set_up = set_up(case, seed)?;
        let network = set_up.at(moment(case, set_up.parameters.at)?)?;
        let (source, station, _) = network.nodes()?;
        Ok(self.look(source.endpoint(), station.work()))
    }
}

impl OverTime {
    fn look(&self, source: &Endpoint, work: &Work) -> Measurements {
        let (hop, repairs) = match work {
            Work::Split(split) => {
                let again = split.hop().counts().again;
                (split.hop().tcp(), Some(again))
            }
            Work::Snoop(agent) => (None, Some(agent.counters().repairs)),
            Work::Forward | Work::Arq(_) => (None, None),
        };
        let counters = source.counters().recovered;
        let values = [
            ("window", Some(source.congestion_window())),
            ("hop_window", hop.map(Endpoint::congestion_window)),
            ("sequence", Some(source.acknowledged_bytes())),
            ("fast_retransmissions", Some(counters.fast_retransmissions)),
            ("timeouts", Some(counters.timeouts)),
            ("hop_sequence", hop.map(Endpoint::acknowledged_bytes)),
            ("hop_retransmissions", repairs),
        ];
        let wanted = |name| self.about.metrics.iter().any(|metric| metric.name == name);
        let values = values.into_iter().filter(|(name, _)| wanted(*name));
        values.fold(Measurements::new(), |measured, (name, value)| {
            measured.with_some(name, value.map(|value| value as f64))
        })
    }
}
