//! `lasthop invite`: makes lines for mobile hosts, and for other gateways of the site.

use std::io::IsTerminal;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use qrcode::QrCode;
use qrcode::render::unicode;
use runtime::control::ask_reload;
use session::{Invitation, PrivateKey, SiteInvitation};
use zeroize::Zeroizing;

use crate::config::entry::Kind;
use crate::config::values::Remote;
use crate::daemon::{PORT, unix_seconds};
use crate::failure::Failure;
use crate::state::{Invitee, Members, STATE, State};
use crate::up::{endpoints, networks};
use crate::{background, entropy, key_file, lifetime};

const EXAMPLES: &str = "\
Examples:
  lasthop invite --name tablet7                  prints the command for tablet7, and a QR code of it
  lasthop invite --name tablet7 --expires 1h     for an hour instead of a day
  lasthop invite --name cam1 --name cam2 >lines  a line for each, for scripts
  lasthop invite --name tablet7 --endpoint gw.example.org
  lasthop invite --name west --gateway 203.0.113.2
                                                 a line for another gateway of the site, at this address

A line is for one host, once; keep it secret until then. For a name that has joined already it makes a line for a new
key: the present one works until the new one has joined. Other mobile hosts notice nothing.

With --gateway the line is for another gateway, which joins the site with `lasthop gateway up --site LINE`: the two know
each other from then on.";

/// Usual time in which a line can be used.
const EXPIRES: &str = "24h";

/// Repair of the TCP of a mobile host, as in the gateway's configuration.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum TcpName {
    Arq,
    Snoop,
    Split,
    Auto,
    Plain,
}

/// Make a line for a new mobile host, or for another gateway of the site; the gateway may run or not.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Name of the mobile host, or of the new gateway; may be given several times
    #[arg(long, required = true)]
    name: Vec<String>,
    /// Time in which the line can be used, such as 30min, 24h
    #[arg(long, value_name = "TIME", default_value = EXPIRES, value_parser = lifetime::parse)]
    expires: u32,
    /// Invite a gateway, which the others of the site reach at this address, HOST or HOST:PORT
    #[arg(long, value_name = "HOST", conflicts_with = "tcp")]
    gateway: Option<String>,
    /// Address at which the invited reach this gateway, HOST or HOST:PORT; may be given several times [default: those
    /// of this host]
    #[arg(long, value_name = "HOST")]
    endpoint: Vec<String>,
    /// Repair of its TCP [default: arq]
    #[arg(long, value_name = "HOW")]
    tcp: Option<TcpName>,
    /// Print the lines as JSON
    #[arg(long)]
    json: bool,
    /// The gateway's configuration [default: that of `lasthop gateway up`]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of `lasthop gateway up`
    #[arg(long, value_name = "FOLDER", default_value = STATE)]
    state: PathBuf,
}

/// A line for a mobile host, or for a gateway.
pub(crate) struct Line {
    kind: Kind,
    pub(crate) name: String,
    pub(crate) text: Zeroizing<String>,
    pub(crate) expires: u32,
}

/// Makes the lines, and has the gateway take the new hosts.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.gateway.is_some() && arguments.name.len() > 1 {
        let what = "each gateway has an address of its own; run this for one `--name` at a time";
        return Err(Failure::setting(what));
    }
    let path = configuration(arguments.config.as_deref(), &arguments.state)?;
    let mut members = Members::load(&path)?;
    let (kind, settings) = match &arguments.gateway {
        Some(host) => (Kind::Gateway, place_of(host)?),
        None => (Kind::Mobile, settings(arguments.tcp)),
    };
    let expires = unix_seconds().saturating_add(arguments.expires);
    let places = endpoints::of(&members.config, &arguments.endpoint)?;
    let mut lines = Vec::new();
    for name in &arguments.name {
        let settings = Settings {
            kind,
            expires,
            endpoints: &places,
            table: &settings,
        };
        lines.push(make(&mut members, name, &settings)?);
    }
    let is_taken = notify(&members)?;
    drop(members);
    for line in &lines {
        show(line, arguments.json);
    }
    if !is_taken {
        eprintln!("The gateway does not run; start it with `lasthop gateway up`.");
    }
    Ok(())
}

fn settings(tcp: Option<TcpName>) -> toml::Table {
    let name = tcp.and_then(|tcp| tcp.to_possible_value());
    let tcp = name.map(|name| ("tcp".to_owned(), name.get_name().into()));
    tcp.into_iter().collect()
}

/// Returns the settings of a gateway at this host: gateways are known by their addresses, so a name is resolved now.
fn place_of(host: &str) -> Result<toml::Table, Failure> {
    let places = endpoints::with_port(&[host.to_owned()], PORT)?;
    let mut table = toml::Table::new();
    for place in places {
        let address = Remote::read(&place).map_err(Failure::setting)?.resolve()?;
        table.insert("endpoint".into(), address.to_string().into());
    }
    Ok(table)
}

