//! The status as metrics, in the text format of `OpenMetrics` 1.0, which Prometheus reads.
//!
//! Each metric is a row of a table, which also makes the page of the guide. Names follow the conventions of Prometheus:
//! base units, `_total` for counters, and labels for what can be added up.

mod daemon;
mod peer;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use hosts::PeerStatus;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use super::poll::Answer;

pub(super) use peer::word;

/// Media type of the text.
pub(super) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Label with the name of a peer.
const PEER: &str = "peer";

/// Type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A count that only grows, from the start of the daemon or of the peer's section.
    Counter,
    /// A value that rises and falls.
    Gauge,
}

/// A metric with its values in a `T`.
struct Metric<T> {
    /// Complete name, with its unit, and `_total` for a counter.
    name: &'static str,
    /// Meaning, as a noun with its unit; the guide and each answer show it.
    help: &'static str,
    /// Label that distinguishes its values besides the peer, if it has several.
    label: Option<&'static str>,
    /// Adds the values.
    read: fn(&T, &mut Values),
}

impl<T> Metric<T> {
    fn kind(&self) -> Kind {
        if self.name.ends_with("_total") {
            Kind::Counter
        } else {
            Kind::Gauge
        }
    }

    /// Returns the unit that the name says, and the rest of the name without `_total`.
    fn parts(&self) -> (Option<Unit>, &'static str) {
        let name = self.name.strip_suffix("_total").unwrap_or(self.name);
        let unit = |suffix, unit| Some((Some(unit), name.strip_suffix(suffix)?));
        let known = unit("_bytes", Unit::Bytes).or_else(|| unit("_seconds", Unit::Seconds));
        known.unwrap_or((None, name))
    }
}

/// A number of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Whole(u64),
    Real(f64),
}

impl From<u64> for Number {
    fn from(count: u64) -> Self {
        Self::Whole(count)
    }
}

impl From<usize> for Number {
    fn from(count: usize) -> Self {
        Self::Whole(count as u64)
    }
}

impl From<bool> for Number {
    fn from(is_so: bool) -> Self {
        Self::Whole(is_so.into())
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<units::Bytes> for Number {
    fn from(bytes: units::Bytes) -> Self {
        Self::Whole(bytes.get())
    }
}

impl From<units::Duration> for Number {
    fn from(span: units::Duration) -> Self {
        Self::Real(span.as_secs_f64())
    }
}

/// One value of a metric.
#[derive(Debug, Clone, PartialEq)]
struct Sample {
    /// Value of the metric's label.
    label: Option<String>,
    number: Number,
}

/// The values of a metric in one place.
#[derive(Debug, Default)]
struct Values(Vec<Sample>);

impl Values {
    /// Adds the only value.
    fn add(&mut self, number: impl Into<Number>) {
        self.0.push(Sample {
            label: None,
            number: number.into(),
        });
    }

    /// Adds the only value, if it is known.
    fn add_known(&mut self, number: Option<impl Into<Number>>) {
        if let Some(number) = number {
            self.add(number);
        }
    }

    /// Adds one of several values.
    fn add_for(&mut self, label: impl Into<String>, number: impl Into<Number>) {
        self.0.push(Sample {
            label: Some(label.into()),
            number: number.into(),
        });
    }
}

/// Returns the metrics of an answer, as text.
pub(super) fn text(answer: &Arc<Answer>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Metrics(Arc::clone(answer))));
    let mut text = String::new();
    encode(&mut text, &registry).expect("a string takes all text");
    // It grew by doubling, and may wait for a slow reader.
    text.shrink_to_fit();
    text
}

/// The metrics of one answer of the daemon.
#[derive(Debug)]
struct Metrics(Arc<Answer>);

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let answer = &*self.0;
        for metric in daemon::ABOUT_THE_ANSWER {
            describe(&mut encoder, metric, |samples| {
                each(metric, answer, None, samples)
            })?;
        }
        // Old values would look like present ones.
        let Some(status) = answer.status() else {
            return Ok(());
        };
        info(&mut encoder, status)?;
        for metric in daemon::metrics() {
            describe(&mut encoder, metric, |samples| {
                each(metric, status, None, samples)
            })?;
        }
        for metric in peer::metrics() {
            describe(&mut encoder, metric, |samples| {
                let each_peer = |peer: &PeerStatus| each(metric, peer, Some(&peer.name), samples);
                status.host.peers.iter().try_for_each(each_peer)
            })?;
        }
        Ok(())
    }
}

/// Writes what a metric is, and then its samples.
fn describe<T>(
    encoder: &mut DescriptorEncoder<'_>,
    metric: &Metric<T>,
    samples: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result {
    let (unit, name) = metric.parts();
    let kind = match metric.kind() {
        Kind::Counter => MetricType::Counter,
        Kind::Gauge => MetricType::Gauge,
    };
    samples(&mut encoder.encode_descriptor(name, metric.help, unit.as_ref(), kind)?)
}

/// Writes the samples of `source`.
fn each<T>(
    metric: &Metric<T>,
    source: &T,
    peer: Option<&str>,
    encoder: &mut MetricEncoder<'_>,
) -> fmt::Result {
    let mut values = Values::default();
    (metric.read)(source, &mut values);
    for Sample { label, number } in &values.0 {
        let own = metric.label.zip(label.as_deref());
        let labels: Vec<_> = peer
            .map(|name| (PEER, name))
            .into_iter()
            .chain(own)
            .collect();
        let one = &mut |encoder: &mut MetricEncoder<'_>| match (metric.kind(), *number) {
            (Kind::Counter, Number::Whole(count)) => {
                encoder.encode_counter::<NoLabelSet, _, u64>(&count, None)
            }
            (Kind::Counter, Number::Real(value)) => {
                encoder.encode_counter::<NoLabelSet, _, u64>(&value, None)
            }
            (Kind::Gauge, Number::Whole(count)) => encoder.encode_gauge(&count),
            (Kind::Gauge, Number::Real(value)) => encoder.encode_gauge(&value),
        };
        if labels.is_empty() {
            one(encoder)?;
        } else {
            one(&mut encoder.encode_family(&labels.as_slice())?)?;
        }
    }
    Ok(())
}

/// Writes version, role and key of the daemon.
fn info(encoder: &mut DescriptorEncoder<'_>, status: &runtime::Status) -> fmt::Result {
    let role = crate::status::role(status.host.role);
    let labels = [
        ("version", status.version.as_str()),
        ("role", role),
        ("public_key", status.host.public_key.as_str()),
    ];
    // Not the type "info": programs that read only the format of Prometheus refuse it.
    encoder
        .encode_descriptor(daemon::INFO, daemon::INFO_HELP, None, MetricType::Gauge)?
        .encode_family(&labels)?
        .encode_gauge(&1_u64)
}
