//! Policy routing rules, which select a routing table for packets.

use std::fmt;
use std::path::Path;

use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::route::{RouteHeader, RouteProtocol};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleFlags, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use serde::{Deserialize, Serialize};

use super::{Netlink, NetlinkError};

/// A version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl IpVersion {
    /// Returns the version of a network.
    pub fn of(network: &IpNet) -> Self {
        match network {
            IpNet::V4(_) => Self::V4,
            IpNet::V6(_) => Self::V6,
        }
    }

    /// Returns true if this system has it: the kernel may have been built or started without IPv6.
    pub fn is_available(self) -> bool {
        match self {
            Self::V4 => true,
            Self::V6 => Path::new("/proc/sys/net/ipv6").exists(),
        }
    }

    /// Returns the version of an address family, if it is one of the two.
    pub(super) fn of_family(family: AddressFamily) -> Option<Self> {
        match family {
            AddressFamily::Inet => Some(Self::V4),
            AddressFamily::Inet6 => Some(Self::V6),
            _ => None,
        }
    }
}

/// One rule: packets that match everything that is set are routed by `table`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// IP version; each has its own rules.
    pub version: IpVersion,
    /// The selected table.
    pub table: u32,
    /// Priority, 0 to 32767: rules are tried in ascending order, and `None` leaves the choice to the kernel.
    pub priority: Option<u32>,
    /// Matches packets with these sources.
    pub from: Option<IpNet>,
    /// Matches packets with this firewall mark (`SO_MARK`, or set by nftables).
    pub mark: Option<u32>,
    /// True to match packets that do *not* match the rest.
    pub inverted: bool,
    /// Ignores routes with a prefix of at most this many bits (0 ignores default routes).
    pub suppressed_prefix_length: Option<u32>,
}

impl Rule {
    /// Returns a rule for all packets of one version.
    pub fn to_table(version: IpVersion, table: u32) -> Self {
        Self {
            version,
            table,
            priority: None,
            from: None,
            mark: None,
            inverted: false,
            suppressed_prefix_length: None,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.inverted {
            write!(formatter, "not ")?;
        }
        if let Some(from) = self.from {
            write!(formatter, "from {from} ")?;
        }
        if let Some(mark) = self.mark {
            write!(formatter, "with mark {mark} ")?;
        }
        let version = match self.version {
            IpVersion::V4 => "IPv4",
            IpVersion::V6 => "IPv6",
        };
        write!(formatter, "to {version} table {}", self.table)
    }
}

impl Netlink {
    /// Adds a rule.
    pub fn add_rule(&mut self, rule: &Rule) -> Result<(), NetlinkError> {
        self.change(
            RouteNetlinkMessage::NewRule(rule_message(rule)),
            NLM_F_CREATE | NLM_F_EXCL,
            &format!("add the rule {rule}"),
        )
    }

    /// Removes a rule.
    pub fn remove_rule(&mut self, rule: &Rule) -> Result<(), NetlinkError> {
        let operation = format!("remove the rule {rule}");
        self.change(
            RouteNetlinkMessage::DelRule(rule_message(rule)),
            0,
            &operation,
        )
    }

    /// Returns all rules that select a table.
    pub fn rules(&mut self) -> Result<Vec<Rule>, NetlinkError> {
        let request = RouteNetlinkMessage::GetRule(RuleMessage::default());
        let answers = self.list(&request, "list the rules")?;
        Ok(answers
            .into_iter()
            .filter_map(|answer| match answer {
                RouteNetlinkMessage::NewRule(message) => read_rule(&message),
                _ => None,
            })
            .collect())
    }
}

fn rule_message(rule: &Rule) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = match rule.version {
        IpVersion::V4 => AddressFamily::Inet,
        IpVersion::V6 => AddressFamily::Inet6,
    };
    message.header.action = RuleAction::ToTable;
    message.header.table = u8::try_from(rule.table).unwrap_or(RouteHeader::RT_TABLE_UNSPEC);
    if rule.inverted {
        message.header.flags = RuleFlags::Invert;
    }
    let attributes = &mut message.attributes;
    attributes.push(RuleAttribute::Table(rule.table));
    attributes.push(RuleAttribute::Protocol(RouteProtocol::Static));
    attributes.extend(rule.priority.map(RuleAttribute::Priority));
    attributes.extend(rule.mark.map(RuleAttribute::FwMark));
    attributes.extend(
        rule.suppressed_prefix_length
            .map(RuleAttribute::SuppressPrefixLen),
    );
    if let Some(from) = rule.from {
        message.header.src_len = from.prefix_len();
        attributes.push(RuleAttribute::Source(from.network()));
    }
    message
}

fn read_rule(message: &RuleMessage) -> Option<Rule> {
    if message.header.action != RuleAction::ToTable {
        return None;
    }
    let version = IpVersion::of_family(message.header.family)?;
    let mut rule = Rule::to_table(version, u32::from(message.header.table));
    rule.inverted = message.header.flags.contains(RuleFlags::Invert);
    for attribute in &message.attributes {
        match attribute {
            RuleAttribute::Table(table) => rule.table = *table,
            RuleAttribute::Priority(priority) => rule.priority = Some(*priority),
            RuleAttribute::FwMark(mark) => rule.mark = Some(*mark),
            RuleAttribute::Source(address) => {
                rule.from = IpNet::new(*address, message.header.src_len).ok();
            }
            // The kernel uses "all ones" for "none".
            RuleAttribute::SuppressPrefixLen(bits) if *bits != u32::MAX => {
                rule.suppressed_prefix_length = Some(*bits);
            }
            _ => {}
        }
    }
    Some(rule)
}
