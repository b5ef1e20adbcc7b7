//! `lasthop doctor`: examines this host, and names each finding with its remedy.

mod chains;
mod collect;
mod facts;
mod findings;
mod iptables;
mod nft;
mod speed;

use std::path::{Path, PathBuf};

use clap::Args;
use hosts::Role;
use ipnet::IpNet;
use runtime::Status;
use runtime::control::ask_status;
use serde_json::json;

use crate::config::Source;
use crate::config::carrier::Endpoint;
use crate::config::gateway::GatewayConfig;
use crate::config::mobile::MobileConfig;
use crate::daemon::{MARK, lacks_resolver};
use crate::failure::Failure;
use crate::state::{STATE, State};
use crate::status::ENDING;
use facts::{Daemon, End, Facts};
use findings::{Finding, Severity};

const EXAMPLES: &str = "\
Examples:
  lasthop doctor                        examines this host, as what it is set up for
  lasthop doctor --config gateway.toml  as the end that a configuration of yours describes
  lasthop doctor --json                 for programs

It changes nothing. Each finding has its weight, what was found, why it matters, and a remedy, mostly a command. Run it
as root, since others may not read all. The daemons do the same at their start; their logs have the findings.

Exit codes: 0 nothing but notes, 1 warnings, 2 errors: the hop cannot work as it should.";

/// Name of the device, if nothing says otherwise.
const LINK: &str = "lasthop0";

/// Examine this host, and name what keeps the hop from working well, with remedies.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The configuration of the end [default: that of `lasthop gateway up` or `lasthop join`, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// Folder of `lasthop gateway up` and `lasthop join`
    #[arg(long, value_name = "FOLDER", default_value = STATE)]
    state: PathBuf,
}

/// Examines this host.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let subjects = subjects(arguments)?;
    let mut worst = None;
    for Subject {
        end,
        endpoints,
        folder,
    } in subjects
    {
        let folders: Vec<_> = folder.into_iter().collect();
        let mut facts = collect::near(end, &folders);
        let is_away = facts.end.role == Some(Role::Mobile) && !facts.end.daemon.is_connected;
        collect::far(&mut facts, if is_away { &endpoints } else { &[] }, MARK);
        let findings = findings::all(&facts);
        worst = worst.max(findings.iter().map(|finding| finding.severity).max());
        if arguments.json {
            println!("{}", as_json(&facts, &findings));
        } else {
            print(&facts, &findings);
        }
    }
    match worst {
        None | Some(Severity::Note) => Ok(()),
        Some(Severity::Warning) => Err(Failure::quiet(1)),
        Some(Severity::Error) => Err(Failure::quiet(2)),
    }
}

/// Writes what is found to the log of a daemon that starts. `own` are its inner addresses, and `port` is a gateway's.
pub(crate) fn examine_at_start(role: Role, link: &str, own: Vec<IpNet>, port: Option<u16>) {
    let end = End {
        role: Some(role),
        link: link.into(),
        own,
        port,
        translates: true,
        daemon: Daemon {
            runs: true,
            ..Daemon::default()
        },
        ..End::default()
    };
    for finding in findings::all(&collect::near(end, &[])) {
        match finding.severity {
            Severity::Note => tracing::debug!("{finding}"),
            Severity::Warning | Severity::Error => tracing::warn!("{finding}"),
        }
    }
}

/// Prints what keeps the end of this configuration from working, a line each, for the user who has just started it. The
/// daemon's own troubles are left to who waits for its connection.
pub(crate) fn print_errors(path: &Path) -> Result<(), Failure> {
    let mut end = subject(path)?.end;
    end.daemon.trouble = None;
    let findings = findings::all(&collect::near(end, &[]));
    let is_error = |finding: &&Finding| finding.severity == Severity::Error;
    for finding in findings.iter().filter(is_error) {
        eprintln!("error: {finding}");
    }
    Ok(())
}

/// An end of the hop that is examined.
struct Subject {
    end: End,
    /// Addresses of its gateway, if it is a mobile host.
    endpoints: Vec<String>,
    /// Folder of its keys.
    folder: Option<PathBuf>,
}

