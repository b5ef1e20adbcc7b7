//! `lasthop gateway`: the wired end of the hop.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use hosts::{
    Input, Membership, ResolverTerms, Resolvers, Role, Scope, SitePart, TcpMethod, TcpTerms,
};
use runtime::MEMORY_BESIDE;
use runtime::privileges::User;
use runtime::signals::Audience;
use session::PublicKey;
use units::Bytes;

use super::gateway_wiring::Wiring;
use super::peer::{peer, prefixes, site_gateway};
use super::reload::Present;
use super::{Daemon, MobilePlan, bearer, prepare, split, succession};
use crate::config::Source;
use crate::config::caps::Caps;
use crate::config::gateway::{self as config, GatewayConfig};
use crate::failure::Failure;
use crate::hand_over;
use crate::state::refresh;
use crate::up;

const EXAMPLES: &str = "\
Examples:
  lasthop gateway up                       without a configuration: makes one, and runs in the background
  lasthop gateway --config gateway.toml
  LASTHOP_LOG=debug lasthop gateway --config gateway.toml
  lasthop gateway --config gateway.toml --take-over   a new version takes the place of the one that runs
  lasthop gateway --config gateway.toml --take-over-with 'ssh root@east lasthop gateway hand-over'
                                           this machine takes the place of another one

SIGHUP, or `lasthop reload`, makes it read FILE again: mobile hosts are added, changed and revoked without a packet
lost for the others. app/lasthop/examples/gateway.toml shows every setting. It needs root or CAP_NET_ADMIN (and
CAP_NET_RAW to open an Ethernet bearer), and `nft`. SIGTERM
or Ctrl-C ends it; it then removes what it added to the system.";

/// Run the wired end of the hop: take in the traffic of mobile hosts and send it on.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Arguments {
    /// The configuration
    #[arg(long, value_name = "FILE", required = true)]
    config: Option<PathBuf>,
    /// Take the place of the gateway that runs with this configuration, if one does: its split connections go on
    #[arg(long)]
    take_over: bool,
    /// Take the place of the gateway with the same keys on another machine, which this command hands over
    #[arg(long, value_name = "COMMAND", conflicts_with = "take_over")]
    take_over_with: Option<String>,
    /// Leave the terminal
    #[arg(long, hide = true)]
    detached: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

/// A gateway without a configuration of the user's.
#[derive(Debug, Subcommand)]
enum Action {
    Up(up::UpArguments),
    Restart(up::DownArguments),
    Down(up::DownArguments),
    HandOver(hand_over::Arguments),
}

/// Runs a gateway until a signal ends it, or starts or ends the one of `gateway up`.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match (&arguments.action, &arguments.config) {
        (Some(Action::Up(arguments)), _) => up::up(arguments),
        (Some(Action::Restart(arguments)), _) => up::restart(arguments),
        (Some(Action::Down(arguments)), _) => up::down(arguments),
        (Some(Action::HandOver(arguments)), _) => hand_over::run(arguments),
        (None, Some(path)) => run_with(path, arguments),
        (None, None) => Err(Failure::setting("name the configuration with --config")),
    }
}

fn run_with(path: &Path, arguments: &Arguments) -> Result<(), Failure> {
    prepare(arguments.detached)?;
    let source = Source::read(path)?;
    refresh(&source)?;
    let config = GatewayConfig::load(&source)?;
    config.remove_old_key(&source);
    let keys = config.keys(&source)?;
    let state_dir = source.file(&config.state_dir);
    if config.mobiles().next().is_none() && config.gateways.is_empty() {
        tracing::warn!("no peers are configured, so no mobile host can connect");
    }
    let former = match &arguments.take_over_with {
        Some(command) => Some(succession::elsewhere(&source, command)?),
        None => succession::here(&source, arguments.take_over)?,
    };
    let plan = bearer::Plan {
        carrier: config.hop.carrier(&source)?,
        hop: &config.hop,
        role: Role::Gateway,
        bind: config.listen(),
        mark: None,
    };
    let (bearer, bearer_mtu) = plan.open()?;
    let mut wiring = Wiring::new(&config);
    wiring.offer.log(&config.dns);
    let split = wiring.split(&config);
    let former_keys = config.former_keys(unix_seconds()).into_iter();
    let revoke = |(key, reason)| Input::Revoke(key, reason);
    let keys_of_host = Input::Keys(Box::new(keys.clone()));
    let mut daemon = Daemon {
        name: config.name.0.clone(),
        host: hosts::Config {
            role: Role::Gateway,
            key: keys.key.clone(),
            peers: Vec::new(),
            bearer_mtu,
            mobile: hosts::MobileTerms::default(),
            exits: config.exits(),
            shared_air: config.air.sharing(),
            rate: config.hop.rate.0,
            snoop_cache: config.snoop.cache.0,
            memory: None,
            streams: Some(config.split.streams()),
            split: None,
        },
        bearer,
        tun: config.tun.clone(),
        state_dir,
        split,
        // The signals show when a mobile host is reachable, and so perhaps where its owner is.
        audience: Audience::Owner,
        mobile: MobilePlan::default(),
        first: [keys_of_host]
            .into_iter()
            .chain(former_keys.map(revoke))
            .collect(),
        user: config.user.clone(),
        reload: Present::gateway(config, source, &keys)?,
    };
    let (memory, peers) = daemon.reload.of_gateway().unzip();
    daemon.host.memory = memory;
    daemon.host.peers = peers.unwrap_or_default();
    daemon.run(former, |undo, link| wiring.set_up(undo, link))
}

