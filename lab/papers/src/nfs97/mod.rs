//! Dube, Rais, Tripathi, "Improving NFS Performance over Wireless Links", IEEE Transactions on Computers 46(3), 1997.

use experiment::Experiment;

/// The experiments of the group `nfs97`, in the paper's order.
pub const EXPERIMENTS: &[&dyn Experiment] = &[];
