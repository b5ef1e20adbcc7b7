//! `lasthop gateway up` and `down`: a gateway without a configuration of the user's.

pub(crate) mod endpoints;
pub(crate) mod networks;
mod site;

use std::fmt::Write;
use std::net::{Ipv6Addr, TcpListener};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};

use clap::Args;
use runtime::control::ask_stop;
use session::PrivateKey;

use crate::config::Source;
use crate::config::entry::Kind;
use crate::daemon::{PORT, unix_seconds};
use crate::failure::Failure;
use crate::service::Service;
use crate::state::{Members, STATE, State};
use crate::status::unanswered;
use crate::{background, doctor, entropy, invite, key_file, state};
use site::Entrant;

const EXAMPLES: &str = "\
Examples:
  lasthop gateway up                             makes this host a gateway, prints a join line for a first mobile host
  lasthop gateway up --endpoint gw.example.org   mobile hosts reach it by this name, through a port forwarding too
  lasthop invite --name tablet7                  another join line
  lasthop gateway up --site lasthop-site1-…      joins the site of the gateway whose operator has made this line
  lasthop gateway restart                        has the installed version take its place; connections go on
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
    /// Join a site with this line of `lasthop invite --gateway`; `-` reads it from standard input, so that no list of
    /// processes shows it
    #[arg(long, value_name = "LINE", conflicts_with = "mobile")]
    site: Option<String>,
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
    let entrant = arguments.site.as_deref();
    let entrant = entrant.map(|line| Entrant::of(line, &state)).transpose()?;
    state.create()?;
    let answered = make(&state, arguments, entrant.as_ref())?;
    let path = state.configuration();
    let mut members = Members::load(&path)?;
    let places = endpoints::of(&members.config, &arguments.endpoint)?;
    let socket = members.source.socket()?;
    if let (Some(entrant), Some(answered)) = (&entrant, &answered) {
        entrant.admit(&mut members, answered)?;
    }
    let settings = invite::Settings {
        kind: Kind::Mobile,
        expires: unix_seconds().saturating_add(EXPIRES),
        endpoints: &places,
        table: &toml::Table::new(),
    };
    let is_new = members.config.mobiles().next().is_none() && entrant.is_none();
    let line = is_new.then(|| invite::make(&mut members, &arguments.mobile, &settings));
    let line = line.transpose()?;
    let tls_port = members.config.hop.tls_port();
    let is_running = background::is_running(&socket);
    if is_running && entrant.is_some() {
        invite::notify(&members)?;
    }
    drop(members);
    if is_running {
        eprintln!("The gateway runs already.");
    } else {
        let log = start(ROLE, &arguments.state, &state, &socket)?;
        eprintln!("The gateway runs; {log}.");
    }
    doctor::print_errors(&path)?;
    say_tls(tls_port, &path);
    endpoints::warn_if_private(&places);
    if let Some(entrant) = &entrant {
        entrant.wait(&socket);
    }
    match line {
        Some(line) => invite::show(&line, false),
        None => {
            eprintln!("`lasthop invite --name NAME` makes a join line for another mobile host.");
        }
    }
    Ok(())
}

/// Starts the gateway anew, in the present version.
pub(crate) fn restart(arguments: &DownArguments) -> Result<(), Failure> {
    refuse_without_root()?;
    let path = invite::configuration(None, &arguments.state)?;
    let service = Service::find(ROLE, &arguments.state);
    if let Some(service) = service.filter(Service::is_used) {
        return service.restart();
    }
    let socket = &Source::read(&path)?.socket()?;
    if !background::is_running(socket) {
        return Err(Failure::setting(
            "it does not run; start it with `lasthop gateway up`",
        ));
    }
    let state = State::of_gateway(&arguments.state)?;
    background::succeed(ROLE, &state, socket)
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

/// Makes key and configuration, unless they exist; in between, the key of one who joins a site is claimed. Returns the
/// address at which the other gateway has answered.
fn make(
    state: &State,
    arguments: &UpArguments,
    entrant: Option<&Entrant>,
) -> Result<Option<String>, Failure> {
    let (key, path) = (state.key(), state.configuration());
    let is_new = !path.exists();
    if is_new && !key.exists() {
        let made = PrivateKey::generate(&mut entropy::fill);
        key_file::write(&key, &made.to_text(), false)?;
    }
    let answered = entrant.map(|entrant| entrant.claim(&key)).transpose()?;
    if is_new {
        state::replace(&path, &configuration(arguments, entrant)?)?;
    }
    Ok(answered)
}

/// Returns the configuration of a new gateway.
fn configuration(arguments: &UpArguments, entrant: Option<&Entrant>) -> Result<String, Failure> {
    let addresses = match entrant {
        Some(entrant) => entrant.addresses()?,
        None => networks::choose(&[])?,
    };
    let addresses: Vec<_> = addresses.iter().map(|own| format!("\"{own}\"")).collect();
    let mut text = String::from(
        "# Made by `lasthop gateway up`; may be edited. app/lasthop/examples/gateway.toml shows every setting.\n",
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "private_key_file = \"gateway.key\"\nformer_private_key_file = \"former.key\"\npeers_folder = \"peers\"\n\
         gateways_folder = \"gateways\""
    );
    if let Some(entrant) = entrant {
        let _ = writeln!(text, "site_name = \"{}\"", entrant.line.name);
    }
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
    Ok(text)
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
