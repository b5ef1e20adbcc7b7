//! A slow server: a relay in front of the real one that passes on one call at a time.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rig::{Ganesha, Process};

use crate::bench::setting;
use crate::failure::Failure;
use crate::hop::Hop;

/// Port on which the relay receives calls.
pub(crate) const PORT: u16 = 20_491;
/// Length of the longest datagram.
const LONGEST: usize = 65_535;
/// Timeout of a call, after which the client must repeat it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The service time of calls.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Nanoseconds for each byte of the longer one of a call and its reply
    #[arg(long)]
    per_byte: u64,
}

/// Starts a relay in the server's host.
pub(crate) fn start(hop: &Hop, per_byte: u64) -> Result<Process, Failure> {
    let ourselves = setting::ourselves()?;
    let mut command = Command::new(ourselves);
    command.args(["bench", "slow-server", "--per-byte", &per_byte.to_string()]);
    hop.start(&hop.gateway, "slow-server", command)
}

/// Relays until it is killed.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    relay(options).map_err(|error| Failure::Found(format!("the slow server cannot go on: {error}")))
}

fn relay(options: &Options) -> std::io::Result<()> {
    let clients = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    server.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, Ganesha::PORT)))?;
    server.set_read_timeout(Some(PATIENCE))?;
    let (mut call, mut reply) = (vec![0; LONGEST], vec![0; LONGEST]);
    loop {
        let (asked, client) = clients.recv_from(&mut call)?;
        let begun = Instant::now();
        if server.send(&call[..asked]).is_err() {
            continue;
        }
        // A late reply to the previous call could be taken for this one's: the transaction number identifies it.
        let answered = loop {
            match server.recv(&mut reply) {
                Ok(length) if reply[..4] == call[..4] => break Some(length),
                Ok(_) => {}
                Err(_) => break None,
            }
        };
        let Some(answered) = answered else {
            continue;
        };
        let service = Duration::from_nanos(options.per_byte * asked.max(answered) as u64);
        thread::sleep(service.saturating_sub(begun.elapsed()));
        // If nobody receives it, the client repeats the call.
        let _ = clients.send_to(&reply[..answered], client);
    }
}
