//! The single steps that take back what a daemon did to the system.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::UndoError;
use crate::netlink::{Netlink, NetlinkError, Route, Rule};
use crate::nft::Table;
use crate::sysctl::{self, SysctlError};

/// One step back. A step whose object is gone already counts as done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum UndoStep {
    /// Removes a link (and, of a veth pair, its other end).
    DeleteLink {
        /// The link's name.
        link: String,
    },
    /// Takes an address from a link.
    RemoveAddress {
        /// The link's name.
        link: String,
        /// The address, with the length of its subnet's prefix.
        address: IpNet,
    },
    /// Removes a route.
    RemoveRoute {
        /// The route as it was added.
        route: Route,
    },
    /// Removes a rule.
    RemoveRule {
        /// The rule as it was added.
        rule: Rule,
    },
    /// Gives a kernel parameter its earlier value.
    RestoreSysctl {
        /// Its name, e.g. `net/ipv4/ip_forward`.
        name: String,
        /// The value that it had.
        value: String,
    },
    /// Removes a table of nftables.
    RemoveTable {
        /// The table.
        table: Table,
    },
}

impl UndoStep {
    /// Takes the step. `netlink` and the calling thread must be in the namespace of what is undone.
    pub(super) fn run(&self, netlink: &mut Netlink) -> Result<(), UndoError> {
        match self {
            Self::DeleteLink { link } => gone(netlink.delete_link(link)),
            Self::RemoveAddress { link, address } => gone(netlink.remove_address(link, *address)),
            Self::RemoveRoute { route } => gone(netlink.remove_route(route)),
            Self::RemoveRule { rule } => gone(netlink.remove_rule(rule)),
            Self::RestoreSysctl { name, value } => match sysctl::write(name, value) {
                Err(SysctlError::Missing(_)) => Ok(()),
                other => Ok(other?),
            },
            Self::RemoveTable { table } => Ok(table.remove()?),
        }
    }
}

fn gone(removal: Result<(), NetlinkError>) -> Result<(), UndoError> {
    match removal {
        Err(error) if error.is_missing() => Ok(()),
        other => Ok(other?),
    }
}
