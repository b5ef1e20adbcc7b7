//! The replies of a mount's process on its control socket.

use serde::{Deserialize, Serialize};

/// Status of a mount. A reader of another version ignores unknown fields; a missing field is an error, unless the field
/// is optional.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Status {
    /// URL of the mounted directory.
    pub(super) source: String,
    /// Mount point.
    pub(super) point: String,
    /// Process id of its process.
    pub(super) process: u32,
    /// Time since it was mounted, in seconds.
    pub(super) uptime_s: f64,
    /// The connection to the server.
    #[serde(flatten)]
    pub(super) connection: runtime::files::Status,
    /// Number of the kernel's requests in progress.
    pub(super) requests: usize,
    /// Time since the oldest of them came, in seconds.
    pub(super) oldest_request_s: Option<f64>,
    /// Number of files that are open.
    pub(super) open_files: usize,
    /// Number of files that the kernel remembers.
    pub(super) nodes: usize,
    /// Path of the log, or its other destination.
    pub(super) log: String,
}

/// Reply to every query except the one for the status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Outcome {
    /// It failed.
    Failed {
        /// The reason.
        error: String,
    },
    /// It is unmounted, and something is lost.
    Discarded {
        /// Description of the loss.
        lost: String,
    },
    /// It is unmounted here.
    Elsewhere {
        /// True if other mount namespaces still have it.
        elsewhere: bool,
    },
    /// It is done.
    Done {},
}

impl Outcome {
    /// Creates the reply to a query that failed with `error`.
    pub(super) fn failed(error: &impl ToString) -> Self {
        let error = error.to_string();
        Self::Failed { error }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn sample() -> Value {
        let sent = json!({ "calls": 7, "messages": 9, "bytes": 900 });
        let repeated = json!({ "timeouts": 1, "resumed": 1, "overtaken": 0, "reconnected": 0 });
        let received = json!({
            "messages": 7, "bytes": 800, "replies": 6, "refusals": 1, "late": 0, "unknown": 0, "malformed": 0,
            "broken_streams": 0
        });
        json!({
            "source": "nfs://files/srv", "point": "/mnt", "process": 17, "uptime_s": 2.5,
            "server": "192.0.2.1:2049", "protocol": "UDP", "local": null, "reopened": 0, "silent_for_s": 21.5,
            "unsafe_bytes": 2048, "unsafe_files": 1, "requests": 2, "oldest_request_s": 0.25,
            "requests_of_client": 3, "open_files": 4, "nodes": 5, "log": "standard error",
            "calls": {
                "sent": sent, "repeated": repeated, "received": received, "cancelled": 0, "expired": 0, "silences": 1
            }
        })
    }

    #[test]
    fn a_status_is_the_same_there_and_back() {
        let status: Status = serde_json::from_value(sample()).unwrap();
        assert_eq!(serde_json::to_value(&status).unwrap(), sample());
        let page = super::super::page::render(&status);
        for part in [
            "nfs://files/srv on /mnt\n",
            "192.0.2.1:2049 by UDP, silent for 21 s\n",
            "not safe  2 KiB in 1 file\n",
            "waiting   2 requests, the oldest for less than 1 s\n",
            "open      4 files\n",
            "calls     7, 2 sent again\n",
            "log       standard error\n",
        ] {
            assert!(page.contains(part), "no '{part}' in:\n{page}");
        }
    }

    #[test]
    fn a_status_of_another_version_is_read_as_far_as_it_is_whole() {
        let mut status = sample();
        status["new"] = json!(1);
        assert!(serde_json::from_value::<Status>(status.clone()).is_ok());
        let nodes = status.as_object_mut().unwrap().remove("nodes");
        assert_eq!(nodes, Some(json!(5)));
        let error = serde_json::from_value::<Status>(status).unwrap_err();
        assert_eq!(error.to_string(), "missing field `nodes`");
    }

    #[test]
    fn outcomes_are_what_they_were_and_no_unknown_one_is_a_success() {
        for (outcome, text) in [
            (Outcome::failed(&"no"), r#"{"error":"no"}"#),
            (
                Outcome::Discarded { lost: "1 B".into() },
                r#"{"lost":"1 B"}"#,
            ),
            (
                Outcome::Elsewhere { elsewhere: true },
                r#"{"elsewhere":true}"#,
            ),
            (Outcome::Done {}, "{}"),
        ] {
            assert_eq!(serde_json::to_string(&outcome).unwrap(), text);
            assert_eq!(serde_json::from_str::<Outcome>(text).unwrap(), outcome);
        }
        assert!(serde_json::from_str::<Outcome>(r#"{"wrong":"no"}"#).is_err());
    }
}
