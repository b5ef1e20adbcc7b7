//! `channel-errors`: the losses of an error model, measured and by theory. Also the smallest whole experiment: a
//! template for a new one.

use channel::errors::ErrorConfig;
use channel::{
    Channel, Direction, DirectionConfig, Input, Link, LinkConfig, Output, QueueBound, Rate,
};
use machine::Machine;
use serde::Deserialize;
use units::{BitRate, Bytes, Duration, Instant};

use crate::about::{About, Metric};
use crate::claim::{Claim, Verdict};
use crate::experiment::{Experiment, RunError};
use crate::measurements::Measurements;
use crate::plan::{Case, PlanError};
use crate::table::Table;
use crate::table::Unknown;

/// Upper limit of packets per run; more are not needed for an exact result.
const MOST_PACKETS: u64 = 10_000_000;

/// The experiments of the group `channel`.
pub const EXPERIMENTS: &[&dyn Experiment] = &[&ChannelErrors];

/// A stream of equal packets, back to back, across a channel with an error model.
#[derive(Debug)]
pub struct ChannelErrors;

const ABOUT: About = About {
    name: "channel-errors",
    group: "channel",
    title: "How many packets an error model loses, and how many in a row",
    source: "the error models of sim/channel, and what their definitions make one expect",
    plan: include_str!("plan.toml"),
    metrics: &[
        Metric {
            name: "loss",
            unit: "%",
            description: "packets that do not arrive, of those sent",
        },
        Metric {
            name: "burst",
            unit: "packets",
            description: "mean number of packets lost in a row",
        },
    ],
    published: "",
    calibration: &[],
    deviations: "",
};

/// The `[parameters]` of the plan.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Number of packets sent.
    packets: u64,
    /// Size of each packet.
    size: Bytes,
    /// Rate of the channel.
    rate: BitRate,
}

impl Experiment for ChannelErrors {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn check(&self, case: &Case) -> Result<(), PlanError> {
        let parameters: Parameters = case.parameters()?;
        if !(1..=MOST_PACKETS).contains(&parameters.packets) {
            let allowed = format!("allowed: 1 to {MOST_PACKETS}");
            return Err(case.wrong_parameter("packets", allowed));
        }
        if !(1..=65_536).contains(&parameters.size.get()) {
            return Err(case.wrong_parameter("size", "allowed: 1 B to 64 KiB"));
        }
        if parameters.rate == BitRate::default() {
            return Err(case.wrong_parameter("rate", "a rate of zero carries nothing"));
        }
        link(case, &parameters).map(drop)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        let parameters: Parameters = case.parameters()?;
        let lost = send(&parameters, Channel::new(&link(case, &parameters)?, seed));
        let losses = lost.iter().filter(|lost| **lost).count() as f64;
        let bursts = lost.chunk_by(|one, next| one == next);
        let bursts = bursts.filter(|equal| equal[0]).count() as f64;
        Ok(Measurements::new()
            .with("loss", 100.0 * losses / lost.len() as f64)
            .with_some("burst", (bursts > 0.0).then(|| losses / bursts)))
    }

    fn claims(&self) -> Vec<Claim> {
        vec![
            Claim {
                name: "loss",
                text: "As many packets are lost as the parameters make one expect (to 1 % and twice the 95 % \
                    interval)",
                source: "the definitions of the models",
                judge: |table| {
                    judge(table, "loss", |model, size| {
                        expected_loss(model, size).map(|share| 100.0 * share)
                    })
                },
            },
            Claim {
                name: "burst",
                text: "As many packets in a row are lost as the parameters make one expect (to 1 % and twice \
                    the 95 % interval)",
                source: "the definitions of the models",
                judge: |table| judge(table, "burst", expected_burst),
            },
        ]
    }
}

