//! Beyond the tables: transfers from the mobile host, or from both hosts.

use experiment::{About, Case, Metric, PlanError};
use snoop::ExplicitLoss;

use super::about::about;
use super::network::SetUp;
use super::parameters::Base;
use super::tables::{Transfers, read};
use super::transfer::{METRICS, UPLOAD_METRICS};

/// The metrics of an upload, then those of a download.
const BOTH_METRICS: &[Metric] = &{
    let mut metrics = [UPLOAD_METRICS[0]; 16];
    let mut place = 0;
    while place < METRICS.len() {
        metrics[place] = UPLOAD_METRICS[place];
        metrics[METRICS.len() + place] = METRICS[place];
        place += 1;
    }
    metrics
};

/// The name, title and metrics of an experiment, and the beginning of its plan.
macro_rules! uploads {
    ($name:literal, $title:literal, $metrics:expr, $plan:literal) => {
        Transfers {
            about: About {
                metrics: $metrics,
                ..about(
                    [$name, $title],
                    concat!(
                        include_str!(concat!("plans/", $plan, ".toml")),
                        include_str!("plans/marked.toml"),
                        include_str!("plans/split.toml"),
                        include_str!("plans/parameters.toml")
                    ),
                )
            },
            claims: Vec::new,
            set_up,
        }
    };
}

pub(super) const UPLOAD: Transfers = uploads!(
    "ton97-upload",
    "Beyond the tables: the mobile host sends",
    UPLOAD_METRICS,
    "upload"
);
pub(super) const BOTH: Transfers = uploads!(
    "ton97-both",
    "Beyond the tables: both hosts send at once",
    BOTH_METRICS,
    "both"
);

/// Reads and checks a case.
pub(super) fn set_up(case: &Case, seed: u64) -> Result<SetUp, PlanError> {
    let set_up = read(case, seed)?;
    let (scheme, up) = (&set_up.scheme, set_up.parameters.direction.is_up());
    if up && scheme.explicit_loss() != ExplicitLoss::Off && scheme.base != Base::Mark {
        let what =
            "the fixed host cannot know what the air lost of an upload: marks need base = \"mark\"";
        return Err(case.wrong_scheme("sender", what));
    }
    if !set_up.parameters.direction.is_down() && scheme.smart {
        let what = "an upload is repaired by name anyway: allowed with direction = \"download\" or \"both\"";
        return Err(case.wrong_scheme("smart", what));
    }
    Ok(set_up)
}
