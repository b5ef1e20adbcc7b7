//! `lasthop web`: metrics for Prometheus and a page for browsers, beside a daemon, which stays contained and has no
//! HTTP server.

mod address;
mod history;
mod metrics;
mod page;
mod poll;
mod relay;
mod server;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use clap::Args;
use runtime::privileges::{self, Remains, User};
use rustix::thread::CapabilitySet;
use socket2::SockRef;

use crate::failure::Failure;
use crate::log;
use crate::status::{ENDING, only_socket};

pub(crate) use relay::{RelayArguments, run as run_relay};

/// Send buffer of a connection, in bytes.
const SEND_BUFFER: usize = 128 << 10;

const EXAMPLES: &str = "\
Examples:
  lasthop web                              of the daemon on this host, at http://127.0.0.1:9530/
  lasthop web --name gateway               of one of several
  lasthop web --listen 10.73.0.1:9530      for the hosts of the tunnel
  curl http://127.0.0.1:9530/metrics       for Prometheus

It only shows: nothing can be changed by it. It waits for a daemon that does not run, and for one that starts again.";

/// Serve metrics for Prometheus and a live page about a daemon and its hops
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Address and port: loopback, or an address of the daemon inside the tunnel
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9530")]
    listen: SocketAddr,
    /// The daemon, by its configuration's `name` [default: the only one]
    #[arg(long)]
    name: Option<String>,
    /// The daemon's `state_dir`
    #[arg(long, value_name = "FOLDER", default_value = edges::undo::STATE_FOLDER)]
    state_dir: PathBuf,
}

/// Serves until a signal ends the process.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    log::start()?;
    let socket = socket(arguments)?;
    let name = socket.file_stem().unwrap_or_default().to_string_lossy();
    address::check(arguments.listen, &arguments.state_dir, &name)?;
    let listener = listen(arguments.listen)?;
    let at = listener.local_addr().map_err(Failure::broken)?;
    let user = User::find(None).map_err(Failure::setting)?;
    let relay = relay::Relay::start(&socket)?;
    let nothing = Remains {
        capabilities: CapabilitySet::empty(),
        read: &[],
    };
    privileges::drop_all_but(&user, &nothing).map_err(Failure::setting)?;
    let recorder = poll::Recorder::new();
    let shared = recorder.shared();
    poll::start(relay, recorder)?;
    tracing::info!(
        "the page of '{name}' is at http://{at}/, and its metrics at http://{at}/metrics"
    );
    server::run(listener, shared)
}

/// Returns the control socket of the daemon, which need not run yet if it has a name.
fn socket(arguments: &Arguments) -> Result<PathBuf, Failure> {
    let folder: &Path = &arguments.state_dir;
    let socket = match &arguments.name {
        Some(name) => folder.join(format!("{name}.{ENDING}")),
        None => only_socket(folder, ENDING)?,
    };
    // The relay gets it as an argument.
    std::path::absolute(&socket).map_err(Failure::broken)
}

fn listen(at: SocketAddr) -> Result<TcpListener, Failure> {
    let bind = || {
        let listener = TcpListener::bind(at)?;
        // Connections inherit it. So the kernel holds little for a client that does not read, and the wait begins
        // soon.
        SockRef::from(&listener).set_send_buffer_size(SEND_BUFFER)?;
        Ok(listener)
    };
    bind().map_err(|error: std::io::Error| {
        let remedy = match error.kind() {
            std::io::ErrorKind::AddrInUse => "; choose another port with --listen",
            std::io::ErrorKind::AddrNotAvailable => "; this host has no such address now",
            _ => "",
        };
        Failure::setting(format!("cannot listen at {at}: {error}{remedy}"))
    })
}