/// Returns a verdict that holds if measurement and theory agree in every case that has a theory.
fn judge(
    table: &Table,
    metric: &str,
    theory: impl Fn(&ErrorConfig, Bytes) -> Option<f64>,
) -> Result<Verdict, Unknown> {
    let (mut holds, mut numbers) = (true, Vec::new());
    for (number, case) in table.cases().iter().enumerate() {
        let unknown = |error: PlanError| Unknown::new(error.to_string());
        let parameters: Parameters = case.parameters().map_err(unknown)?;
        let model = case.scheme().map_err(unknown)?;
        let (Some(theory), Some(measured)) = (
            theory(&model, parameters.size),
            table.summary_of(number, metric)?,
        ) else {
            continue;
        };
        let interval = measured.ci95.unwrap_or(f64::INFINITY);
        holds &= (measured.mean - theory).abs() <= 2.0 * interval + 0.01 * theory;
        numbers.push(format!(
            "{}: {:.3} for {theory:.3}",
            case.describe(),
            measured.mean
        ));
    }
    if numbers.is_empty() {
        return Err(Unknown::new("a model with a short formula"));
    }
    Ok(Verdict::of(holds, numbers.join("; ")))
}

/// Returns the link of a case, with the scheme's errors in both directions.
fn link(case: &Case, parameters: &Parameters) -> Result<Link, PlanError> {
    let rate = Rate::Limited(parameters.rate);
    let queue = QueueBound::Packets(1);
    let config = LinkConfig {
        each: Some(DirectionConfig::steady(rate, Duration::ZERO, queue)),
        errors: Some(case.scheme()?),
        ..LinkConfig::default()
    };
    let read = |_: &str| Err("this experiment reads no further file".into());
    Link::from_config(config, case.scheme_name(), &read)
        .map_err(|error| case.wrong_scheme("", error))
}

/// Sends each packet when the one before it has left; returns for each packet if it was lost.
fn send(parameters: &Parameters, mut channel: Channel<()>) -> Vec<bool> {
    let (direction, size) = (Direction::Down, parameters.size);
    let mut now = Instant::ZERO;
    let mut lost = Vec::with_capacity(parameters.packets as usize);
    for _ in 0..parameters.packets {
        let input = Input::Send {
            direction,
            size,
            payload: (),
        };
        channel.handle_input(now, input);
        while let Some(due) = channel.poll_timeout() {
            now = due;
            channel.handle_timeout(now);
            while let Some(output) = channel.poll_output() {
                lost.push(matches!(output, Output::Drop { .. }));
            }
        }
    }
    lost
}

/// Returns the share of packets that a model loses, where a short formula exists.
fn expected_loss(model: &ErrorConfig, size: Bytes) -> Option<f64> {
    let size = size.get() as f64;
    match model {
        ErrorConfig::None(_) => Some(0.0),
        ErrorConfig::Independent(config) => Some(config.p.as_f64()),
        ErrorConfig::Distance(config) => Some(1.0 - (-size / config.mean.get() as f64).exp()),
        ErrorConfig::Burst(config) => {
            let begins = 1.0 - (-size / config.spacing.get() as f64).exp();
            // A cycle is a burst and the packets up to the next one, on average (1 - begins) / begins of them.
            let packets = config.packets as f64;
            Some(packets / (packets + (1.0 - begins) / begins))
        }
        ErrorConfig::Temporal(_) | ErrorConfig::Markov(_) | ErrorConfig::Replay(_) => None,
    }
}

/// Returns the mean number of packets that a model loses in a row, where a short formula exists: after each lost
/// packet, the row ends with the probability that the next one gets through.
fn expected_burst(model: &ErrorConfig, size: Bytes) -> Option<f64> {
    let goes_on = match model {
        ErrorConfig::Independent(_) | ErrorConfig::Distance(_) => expected_loss(model, size)?,
        ErrorConfig::Burst(config) => {
            let begins = 1.0 - (-(size.get() as f64) / config.spacing.get() as f64).exp();
            return Some(config.packets as f64 / (1.0 - begins));
        }
        _ => return None,
    };
    Some(1.0 / (1.0 - goes_on))
}
