//! `lasthop gateway up` and `down`: a gateway without a configuration of the user's.

pub(crate) mod endpoints;
mod networks;

use std::fmt::Write;
use std::net::{Ipv6Addr, TcpListener};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};

use clap::Args;
use runtime::control::ask_stop;
use session::PrivateKey;

use crate::config::Source;
use crate::daemon::{PORT, unix_seconds};
use crate::failure::Failure;
use crate::service::Service;
use crate::state::{Mobiles, STATE, State};
use crate::status::unanswered;
use crate::{background, doctor, entropy, invite, key_file, state};

const EXAMPLES: &str = "\
Examples:
  lasthop gateway up                             makes this host a gateway, prints a join line for a first mobile host
  lasthop gateway up --endpoint gw.example.org   mobile hosts reach it by this name, through a port forwarding too
  lasthop invite --name tablet7                  another join line
  lasthop gateway down                           ends it, and takes back every rule, route and kernel parameter

It makes a key, chooses inner addresses that clash with nothing that this host knows, and runs in the background: as the
service lasthop-gateway, if systemd runs and the package is installed, so also after a reboot. All of it is in
FOLDER/gateway: gateway.toml may be edited. Open the UDP port (51830) and the TCP port (443) in the firewall. It needs
root and `nft`.";

/// TCP port for TLS that most networks let pass.
const TLS_PORT: u16 = 443;
const ROLE: &str = "gateway";
/// Name of the first mobile host, and the time for it to join, in seconds.
const FIRST: &str = "mobile1";
const EXPIRES: u32 = 24 * 60 * 60;

/// Make this host a gateway, and start it in the background.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UpArguments {
    /// Address at which mobile hosts reach this host, HOST or HOST:PORT; may be given several times [default: those of
    /// this host]
    #[arg(long, value_name = "HOST")]
    endpoint: Vec<String>,
    /// UDP port of a new gateway
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    port: u16,
    /// TCP port of a new gateway for TLS, where networks let no UDP through; 0 for none [default: 443, unless another
    /// program has it]
    #[arg(long, value_name = "PORT")]
    tls_port: Option<u16>,
    /// Name of the first mobile host
    #[arg(long, default_value = FIRST)]
    mobile: String,
    /// Folder of the key, the configuration and the mobile hosts
    #[arg(long, value_name = "FOLDER", default_value = STATE)]
    state: PathBuf,
}

/// End the gateway of `gateway up`; its mobile hosts stay known.
#[derive(Debug, Args)]
pub(crate) struct DownArguments {
    /// Folder of `lasthop gateway up`
    #[arg(long, value_name = "FOLDER", default_value = STATE)]
    state: PathBuf,
}

/// Makes this host a gateway if it is none, starts it if it does not run, and prints a line for a first mobile host.
pub(crate) fn up(arguments: &UpArguments) -> Result<(), Failure> {
    refuse_without_root()?;
    let state = State::of_gateway(&arguments.state)?;
    state.create()?;
    make(&state, arguments)?;
    let path = state.configuration();
    let mut mobiles = Mobiles::load(&path)?;
    let places = endpoints::of(&mobiles.config, &arguments.endpoint)?;
    let socket = mobiles.source.socket()?;
    let settings = invite::Settings {
        expires: unix_seconds().saturating_add(EXPIRES),
        endpoints: &places,
        table: &toml::Table::new(),
    };
    let is_new = mobiles.config.peers.is_empty();
    let line = is_new.then(|| invite::make(&mut mobiles, &arguments.mobile, &settings));
    let line = line.transpose()?;
    let tls_port = mobiles.config.hop.tls_port();
    drop(mobiles);
    if background::is_running(&socket) {
        eprintln!("The gateway runs already.");
    } else {
        let log = start(ROLE, &arguments.state, &state, &socket)?;
        eprintln!("The gateway runs; {log}.");
    }
    doctor::print_errors(&path)?;
    say_tls(tls_port, &path);
    endpoints::warn_if_private(&places);
    match line {
        Some(line) => invite::show(&line, false),
        None => {
            eprintln!("`lasthop invite --name NAME` makes a join line for another mobile host.");
        }
    }
    Ok(())
}

