//! `lasthop join` and `leave`: a mobile host by a join line.

mod beside;
mod contact;
mod doubt;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use edges::resolver;
use edges::undo::standing;
use runtime::Status;
use runtime::control::ask_status;
use session::{Invitation, PrivateKey};
use zeroize::Zeroizing;

pub(crate) use contact::{Newcomer, claim as claim_with};
pub(crate) use doubt::check_clock;

use crate::config::mobile::{Fallback, MobileConfig};
use crate::config::{Source, next_key_of};
use crate::failure::Failure;
use crate::state::{STATE, State};
use crate::up::{refuse_without_root, start, stop};
use crate::{background, doctor, entropy, key_file, state};

const EXAMPLES: &str = "\
Examples:
  lasthop join lasthop-join1-…    joins the gateway whose operator has made this line
  lasthop status                  the state of the hop
  lasthop join --fallback block lasthop-join1-…
                                  lets nothing leave beside the hop, also while it is down
  lasthop leave                   ends it, and takes back every rule and route

All traffic of this host crosses the hop from then on, except to its local network. It makes a key of its own; the line
is worth nothing afterwards. All of it is in FOLDER/mobile: mobile.toml may be edited. With systemd and the package it
is the service lasthop-mobile, which also runs after a reboot. It needs root.";

/// Name of the daemon, and its role.
const NAME: &str = "mobile";
/// Time in which the daemon should be connected, since the gateway has answered just before.
const PATIENCE: Duration = Duration::from_secs(10);

/// Join a gateway with a line from its `lasthop invite`, and start in the background.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct JoinArguments {
    /// The line; `-` reads it from standard input, so that no list of processes shows it. Without it, the daemon of an
    /// earlier `join` is started again
    line: Option<String>,
    /// What happens to traffic while the hop is down [default: direct]
    #[arg(long, value_enum, requires = "line")]
    fallback: Option<Fallback>,
    /// Folder of the key and the configuration
    #[arg(long, value_name = "FOLDER", default_value = STATE)]
    state: PathBuf,
    /// Longest time to wait for an answer, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    timeout: u32,
}

/// End the mobile host of `join`, and forget its gateway.
#[derive(Debug, Args)]
pub(crate) struct LeaveArguments {
    /// Folder of `lasthop join`
    #[arg(long, value_name = "FOLDER", default_value = STATE)]
    state: PathBuf,
    /// Keep key and configuration: `lasthop join` without a line goes on
    #[arg(long)]
    keep: bool,
}

