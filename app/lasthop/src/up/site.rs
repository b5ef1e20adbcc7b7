//! A gateway that joins a site by the line of another one.

use std::path::Path;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use runtime::Status;
use runtime::control::ask_status;
use session::{Invitation, PrivateKey, SiteInvitation};

use super::networks;
use crate::config::Source;
use crate::config::entry::Kind;
use crate::config::gateway::GatewayConfig;
use crate::failure::Failure;
use crate::join::{self, Newcomer};
use crate::key_file;
use crate::state::{Members, State};

/// Longest time for the other gateway to answer.
const LIMIT: Duration = Duration::from_secs(20);
/// Time in which the two gateways should be connected; the one that begins may just have been refused.
const PATIENCE: Duration = Duration::from_secs(15);

/// A gateway that joins.
pub(super) struct Entrant {
    pub(super) line: SiteInvitation,
    /// True if an earlier run may have claimed its key.
    has_tried: bool,
}

impl Entrant {
    /// Reads the line that was given, and refuses one that cannot serve this host.
    pub(super) fn of(given: &str, state: &State) -> Result<Self, Failure> {
        let text = join::line_in(given, "lasthop gateway up --site ")?;
        let line = SiteInvitation::parse(&text).map_err(Failure::setting)?;
        join::check_clock(&line.invitation)?;
        let path = state.configuration();
        if path.exists() {
            refuse_without_folder(&path)?;
        } else {
            refuse_clash(&line)?;
        }
        Ok(Self {
            line,
            has_tried: state.key().exists(),
        })
    }

    /// Returns the inner addresses in the line, with their subnets.
    pub(super) fn addresses(&self) -> Result<Vec<IpNet>, Failure> {
        addresses(&self.line.invitation)
    }

    /// Has the other gateway take the key of this one; returns the address at which it has answered.
    pub(super) fn claim(&self, key: &Path) -> Result<String, Failure> {
        let newcomer = Newcomer {
            key: key_file::read::<PrivateKey>(key)?,
            as_gateway: Some(self.has_tried),
        };
        let joined = join::claim_with(&self.line.invitation, newcomer, LIMIT)?;
        Ok(joined.at.to_string())
    }

    /// Stores the other gateway, at the address where it has answered.
    pub(super) fn admit(&self, members: &mut Members, endpoint: &str) -> Result<(), Failure> {
        let SiteInvitation {
            invitation,
            inviter,
            name,
        } = &self.line;
        members.admit_gateway(inviter, invitation.gateway, endpoint)?;
        let own = members.config.site_name();
        if own != *name {
            eprintln!(
                "{inviter} knows this gateway as '{name}', and it calls itself '{own}': write `site_name = \"{name}\"` \
                 into {}, and restart it.",
                members.source.path().display()
            );
        }
        Ok(())
    }

    /// Waits until the two gateways are connected, and says whether they are.
    pub(super) fn wait(&self, socket: &Path) {
        let SiteInvitation { inviter, name, .. } = &self.line;
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let status = ask_status::<Status>(socket).ok();
            let mut peers = status.iter().flat_map(|status| &status.host.peers);
            if peers.any(|peer| peer.name == *inviter && peer.keys_age.is_some()) {
                eprintln!("Connected with {inviter}: this gateway is of its site now.");
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        eprintln!(
            "Not connected with {inviter} yet. It may be: a firewall keeps its datagrams from this host; this host has \
             another address than the one given to `lasthop invite --gateway`; another host has used the line before \
             (then run `lasthop revoke {name}` there, and invite this one again). `lasthop status` shows it."
        );
    }
}

fn addresses(invitation: &Invitation) -> Result<Vec<IpNet>, Failure> {
    let addresses = invitation.addresses.iter();
    addresses
        .map(|(address, length)| IpNet::new(*address, *length).map_err(Failure::setting))
        .collect()
}

/// Refuses a gateway that has no place for others.
fn refuse_without_folder(path: &Path) -> Result<(), Failure> {
    let source = Source::read(path)?;
    if GatewayConfig::folders_in(&source)?.contains_key(&Kind::Gateway) {
        return Ok(());
    }
    Err(Members::no_folder(&source, Kind::Gateway))
}

/// Refuses inner addresses that clash with a network of this host.
fn refuse_clash(line: &SiteInvitation) -> Result<(), Failure> {
    let Some(network) = networks::clash(&addresses(&line.invitation)?)? else {
        return Ok(());
    };
    let (inviter, name) = (&line.inviter, &line.name);
    Err(Failure::setting(format!(
        "the inner addresses that {inviter} has for this gateway clash with {network}, a network of this host; run \
         `lasthop revoke {name}` on {inviter}, and make another line there: it has other addresses"
    )))
}