/// Returns the path of a gateway's configuration: a given one, or that of `lasthop gateway up`.
pub(crate) fn configuration(given: Option<&Path>, state: &Path) -> Result<PathBuf, Failure> {
    if let Some(path) = given {
        return Ok(path.into());
    }
    let path = State::of_gateway(state)?.configuration();
    match path.try_exists() {
        Ok(true) => Ok(path),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let path = path.display();
            Err(Failure::setting(format!(
                "cannot open {path}: {error}; run this as root"
            )))
        }
        _ => Err(Failure::setting(format!(
            "this host is no gateway yet ({} is missing); make it one with `lasthop gateway up`, or name a \
             configuration with --config",
            path.display()
        ))),
    }
}

/// What the lines of one command have in common.
pub(crate) struct Settings<'a> {
    pub(crate) kind: Kind,
    pub(crate) expires: u32,
    pub(crate) endpoints: &'a [String],
    /// Further settings of the hosts.
    pub(crate) table: &'a toml::Table,
}

/// Stores an invitation, and returns its line.
pub(crate) fn make(
    members: &mut Members,
    name: &str,
    settings: &Settings<'_>,
) -> Result<Line, Failure> {
    let key = members
        .source
        .secret_file(&members.config.private_key_file)?;
    let gateway = key_file::read::<PrivateKey>(&key)?.public_key();
    let (kind, expires) = (settings.kind, settings.expires);
    let (addresses, places) = (Vec::new(), settings.endpoints.to_vec());
    let mut invitation = Invitation::new(&mut entropy::fill, gateway, expires, addresses, places);
    let invitee = Invitee {
        kind,
        name,
        key: invitation.key().public_key(),
        expires,
    };
    let text = match kind {
        Kind::Mobile => {
            invitation.tls_port = members.config.hop.tls_port();
            invitation.addresses = members.invite(invitee, settings.table)?;
            invitation.to_text()
        }
        // Gateways reach each other by UDP only.
        Kind::Gateway => {
            invitation.addresses = invite_gateway(members, invitee, settings.table)?;
            let (inviter, name) = (members.config.site_name(), name.to_owned());
            let invitation = SiteInvitation {
                invitation,
                inviter,
                name,
            };
            invitation.to_text()
        }
    };
    Ok(Line {
        kind,
        name: name.into(),
        text,
        expires,
    })
}

/// Stores an invitation of a gateway; a new one gets inner networks that nobody has. Returns its inner addresses.
fn invite_gateway(
    members: &mut Members,
    invitee: Invitee<'_>,
    settings: &toml::Table,
) -> Result<Vec<(IpAddr, u8)>, Failure> {
    if !members.config.hop.is_udp() {
        let what =
            "the gateways of a site are reached by UDP, and this one has `bearer = \"ethernet\"`";
        return Err(members.source.wrong(None, what));
    }
    let mut settings = settings.clone();
    let known = members.find(invitee.name);
    if known.is_none_or(|known| known.networks.is_empty()) {
        let addresses = networks::choose(&members.taken())?;
        let addresses = addresses.iter().map(|own| own.to_string().into());
        settings.insert("addresses".into(), toml::Value::Array(addresses.collect()));
    }
    members.invite(invitee, &settings)
}

/// Has the running gateway take the changes; returns false if it does not run.
pub(crate) fn notify(members: &Members) -> Result<bool, Failure> {
    let socket = members.source.socket()?;
    if !background::is_running(&socket) {
        return Ok(false);
    }
    let asked = ask_reload(&socket).map_err(|error| crate::status::unanswered(&socket, &error));
    asked?.map(|_| true).map_err(|error| {
        Failure::setting(format!(
            "the change is stored, but the running gateway refuses its configuration: {error}"
        ))
    })
}

impl Line {
    /// Returns the command for which the line is.
    fn command(&self) -> &'static str {
        match self.kind {
            Kind::Mobile => "lasthop join",
            Kind::Gateway => "lasthop gateway up --site",
        }
    }
}

/// Prints a line: alone for programs, and with a QR code on a terminal.
pub(crate) fn show(line: &Line, json: bool) {
    let Line {
        name,
        text,
        expires,
        ..
    } = line;
    let command = line.command();
    if json {
        let line: &str = text;
        println!(
            "{}",
            serde_json::json!({ "name": name, "line": line, "expires": expires })
        );
        return;
    }
    if !std::io::stdout().is_terminal() {
        println!("{command} {}", **text);
        return;
    }
    let left = lifetime::in_words(expires.saturating_sub(unix_seconds()));
    println!("Run this on {name}, within {left}, as root; it works once:\n");
    println!("  {command} {}\n", **text);
    if line.kind == Kind::Gateway {
        // Nobody points a camera at it.
        return;
    }
    if let Ok(code) = QrCode::new(text.as_bytes()) {
        let mut image = code.render::<unicode::Dense1x2>();
        println!("{}", image.quiet_zone(true).build());
    }
}
