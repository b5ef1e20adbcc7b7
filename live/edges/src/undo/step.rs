//! Single steps that revert a daemon's changes of the system.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::error::UndoError;
use crate::netlink::{Netlink, NetlinkError, Route, Rule};
use crate::nft::Table;
use crate::sysctl::{self, SysctlError};

/// One step. If its object is gone already, the step counts as complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum UndoStep {
    /// Removes a link (and the other end of a veth pair).
    DeleteLink {
        /// Name of the link.
        link: String,
    },
    /// Removes an address from a link.
    RemoveAddress {
        /// Name of the link.
        link: String,
        /// The address, with the length of its subnet's prefix.
        address: IpNet,
    },
    /// Removes a route.
    RemoveRoute {
        /// The route as it was added.
        route: Route,
    },
    /// Answers no more for an address on a link.
    RemoveProxy {
        /// Name of the link.
        link: String,
        /// The address.
        address: IpAddr,
    },
    /// Removes a rule.
    RemoveRule {
        /// The rule as it was added.
        rule: Rule,
    },
    /// Restores the old value of a kernel parameter.
    RestoreSysctl {
        /// Name of the parameter, e.g. `net/ipv4/ip_forward`.
        name: String,
        /// The old value.
        value: String,
    },
    /// Removes an nftables table.
    RemoveTable {
        /// The table.
        table: Table,
    },
}

impl UndoStep {
    /// Takes the step. `netlink` and the calling thread must be in the namespace of the change.
    pub(super) fn run(&self, netlink: &mut Netlink) -> Result<(), UndoError> {
        match self {
            Self::DeleteLink { link } => gone(netlink.delete_link(link)),
            Self::RemoveAddress { link, address } => gone(netlink.remove_address(link, *address)),
            Self::RemoveRoute { route } => gone(netlink.remove_route(route)),
            Self::RemoveProxy { link, address } => gone(netlink.remove_proxy(link, *address)),
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
