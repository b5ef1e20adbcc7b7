//! What etcd answers, as JSON.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// What each answer begins with.
#[derive(Deserialize)]
pub(super) struct Header {
    #[serde(default, deserialize_with = "number")]
    pub(super) cluster_id: u64,
    #[serde(default, deserialize_with = "number")]
    pub(super) revision: i64,
}

/// A key and its value, in base64.
#[derive(Deserialize)]
pub(super) struct Pair {
    pub(super) key: String,
    #[serde(default)]
    pub(super) value: String,
    #[serde(default, deserialize_with = "number")]
    pub(super) mod_revision: i64,
}

/// The keys of a range.
#[derive(Default, Deserialize)]
pub(super) struct Range {
    #[serde(default)]
    pub(super) kvs: Vec<Pair>,
    #[serde(default, deserialize_with = "number")]
    pub(super) count: usize,
    #[serde(default)]
    pub(super) more: bool,
}

/// The answer to a transaction.
#[derive(Deserialize)]
pub(super) struct Transaction {
    pub(super) header: Header,
    #[serde(default)]
    pub(super) succeeded: bool,
    #[serde(default)]
    pub(super) responses: Vec<Answer>,
}

/// Answer to a part of a transaction.
#[derive(Deserialize)]
pub(super) struct Answer {
    #[serde(default)]
    pub(super) response_range: Range,
}

/// The answer to a password.
#[derive(Deserialize)]
pub(super) struct Authenticated {
    pub(super) token: String,
}

/// An error, with its code in gRPC.
#[derive(Deserialize)]
pub(super) struct Refusal {
    pub(super) error: String,
    #[serde(default)]
    pub(super) code: u32,
}

/// A line of a watch.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Watched {
    Result(News),
    Error { message: String },
}

/// Changes that a watch has seen.
#[derive(Deserialize)]
pub(super) struct News {
    pub(super) header: Header,
    #[serde(default)]
    pub(super) events: Vec<Value>,
    #[serde(default)]
    pub(super) canceled: bool,
}

/// Reads a number that JSON has as text, since it may be larger than those of JavaScript.
fn number<'de, D: Deserializer<'de>, N: std::str::FromStr>(input: D) -> Result<N, D::Error> {
    let text = String::deserialize(input)?;
    let wrong = |_| serde::de::Error::custom(format!("'{text}' is no number"));
    text.parse().map_err(wrong)
}
