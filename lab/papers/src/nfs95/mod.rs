//! Dube, Rais, Tripathi, "Improving NFS Performance over Wireless Links", University of Maryland, CS-TR-3583,
//! UMIACS-TR-95-126, 19 December 1995: Tables 1 to 9, Figures 3 and 4. The journal version is [`nfs97`](crate::nfs97).

mod claims;

use experiment::{About, Experiment, Metric};

use crate::nfs::copies::Copies;
use crate::nfs::watch::CopyObserver;
use crate::nfs::{CALIBRATION, DEVIATIONS, run, watch};

const SOURCE: &str = "Dube, Rais, Tripathi, \"Improving NFS Performance over Wireless Links\", University of Maryland, \
    CS-TR-3583, UMIACS-TR-95-126, 1995";

/// The name, title and metrics of an experiment, and its plan: its own part, then the common ones.
macro_rules! about {
    ($name:literal, $title:literal, $metrics:expr, [$($part:literal),+]) => {
        about(
            [$name, $title],
            $metrics,
            concat!($(include_str!($part)),+, include_str!("../nfs/plans/testbed.toml")),
        )
    };
}

const fn about(
    [name, title]: [&'static str; 2],
    metrics: &'static [Metric],
    plan: &'static str,
) -> About {
    About {
        name,
        group: "nfs95",
        title,
        source: SOURCE,
        plan,
        metrics,
        published: claims::PUBLISHED,
        calibration: CALIBRATION,
        deviations: DEVIATIONS,
    }
}

const TABLES_1_TO_6: Copies = Copies {
    about: about!(
        "nfs95-table1-6",
        "Tables 1 to 6: each scheme at both bad periods",
        run::METRICS,
        ["plans/table1-6.toml", "../nfs/plans/fades.toml"]
    ),
    claims: claims::one_client,
};

const TABLE_7: Copies = Copies {
    about: about!(
        "nfs95-table7",
        "Table 7: no errors; what the model is calibrated to",
        run::METRICS,
        ["plans/table7.toml"]
    ),
    claims: claims::without_errors,
};

const TABLES_8_AND_9: Copies = Copies {
    about: about!(
        "nfs95-table8-9",
        "Tables 8 and 9: two clients",
        run::METRICS,
        ["plans/table8-9.toml", "../nfs/plans/fades.toml"]
    ),
    claims: claims::two_clients,
};

const FIGURE_3: CopyObserver = CopyObserver {
    about: about!(
        "nfs95-fig3",
        "Figure 3: the small buffer overflows, over time",
        watch::METRICS,
        ["plans/fig3.toml"]
    ),
};

const FIGURE_4: Copies = Copies {
    about: about!(
        "nfs95-fig4",
        "Figure 4: block sizes",
        run::METRICS,
        ["plans/fig4.toml", "../nfs/plans/fades.toml"]
    ),
    claims: claims::block_sizes,
};

/// The experiments of the group `nfs95`, in the report's order.
pub const EXPERIMENTS: &[&dyn Experiment] = &[
    &TABLE_7,
    &FIGURE_3,
    &FIGURE_4,
    &TABLES_1_TO_6,
    &TABLES_8_AND_9,
];