/// Joins a gateway.
pub(crate) fn join(arguments: &JoinArguments) -> Result<(), Failure> {
    refuse_without_root()?;
    let state = State::of_mobile(&arguments.state)?;
    let path = state.configuration();
    if let Some(line) = &arguments.line {
        if path.exists() {
            let path = path.display();
            return Err(Failure::setting(format!(
                "this host has joined a gateway already ({path}); `lasthop leave` leaves it, `lasthop join` without a \
                 line starts it"
            )));
        }
        let line = line_in(line, "lasthop join ")?;
        let invitation = Invitation::parse(&line).map_err(Failure::setting)?;
        claim(&state, &invitation, arguments)?;
    } else if !path.exists() {
        let what = "this host has not joined yet; give the line that `lasthop invite` prints on the gateway";
        return Err(Failure::setting(what));
    }
    let socket = Source::read(&path)?.socket()?;
    if background::is_running(&socket) {
        eprintln!("It runs already.");
    } else {
        let log = start(NAME, &arguments.state, &state, &socket)?;
        eprintln!("Started; {log}.");
    }
    doctor::print_errors(&path)?;
    let began = Instant::now();
    loop {
        match progress(&socket) {
            Progress::Connected => break,
            Progress::Declined(words) => {
                return Err(Failure::broken(format!("the daemon runs, but {words}")));
            }
            Progress::Trouble(words) if began.elapsed() > PATIENCE => {
                eprintln!("Started, but not connected yet: {words}");
                return Ok(());
            }
            Progress::Trouble(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    eprintln!(
        "Connected: all traffic crosses the hop now. `lasthop status` shows it, `lasthop leave` ends it."
    );
    Ok(())
}

/// Ends the daemon, and forgets the gateway.
pub(crate) fn leave(arguments: &LeaveArguments) -> Result<(), Failure> {
    let state = State::of_mobile(&arguments.state)?;
    let path = state.configuration();
    if !path.exists() {
        let what = "this host has not joined a gateway, so there is nothing to leave";
        return Err(Failure::setting(what));
    }
    stop(NAME, &arguments.state, &path)?;
    lift_block(&state)?;
    if arguments.keep {
        return Ok(());
    }
    let others = [next_key_of(&state.key()), state.told()].into_iter();
    let others = others.filter(|other| other.exists());
    let files = [path, state.key(), state.gateway_key()].into_iter();
    for path in files.chain(others) {
        state::remove(&path)?;
    }
    Ok(())
}

/// Returns the line that was given, or the first one of standard input, without the command with which it was printed.
pub(crate) fn line_in(given: &str, command: &str) -> Result<Zeroizing<String>, Failure> {
    let mut text = Zeroizing::new(String::new());
    let line = if given == "-" {
        std::io::stdin()
            .read_line(&mut text)
            .map_err(|error| Failure::broken(format!("cannot read the line: {error}")))?;
        &text
    } else {
        given
    };
    let line = line.trim();
    Ok(Zeroizing::new(
        line.strip_prefix(command).unwrap_or(line).into(),
    ))
}

/// Has the gateway take this host's key, and writes the configuration.
fn claim(state: &State, invitation: &Invitation, arguments: &JoinArguments) -> Result<(), Failure> {
    check_clock(invitation)?;
    doubt::check_addresses(invitation)?;
    state.create()?;
    let path = state.key();
    // If an earlier try was interrupted, the gateway may know this key already.
    if !path.exists() {
        let made = PrivateKey::generate(&mut entropy::fill);
        key_file::write(&path, &made.to_text(), false)?;
    }
    let key: PrivateKey = key_file::read(&path)?;
    let limit = Duration::from_secs(arguments.timeout.into());
    let newcomer = Newcomer {
        key,
        as_gateway: None,
    };
    let answered = contact::claim(invitation, newcomer, limit)?.endpoint;
    let known = state.gateway_key();
    if let Some(folder) = known.parent() {
        state::create_folder(folder)?;
    }
    state::replace(&known, &format!("{}\n", invitation.gateway))?;
    let text = configuration(invitation, answered, arguments);
    state::replace(&state.configuration(), &text)
}

/// Returns the configuration of a mobile host that has joined by the endpoint with this index.
fn configuration(invitation: &Invitation, answered: usize, arguments: &JoinArguments) -> String {
    let mut text = String::from(
        "# Made by `lasthop join`; may be edited. app/lasthop/examples/mobile.toml shows every setting.\n",
    );
    let addresses = invitation.addresses.iter();
    let addresses: Vec<_> = addresses
        .map(|(address, length)| format!("\"{address}/{length}\""))
        .collect();
    let mut endpoints: Vec<_> = invitation
        .endpoints
        .iter()
        .map(|at| format!("\"{at}\""))
        .collect();
    // The one that has answered is the first to be tried.
    endpoints[..=answered].rotate_right(1);
    // Earlier versions let a line have one twice.
    let mut known = BTreeSet::new();
    endpoints.retain(|at| known.insert(at.clone()));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "private_key_file = \"mobile.key\"");
    if let Some(fallback) = arguments.fallback {
        let _ = writeln!(text, "fallback = \"{}\"", fallback.name());
    }
    if arguments.state != Path::new(STATE) {
        let _ = writeln!(text, "state_dir = \"../run\"");
    }
    let _ = writeln!(text, "\n[gateway]\nendpoint = [{}]", endpoints.join(", "));
    let _ = writeln!(text, "public_key_file = \"gateway/public_key\"");
    let _ = writeln!(text, "\n[tun]\naddresses = [{}]", addresses.join(", "));
    if let Some(port) = invitation.tls_port {
        let _ = writeln!(text, "\n[hop]\ntls_port = {port}");
    }
    text
}

/// Returns the folder of the daemon's socket, and its name.
fn place_of(state: &State) -> Result<(PathBuf, String), Failure> {
    let source = Source::read(&state.configuration())?;
    let config = MobileConfig::load(&source)?;
    Ok((source.file(&config.state_dir), config.name.0))
}

/// Lifts the block that a daemon with `fallback = "block"` has left.
fn lift_block(state: &State) -> Result<(), Failure> {
    let (folder, name) = place_of(state)?;
    if resolver::lift(&folder, &name).map_err(Failure::broken)? {
        eprintln!("Names are asked as without the hop again.");
    }
    if standing::lift(&folder, &name).map_err(Failure::broken)? > 0 {
        eprintln!("The block is lifted: traffic leaves this host without the hop again.");
    }
    Ok(())
}

/// Progress of a daemon towards its gateway.
enum Progress {
    Connected,
    /// The gateway will not have it, in words.
    Declined(String),
    /// It is not there yet; in words, if something is known.
    Trouble(String),
}

fn progress(socket: &Path) -> Progress {
    let status = ask_status::<Status>(socket);
    let Some(peer) = status
        .ok()
        .and_then(|status| status.host.peers.into_iter().next())
    else {
        return Progress::Trouble("it does not answer; its log says why".into());
    };
    if peer.keys_age.is_some() {
        return Progress::Connected;
    }
    match peer.trouble {
        None => Progress::Trouble("`lasthop status` says more".into()),
        Some(trouble) if trouble.code.is_decline() => Progress::Declined(trouble.words),
        Some(trouble) => Progress::Trouble(trouble.words),
    }
}
