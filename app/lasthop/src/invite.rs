//! `lasthop invite`: makes join lines for mobile hosts.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use qrcode::QrCode;
use qrcode::render::unicode;
use runtime::control::ask_reload;
use session::{Invitation, PrivateKey};
use zeroize::Zeroizing;

use crate::daemon::unix_seconds;
use crate::failure::Failure;
use crate::state::{Mobiles, STATE, State};
use crate::up::endpoints;
use crate::{background, entropy, key_file, lifetime};

const EXAMPLES: &str = "\
Examples:
  lasthop invite --name tablet7                  prints the command for tablet7, and a QR code of it
  lasthop invite --name tablet7 --expires 1h     for an hour instead of a day
  lasthop invite --name cam1 --name cam2 >lines  a line for each, for scripts
  lasthop invite --name tablet7 --endpoint gw.example.org

A line is for one host, once; keep it secret until then. For a name that has joined already it makes a line for a new
key: the present one works until the new one has joined. Other mobile hosts notice nothing.";

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

/// Make a join line for a new mobile host; the gateway may run or not.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Name of the mobile host; may be given several times
    #[arg(long, required = true)]
    name: Vec<String>,
    /// Time in which the line can be used, such as 30min, 24h
    #[arg(long, value_name = "TIME", default_value = EXPIRES, value_parser = lifetime::parse)]
    expires: u32,
    /// Address at which mobile hosts reach this gateway, HOST or HOST:PORT; may be given several times [default: those
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

/// A join line for a mobile host.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) text: Zeroizing<String>,
    pub(crate) expires: u32,
}

/// Makes the lines, and has the gateway take the new mobile hosts.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let path = configuration(arguments.config.as_deref(), &arguments.state)?;
    let mut mobiles = Mobiles::load(&path)?;
    let settings = settings(arguments.tcp);
    let expires = unix_seconds().saturating_add(arguments.expires);
    let places = endpoints::of(&mobiles.config, &arguments.endpoint)?;
    let mut lines = Vec::new();
    for name in &arguments.name {
        let settings = Settings {
            expires,
            endpoints: &places,
            table: &settings,
        };
        lines.push(make(&mut mobiles, name, &settings)?);
    }
    let is_taken = notify(&mobiles)?;
    drop(mobiles);
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
    pub(crate) expires: u32,
    pub(crate) endpoints: &'a [String],
    /// Further settings of the mobile hosts.
    pub(crate) table: &'a toml::Table,
}

/// Stores an invitation, and returns its line.
pub(crate) fn make(
    mobiles: &mut Mobiles,
    name: &str,
    settings: &Settings<'_>,
) -> Result<Line, Failure> {
    let key = mobiles
        .source
        .secret_file(&mobiles.config.private_key_file)?;
    let gateway = key_file::read::<PrivateKey>(&key)?.public_key();
    let expires = settings.expires;
    let (addresses, places) = (Vec::new(), settings.endpoints.to_vec());
    let mut invitation = Invitation::new(&mut entropy::fill, gateway, expires, addresses, places);
    invitation.tls_port = mobiles.config.hop.tls_port();
    let public = invitation.key().public_key();
    invitation.addresses = mobiles.invite(name, public, expires, settings.table)?;
    Ok(Line {
        name: name.into(),
        text: invitation.to_text(),
        expires,
    })
}

/// Has the running gateway take the changes; returns false if it does not run.
pub(crate) fn notify(mobiles: &Mobiles) -> Result<bool, Failure> {
    let socket = mobiles.source.socket()?;
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

/// Prints a line: alone for programs, and with a QR code on a terminal.
pub(crate) fn show(line: &Line, json: bool) {
    let Line {
        name,
        text,
        expires,
    } = line;
    if json {
        let line: &str = text;
        println!(
            "{}",
            serde_json::json!({ "name": name, "line": line, "expires": expires })
        );
        return;
    }
    if !std::io::stdout().is_terminal() {
        println!("lasthop join {}", **text);
        return;
    }
    let left = lifetime::in_words(expires.saturating_sub(unix_seconds()));
    println!("Run this on {name}, within {left}, as root; it works once:\n");
    println!("  lasthop join {}\n", **text);
    if let Ok(code) = QrCode::new(text.as_bytes()) {
        let mut image = code.render::<unicode::Dense1x2>();
        println!("{}", image.quiet_zone(true).build());
    }
}
