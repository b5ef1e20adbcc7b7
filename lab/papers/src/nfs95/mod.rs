//! Dube, Rais, Tripathi, "Improving NFS Performance over Wireless Links", University of Maryland, CS-TR-3583,
//! UMIACS-TR-95-126, 19 December 1995: Tables 1 to 9. The journal's version is [`nfs97`](crate::nfs97).

use experiment::{About, Experiment};

use crate::nfs::copies::Copies;
use crate::nfs::run::METRICS;

const SOURCE: &str = "Dube, Rais, Tripathi, \"Improving NFS Performance over Wireless Links\", University of Maryland, \
    CS-TR-3583, UMIACS-TR-95-126, 1995";

const fn about([name, title]: [&'static str; 2], plan: &'static str) -> About {
    About {
        name,
        group: "nfs95",
        title,
        source: SOURCE,
        plan,
        metrics: METRICS,
        published: include_str!("published.toml"),
        calibration: &[],
        deviations: "",
    }
}

const TABLES_1_TO_6: Copies = Copies {
    about: about(
        [
            "nfs95-table1-6",
            "Tables 1 to 6: each scheme at both bad periods",
        ],
        concat!(
            include_str!("plans/table1-6.toml"),
            include_str!("../nfs/plans/fades.toml"),
            include_str!("../nfs/plans/testbed.toml")
        ),
    ),
    claims: Vec::new,
};

const TABLE_7: Copies = Copies {
    about: about(
        [
            "nfs95-table7",
            "Table 7: no errors; what the model is calibrated to",
        ],
        concat!(
            include_str!("plans/table7.toml"),
            include_str!("../nfs/plans/testbed.toml")
        ),
    ),
    claims: Vec::new,
};

/// The experiments of the group `nfs95`, in the report's order.
pub const EXPERIMENTS: &[&dyn Experiment] = &[&TABLES_1_TO_6, &TABLE_7];
