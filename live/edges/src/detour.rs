//! The way around a hop that is down: rules that lead new flows by the main table, and keep each flow on the way where
//! it began.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use wire::ip::scope::is_link_local;

use crate::netlink::{IpVersion, MAIN_TABLE, Rule};
use crate::undo::{UndoError, UndoLog, UndoStep};

/// Most addresses whose flows stay beside the hop.
const ADDRESSES_MOST: usize = 64;

/// The detour of a mobile host. A flow belongs to the way of its source address: flows across the hop have an inner
/// one, and flows around it one of the other links, because the kernel chose it when the flow began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detour {
    /// Link of the hop.
    pub inner_link: String,
    /// Inner addresses.
    pub own: Vec<IpAddr>,
    /// Table of the routes across the hop.
    pub table: u32,
    /// Priority of its first rules; the next one is taken too.
    pub priority: u32,
}

impl Detour {
    /// Leads new flows around the hop.
    ///
    /// # Errors
    /// Those of the system.
    pub fn begin(&self, undo: &mut UndoLog) -> Result<(), UndoError> {
        for address in &self.own {
            add(undo, &self.from(*address, self.table))?;
        }
        versions().try_for_each(|version| add(undo, &self.around(version)))
    }

    /// Leads new flows across the hop again. Flows of the other links' present addresses stay beside it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn end(&self, undo: &mut UndoLog) -> Result<(), UndoError> {
        let beside = self.beside(undo)?;
        let own = self.own.iter().map(|own| self.from(*own, self.table));
        let around = versions().map(|version| self.around(version));
        let obsolete: Vec<_> = own.chain(around).chain(self.left(undo, &beside)).collect();
        beside.iter().try_for_each(|rule| add(undo, rule))?;
        obsolete.into_iter().try_for_each(|rule| {
            let step = UndoStep::RemoveRule { rule };
            undo.take_step(&step)
        })
    }

    /// Returns the rule that leads everything else around the hop.
    fn around(&self, version: IpVersion) -> Rule {
        Rule {
            priority: Some(self.priority + 1),
            ..Rule::to_table(version, MAIN_TABLE)
        }
    }

    fn from(&self, address: IpAddr, table: u32) -> Rule {
        let from = IpNet::from(address);
        Rule {
            priority: Some(self.priority),
            from: Some(from),
            ..Rule::to_table(IpVersion::of(&from), table)
        }
    }

    /// Returns the rules that keep flows of the present addresses of other links beside the hop.
    fn beside(&self, undo: &mut UndoLog) -> Result<Vec<Rule>, UndoError> {
        let netlink = undo.netlink();
        let mut rules = Vec::new();
        for link in netlink.links()? {
            if link.name == self.inner_link {
                continue;
            }
            // A link may have gone meanwhile.
            let addresses = netlink.addresses(&link.name).unwrap_or_default();
            let beyond = addresses.iter().map(IpNet::addr).filter(reaches_beyond);
            rules.extend(beyond.map(|address| self.from(address, MAIN_TABLE)));
        }
        rules.truncate(ADDRESSES_MOST);
        Ok(rules)
    }

    /// Returns the rules of addresses that this host does not have any more.
    fn left(&self, undo: &UndoLog, present: &[Rule]) -> Vec<Rule> {
        let of_address = |step: &UndoStep| match step {
            UndoStep::RemoveRule { rule } => {
                let is_of_address =
                    rule.priority == Some(self.priority) && rule.table == MAIN_TABLE;
                (is_of_address && !present.contains(rule)).then(|| rule.clone())
            }
            _ => None,
        };
        undo.steps().filter_map(of_address).collect()
    }
}

/// Adds a rule, unless it is there.
fn add(undo: &mut UndoLog, rule: &Rule) -> Result<(), UndoError> {
    let step = UndoStep::RemoveRule { rule: rule.clone() };
    if undo.steps().any(|known| *known == step) {
        return Ok(());
    }
    undo.add_rule(rule)
}

fn versions() -> impl Iterator<Item = IpVersion> {
    [IpVersion::V4, IpVersion::V6]
        .into_iter()
        .filter(|version| version.is_available())
}

/// Returns true if packets with this source can reach other networks.
fn reaches_beyond(address: &IpAddr) -> bool {
    !address.is_loopback() && !is_link_local(*address)
}