/// Checks all that can be checked of a configuration without a change to the system; returns the number of mobile
/// hosts.
pub(crate) fn check(source: Source) -> Result<usize, Failure> {
    let config = GatewayConfig::load(&source)?;
    User::find(config.user.as_deref()).map_err(Failure::setting)?;
    let keys = config.keys(&source)?;
    let count = config.mobiles().count();
    Present::gateway(config, source, &keys)?;
    Ok(count)
}

/// A mobile host with its settings in the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(super) peer: hosts::Peer,
    /// Connections of it that are split, if any are.
    pub(super) scope: Option<Scope>,
}

/// Returns the mobile hosts of a configuration, which get these resolvers; then those hosts that are invited, which
/// have no inner addresses, and last the other gateways of the site.
pub(crate) fn members(
    config: &GatewayConfig,
    source: &Source,
    resolvers: &Resolvers,
) -> Result<Vec<Member>, Failure> {
    let caps = config.caps.or(Caps::usual());
    let member = |(mobile, key): (&config::Mobile, PublicKey)| {
        let name = &mobile.name.get_ref().0;
        let secret = mobile.preshared_key_file.as_deref();
        let peer = peer(name, key, secret, source)?;
        let peer = hosts::Peer {
            prefixes: prefixes(mobile.networks()),
            tcp: TcpTerms::Choose(mobile.tcp.on_the_hop()),
            split: mobile.streams(),
            resolver: ResolverTerms::Offer(resolvers.clone()),
            caps: mobile.caps.or(caps),
            weight: mobile.weight(),
            // A key in the configuration itself is its operator's to change.
            membership: Membership {
                may_claim: mobile.file().is_some(),
                site: config
                    .home_of(mobile)
                    .map_or(SitePart::Alone, SitePart::Guest),
                ..Membership::default()
            },
            ..peer
        };
        let scope = mobile.tcp.scope();
        Ok(Member { peer, scope })
    };
    let joined: Result<Vec<_>, Failure> = with_keys(config).map(member).collect();
    let mut members = joined?;
    let now = unix_seconds();
    for entry in config.entries() {
        if let Some(invited) = entry.invitation.filter(|invited| invited.expires > now) {
            let name = format!("{} (invited)", entry.name);
            let peer = hosts::Peer {
                membership: Membership {
                    may_claim: true,
                    ..Membership::default()
                },
                tcp: TcpTerms::Choose(TcpMethod::Arq),
                ..peer(&name, invited.public_key.0, None, source)?
            };
            members.push(Member { peer, scope: None });
        }
    }
    for gateway in &config.gateways {
        let peer = site_gateway(gateway, source)?;
        members.push(Member { peer, scope: None });
    }
    Ok(members)
}

/// Returns the mobile hosts that have joined, in their order in a host, with their keys.
pub(super) fn with_keys(
    config: &GatewayConfig,
) -> impl Iterator<Item = (&config::Mobile, PublicKey)> {
    let peers = config.mobiles();
    peers.filter_map(|mobile| Some((mobile, mobile.key()?)))
}

/// Returns the time in seconds since 1970-01-01 UTC.
pub(crate) fn unix_seconds() -> u32 {
    u32::try_from(edges::clock::wall().as_nanos() / 1_000_000_000).unwrap_or(u32::MAX)
}

/// Returns the memory that is left for the peers of `[caps] total`, or of the usual amount.
pub(super) fn memory_of_peers(
    members: &[Member],
    config: &GatewayConfig,
    splits: Option<&split::Plan>,
) -> Result<Bytes, Failure> {
    let splits = splits.map(|plan| plan.config().memory());
    let beside = MEMORY_BESIDE + splits.unwrap_or_default();
    let peers = members.iter().map(|member| &member.peer);
    let streams = Some(config.split.streams());
    let least = beside + hosts::memory_least(peers, streams, config.snoop.cache.0);
    // In the message it is a value that can be set.
    let mebibytes = least.get().div_ceil(1 << 20);
    match config
        .caps
        .total()
        .unwrap_or_else(|| Caps::usual_total(least))
    {
        total if total >= least => Ok(total - beside),
        total => Err(Failure::setting(format!(
            "`total` of [caps] is {total}, but {} mobile hosts need {mebibytes} MiB at least, with the buffers of \
             split and snoop if they are used; raise it, or lower those",
            members.len()
        ))),
    }
}
