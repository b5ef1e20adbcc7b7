//! Dube, Rais, Tripathi, "Improving NFS Performance over Wireless Links", IEEE Transactions on Computers 46(3), March
//! 1997: Figures 3 to 9, and the questions that it leaves open. The earlier report is [`nfs95`](crate::nfs95).

mod claims;

use experiment::{About, Experiment, Metric};

use crate::nfs::copies::Copies;
use crate::nfs::watch::CopyObserver;
use crate::nfs::{CALIBRATION, DEVIATIONS, run, watch};

const SOURCE: &str = "Dube, Rais, Tripathi, \"Improving NFS Performance over Wireless Links\", IEEE Transactions on \
    Computers 46(3), 1997";

/// The name, title and claims of an experiment, and its plan: its own part, then the common ones.
macro_rules! copies {
    ($name:literal, $title:literal, $claims:expr, [$($part:literal),+]) => {
        Copies {
            about: about(
                [$name, $title],
                run::METRICS,
                concat!($(include_str!($part)),+, include_str!("../nfs/plans/testbed.toml")),
            ),
            claims: $claims,
        }
    };
}

const fn about(
    [name, title]: [&'static str; 2],
    metrics: &'static [Metric],
    plan: &'static str,
) -> About {
    About {
        name,
        group: "nfs97",
        title,
        source: SOURCE,
        plan,
        metrics,
        published: include_str!("published.toml"),
        calibration: CALIBRATION,
        deviations: DEVIATIONS,
    }
}

const FIGURES_3_AND_4: Copies = copies!(
    "nfs97-fig3-4",
    "Figures 3 and 4: block sizes at four bad periods",
    claims::block_sizes,
    ["plans/fig3-4.toml", "../nfs/plans/fades.toml"]
);
const FIGURES_5_AND_6: Copies = copies!(
    "nfs97-fig5-6",
    "Figures 5 and 6: each scheme over the bad period",
    claims::schemes,
    ["plans/fig5-6.toml"]
);
const FIGURES_7_AND_8: Copies = copies!(
    "nfs97-fig7-8",
    "Figures 7 and 8: two clients",
    claims::two_clients,
    ["plans/fig7-8.toml", "../nfs/plans/fades.toml"]
);
const FIGURE_9: CopyObserver = CopyObserver {
    about: about(
        [
            "nfs97-fig9",
            "Figure 9: one read at a bad period of 160 ms, over time",
        ],
        watch::METRICS,
        concat!(
            include_str!("plans/fig9.toml"),
            include_str!("../nfs/plans/fades.toml"),
            include_str!("../nfs/plans/testbed.toml")
        ),
    ),
};
const FIGURE_9_RANGE: Copies = copies!(
    "nfs97-fig9-range",
    "Figure 9: the throughputs of many such reads",
    claims::one_run,
    ["plans/fig9-range.toml", "../nfs/plans/fades.toml"]
);
const CHOICES: Copies = copies!(
    "nfs97-choices",
    "What each choice does that the papers leave open",
    Vec::new,
    ["plans/choices.toml"]
);
const PERIODS: Copies = copies!(
    "nfs97-periods",
    "What the periods of the two states are drawn from",
    claims::periods,
    ["plans/periods.toml"]
);
const FILE_SIZE: Copies = copies!(
    "nfs97-file-size",
    "File sizes",
    Vec::new,
    ["plans/file-size.toml", "../nfs/plans/fades.toml"]
);
const MINIMUM_TIMEOUT: Copies = copies!(
    "nfs97-minimum-timeout",
    "The least timeout, under losses on the air and on the wire",
    claims::minimum_timeout,
    ["plans/minimum-timeout.toml"]
);
const RETRY_LIMIT: Copies = copies!(
    "nfs97-retry-limit",
    "How often the link layer tries",
    Vec::new,
    ["plans/retry-limit.toml", "../nfs/plans/fades.toml"]
);
const SLOW: Copies = copies!(
    "nfs97-slow",
    "Beyond the papers: hops of 9.6 and 64 kbit/s",
    claims::slow,
    ["plans/slow.toml", "../nfs/plans/fades.toml"]
);
const BLOCK_AUTO: Copies = copies!(
    "nfs97-block-auto",
    "Beyond the papers: the size of blocks that the client finds for itself",
    claims::block_auto,
    ["plans/block-auto.toml", "../nfs/plans/fades.toml"]
);
const CONGESTION: Copies = copies!(
    "nfs97-congestion",
    "Beyond the papers: a silent server and a short queue, met by many clients",
    claims::congestion,
    ["plans/congestion.toml"]
);

/// The experiments of the group `nfs97`, in the paper's order; then the questions that it leaves open.
pub const EXPERIMENTS: &[&dyn Experiment] = &[
    &FIGURES_3_AND_4,
    &FIGURES_5_AND_6,
    &FIGURES_7_AND_8,
    &FIGURE_9,
    &FIGURE_9_RANGE,
    &CHOICES,
    &PERIODS,
    &FILE_SIZE,
    &MINIMUM_TIMEOUT,
    &RETRY_LIMIT,
    &BLOCK_AUTO,
    &SLOW,
    &CONGESTION,
];