/// Ends the gateway.
pub(crate) fn down(arguments: &DownArguments) -> Result<(), Failure> {
    let path = invite::configuration(None, &arguments.state)?;
    stop(ROLE, &arguments.state, &path)
}

/// Starts the daemon of `role`: as a service, if this host has that for it, else in the background. Returns the place
/// of its log in words.
pub(crate) fn start(
    role: &str,
    folder: &Path,
    state: &State,
    socket: &Path,
) -> Result<String, Failure> {
    if let Some(service) = Service::find(role, folder) {
        service.start()?;
        return Ok(format!(
            "systemd starts it at every boot, and `journalctl -u {}` shows its log",
            service.unit()
        ));
    }
    background::start(role, state, socket)?;
    Ok(format!("its log is {}", state.log().display()))
}

/// Ends the daemon of `role` with the configuration at `path`, if it runs.
pub(crate) fn stop(role: &str, folder: &Path, path: &Path) -> Result<(), Failure> {
    let service = Service::find(role, folder);
    if let Some(service) = service.filter(Service::is_used) {
        return service.stop();
    }
    let socket = &Source::read(path)?.socket()?;
    if !background::is_running(socket) {
        eprintln!("It does not run.");
        return Ok(());
    }
    ask_stop(socket).map_err(|error| unanswered(socket, &error))
}

/// Refuses to go on without the rights that a daemon needs.
pub(crate) fn refuse_without_root() -> Result<(), Failure> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let what = "this changes the network, so it needs root; run it with `sudo`, or as root";
    Err(Failure::setting(what))
}

/// Makes key and configuration, unless they exist.
fn make(state: &State, arguments: &UpArguments) -> Result<(), Failure> {
    let (key, path) = (state.key(), state.configuration());
    if path.exists() {
        return Ok(());
    }
    if !key.exists() {
        let made = PrivateKey::generate(&mut entropy::fill);
        key_file::write(&key, &made.to_text(), false)?;
    }
    let addresses = networks::choose()?;
    let addresses: Vec<_> = addresses.iter().map(|own| format!("\"{own}\"")).collect();
    let mut text = String::from(
        "# Made by `lasthop gateway up`; may be edited. app/lasthop/examples/gateway.toml shows every setting.\n",
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "private_key_file = \"gateway.key\"\nformer_private_key_file = \"former.key\"\npeers_folder = \"peers\""
    );
    if arguments.port != PORT {
        let _ = writeln!(text, "listen = \"[::]:{}\"", arguments.port);
    }
    if !arguments.endpoint.is_empty() {
        let places = endpoints::with_port(&arguments.endpoint, arguments.port)?;
        let places: Vec<_> = places.iter().map(|place| format!("\"{place}\"")).collect();
        let _ = writeln!(text, "endpoints = [{}]", places.join(", "));
    }
    if arguments.state != Path::new(STATE) {
        let _ = writeln!(text, "state_dir = \"../run\"");
    }
    let _ = writeln!(text, "\n[tun]\naddresses = [{}]", addresses.join(", "));
    if let Some(port) = tls_port(arguments) {
        let _ = writeln!(text, "\n[hop]\ntls_port = {port}");
    }
    state::replace(&path, &text)
}

/// Returns the port for TLS of a new gateway: the given one, else the usual one if it is free.
fn tls_port(arguments: &UpArguments) -> Option<NonZeroU16> {
    match arguments.tls_port {
        Some(port) => NonZeroU16::new(port),
        None => NonZeroU16::new(TLS_PORT).filter(|_| is_free(TLS_PORT)),
    }
}

/// Returns true if no program listens at this TCP port.
fn is_free(port: u16) -> bool {
    match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)) {
        Ok(_) => true,
        Err(error) => {
            eprintln!("TCP port {port} cannot be used for TLS: {error}.");
            false
        }
    }
}

/// Names the way for networks that let no UDP through.
fn say_tls(port: Option<NonZeroU16>, path: &Path) {
    match port {
        Some(port) => eprintln!(
            "Where a network blocks UDP, mobile hosts reach it by TLS: open TCP port {port} in the firewall, too."
        ),
        None => eprintln!(
            "It has no port for TLS, so mobile hosts cannot reach it from networks that block UDP; `tls_port` in \
             `[hop]` of {} sets one, before the first invitation.",
            path.display()
        ),
    }
}
