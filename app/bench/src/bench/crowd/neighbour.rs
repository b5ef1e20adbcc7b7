//! Requests of one mobile host, while its gateway admits and revokes another.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rig::{End, Namespace};
use serde::Serialize;

use super::{GATEWAY, command};
use crate::bench::beside::there;
use crate::failure::Failure;

/// The gateway and the mobile host on the link between them.
const LINK: [&str; 2] = ["198.51.100.1", "198.51.100.2"];
/// Interval of the requests, and time after which one is lost.
const INTERVAL: Duration = Duration::from_millis(2);
const LOST: Duration = Duration::from_millis(500);
/// Delay beyond the median that counts, in milliseconds.
const LATE: f64 = 5.0;

/// A mobile host with a daemon, which sends requests through the hop to a server on the gateway.
pub(super) struct Neighbour<'a> {
    program: &'a Path,
    host: Namespace,
    state: PathBuf,
    socket: UdpSocket,
}

/// How the requests of a span of time went.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Requests {
    pub(super) sent: usize,
    pub(super) lost: usize,
    /// Milliseconds until the reply.
    pub(super) median_ms: f64,
    pub(super) longest_ms: f64,
    /// Replies that came more than 5 ms after the median.
    pub(super) late: usize,
}

impl<'a> Neighbour<'a> {
    /// Invites it, and joins.
    pub(super) fn join(
        program: &'a Path,
        gateway: &Namespace,
        folder: &Path,
    ) -> Result<Self, Failure> {
        let [host] = rig::hosts()?;
        let [near, far] = LINK.map(|address| format!("{address}/24"));
        rig::join([
            End::new(gateway, "eth1", &near),
            End::new(&host, "eth0", &far),
        ])?;
        let invite = ["invite", "--name", "neighbour", "--endpoint", LINK[0]];
        let line = command(program, gateway, &folder.join("state"), &invite)?;
        let line = line.trim().trim_start_matches("lasthop join ");
        let state = folder.join("neighbour");
        command(program, &host, &state, &["join", line])?;
        let server = serve(gateway)?;
        let socket = open(&host, "0.0.0.0:0")?;
        socket.connect(server).map_err(failed("connect"))?;
        let patience = Some(Duration::from_micros(500));
        socket.set_read_timeout(patience).map_err(failed("set"))?;
        Ok(Self {
            program,
            host,
            state,
            socket,
        })
    }

    /// Sends requests for some time.
    pub(super) fn ask(&self, span: Duration) -> Result<Requests, Failure> {
        let begun = Instant::now();
        let mut sent: Vec<Instant> = Vec::new();
        let mut delays = Vec::new();
        loop {
            let passed = begun.elapsed();
            if passed > span + LOST {
                break;
            }
            if passed < span && passed >= INTERVAL * u32::try_from(sent.len()).unwrap_or(u32::MAX) {
                let number = u32::try_from(sent.len()).unwrap_or(u32::MAX).to_be_bytes();
                sent.push(Instant::now());
                self.socket.send(&number).map_err(failed("send"))?;
            }
            let mut reply = [0; 4];
            match self.socket.recv(&mut reply) {
                Ok(4) => {
                    let number = u32::from_be_bytes(reply) as usize;
                    let delay = sent.get(number).map(Instant::elapsed);
                    delays.extend(delay.map(|delay| delay.as_secs_f64() * 1e3));
                }
                Ok(_) => {}
                Err(error) if is_nothing(error.kind()) => {}
                Err(error) => return Err(failed("receive")(error)),
            }
        }
        delays.sort_by(f64::total_cmp);
        let median_ms = delays.get(delays.len() / 2).copied().unwrap_or(f64::NAN);
        let late = delays.iter().filter(|delay| **delay > median_ms + LATE);
        Ok(Requests {
            sent: sent.len(),
            lost: sent.len() - delays.len(),
            median_ms,
            longest_ms: delays.last().copied().unwrap_or(f64::NAN),
            late: late.count(),
        })
    }
}

impl Drop for Neighbour<'_> {
    fn drop(&mut self) {
        // The rig has no other hold of the daemon, which `join` has started in the background.
        if let Err(error) = command(self.program, &self.host, &self.state, &["leave"]) {
            eprintln!("{error}");
        }
    }
}

/// Answers requests at an address of the gateway that only a tunnel leads to, in a thread that nobody ends.
fn serve(gateway: &Namespace) -> Result<SocketAddr, Failure> {
    let socket = open(gateway, &format!("{GATEWAY}:0"))?;
    let server = socket.local_addr().map_err(failed("find"))?;
    thread::spawn(move || {
        let mut request = [0; 4];
        while let Ok((length, from)) = socket.recv_from(&mut request) {
            // A lost reply counts as a lost request.
            let _ = socket.send_to(&request[..length], from);
        }
    });
    Ok(server)
}

fn open(host: &Namespace, address: &str) -> Result<UdpSocket, Failure> {
    there(host, || UdpSocket::bind(address))
}

fn is_nothing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn failed(what: &'static str) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::Found(format!("cannot {what} the socket of a neighbour: {error}"))
}