/// Returns what this host is set up for: one end or both, or nothing yet.
fn subjects(arguments: &Arguments) -> Result<Vec<Subject>, Failure> {
    if let Some(path) = &arguments.config {
        return Ok(vec![subject(path)?]);
    }
    let states = [
        State::of_gateway(&arguments.state)?,
        State::of_mobile(&arguments.state)?,
    ];
    let paths = states.iter().map(State::configuration);
    let known = paths.filter(|path| path.exists());
    let mut subjects = known
        .map(|path| subject(&path))
        .collect::<Result<Vec<_>, _>>()?;
    if subjects.is_empty() {
        let end = End {
            link: LINK.into(),
            translates: true,
            ..End::default()
        };
        subjects.push(Subject {
            end,
            endpoints: Vec::new(),
            folder: None,
        });
    }
    Ok(subjects)
}

/// Returns the end that a configuration describes.
fn subject(path: &Path) -> Result<Subject, Failure> {
    let source = Source::read(path)?;
    let folder = path.parent().map(Path::to_path_buf);
    let (end, endpoints) = if source.is_of_mobile()? {
        let config = MobileConfig::load(&source)?;
        let socket = socket(&source, &config.state_dir, &config.name.0);
        let (_, endpoints) = config.place(&source)?;
        let endpoints = endpoints.iter().filter_map(Endpoint::text).collect();
        let end = End {
            role: Some(Role::Mobile),
            own: config.tun.own().collect(),
            link: config.tun.name,
            translates: true,
            daemon: daemon(&socket),
            ..End::default()
        };
        (end, endpoints)
    } else {
        let config = GatewayConfig::load(&source)?;
        let socket = socket(&source, &config.state_dir, &config.name.0);
        let end = End {
            role: Some(Role::Gateway),
            own: config.tun.own().collect(),
            port: config.hop.is_udp().then(|| config.listen().port()),
            lacks_resolver: lacks_resolver(&config),
            link: config.tun.name,
            translates: config.nat,
            daemon: daemon(&socket),
            ..End::default()
        };
        (end, Vec::new())
    };
    let config = Some(path.into());
    Ok(Subject {
        end: End { config, ..end },
        endpoints,
        folder,
    })
}

fn socket(source: &Source, state_dir: &Path, name: &str) -> PathBuf {
    source.file(state_dir).join(format!("{name}.{ENDING}"))
}

/// Returns the state of the daemon that answers at `socket`, if one does.
fn daemon(socket: &Path) -> Daemon {
    let Ok(status) = ask_status::<Status>(socket) else {
        return Daemon::default();
    };
    let peers = &status.host.peers;
    let paths = peers.iter().filter_map(|peer| peer.hop.path_mtu_bytes);
    Daemon {
        runs: true,
        is_connected: peers.iter().any(|peer| peer.keys_age.is_some()),
        trouble: peers.iter().find_map(|peer| peer.trouble.clone()),
        path_mtu: paths.min(),
        names: status.names,
    }
}

fn role(facts: &Facts) -> &'static str {
    match facts.end.role {
        Some(Role::Gateway) => "gateway",
        Some(Role::Mobile) => "mobile host",
        None => "host that is not set up yet",
    }
}

fn as_json(facts: &Facts, findings: &[Finding]) -> serde_json::Value {
    let system = &facts.system;
    json!({
        "role": facts.end.role,
        "config": facts.end.config,
        "runs": facts.end.daemon.runs,
        "cores": system.cores,
        "seal_bits_per_second": system.seal_rate,
        "findings": findings,
    })
}

/// Prints the findings for people.
fn print(facts: &Facts, findings: &[Finding]) {
    let is_root = rustix::process::geteuid().is_root();
    let rate = facts.system.seal_rate.unwrap_or_default() / 1_000_000;
    let cores = facts.system.cores;
    println!(
        "Examined as a {}; {cores} cores, each seals {rate} Mbit/s.",
        role(facts)
    );
    if !is_root {
        println!("Not as root, so the firewall and the keys were not examined.");
    }
    for finding in findings {
        let Finding {
            what, why, remedy, ..
        } = finding;
        println!("\n{}: {what} ({})", finding.severity.word(), finding.code);
        println!("  why:    {why}");
        println!("  remedy: {remedy}");
    }
    if findings.is_empty() {
        println!("Nothing was found.");
    }
}
