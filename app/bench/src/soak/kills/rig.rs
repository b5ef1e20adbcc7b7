//! A mobile host, its gateway and a fixed host, with both daemons.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ::rig::daemons::Daemons;
use ::rig::{Air, End, Namespace, Process};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

use super::Mode;
use crate::bench::peers;
use crate::failure::Failure;
use crate::hop::Hop;
use crate::soak::{tail, watch::Fault};

/// The gateway, as the fixed host sees it.
const OUTSIDE: &str = "198.51.100.1";
const FIXED_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
const MOBILE_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 2);
/// Time limit of a connection without obstacles.
const CONNECTING: Duration = Duration::from_secs(20);

/// Interval of small requests, and the longest time for which none is answered after a restart.
const REQUEST: Duration = Duration::from_millis(20);
const STALL_MAX: Duration = Duration::from_mins(1);

/// The hop by default.
const LINK: &str = "[each]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"100 packets\"\n\
    [errors]\nmodel = \"independent\"\np = \"2 %\"\n";

/// The daemon that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Victim {
    /// The gateway's
    Gateway,
    /// The mobile host's
    Mobile,
}

impl Victim {
    fn role(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Mobile => "mobile",
        }
    }
}

/// The end that opens a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionOpener {
    Mobile,
    Fixed,
}

/// Both ends of a connection.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) mobile: TcpStream,
    pub(super) fixed: TcpStream,
}

/// The hosts, joined, and their daemons.
pub(super) struct Rig {
    hop: Hop,
    fixed: Namespace,
    mode: Mode,
    /// Sends small requests to the fixed host, which answers.
    requester: (UdpSocket, SocketAddr),
    /// Running daemons, indexed by [`Victim`].
    running: Vec<Process>,
    _air: Air,
}

impl Rig {
    /// Joins the hosts and starts the daemons, in this mode, with this link and seed.
    pub(super) fn new(
        folder: &Path,
        program: &Path,
        mode: Mode,
        link: Option<&str>,
        seed: u64,
    ) -> Result<Self, Failure> {
        let hop = Hop::new(folder, program)?;
        let file = hop.path("link.toml");
        peers::write(&file, LINK)?;
        let air = hop.air(link.unwrap_or(&file.to_string_lossy()), seed)?;
        let [fixed] = ::rig::hosts()?;
        let (near, far) = (format!("{OUTSIDE}/24"), format!("{FIXED_ADDRESS}/24"));
        ::rig::join([
            End::new(&hop.gateway, "wire1", &near),
            End::new(&fixed, "wire1", &far),
        ])?;
        ::rig::route(&fixed, "10.79.0.0/24", OUTSIDE)?;
        let requester = requester(&hop.mobile, &fixed);
        let requester = requester.map_err(|error| Failure::Found(error.to_string()))?;
        let running = hop.start_daemons(&Daemons {
            peer: &mode.lines(),
            route: Some("198.51.100.0/24"),
            ..hop.daemons()
        })?;
        let rig = Self {
            hop,
            fixed,
            mode,
            requester,
            running,
            _air: air,
        };
        rig.wait()?;
        Ok(rig)
    }

    /// Ends a daemon at once (SIGKILL).
    pub(super) fn kill(&mut self, victim: Victim) {
        self.running[victim as usize].kill();
    }

    /// Starts it again.
    pub(super) fn start(&mut self, victim: Victim) -> Result<(), Failure> {
        let host = match victim {
            Victim::Gateway => &self.hop.gateway,
            Victim::Mobile => &self.hop.mobile,
        };
        let daemon = self.hop.daemons().start(victim as usize, host)?;
        self.running[victim as usize] = daemon;
        Ok(())
    }

    /// Waits until both ends are connected, and TCP is split if it is to be. A mobile host without data to send does
    /// not look for its gateway before its keys are two minutes old.
    pub(super) fn wait(&self) -> Result<(), Failure> {
        let done = (0..4).any(|_| self.wait_for_a_while().is_ok());
        if done {
            Ok(())
        } else {
            self.wait_for_a_while()
        }
    }

    fn wait_for_a_while(&self) -> Result<(), Failure> {
        self.hop.wait("TCP is split", || {
            let ends = [Victim::Gateway, Victim::Mobile].map(|end| self.status(end));
            let agreed = |status: &Value| {
                let peer = &status["host"]["peers"][0];
                let streams = self.mode.has_streams();
                !peer["keys_age"].is_null() && streams != peer["hop"]["streams"].is_null()
            };
            // The mobile host's rules come last.
            ends.iter().all(agreed) && (!self.mode.has_streams() || self.hop.diverts())
        })
    }

    /// Returns the number of connections that have crossed the hop as streams, if any do.
    pub(super) fn split_so_far(&self) -> u64 {
        let counters = &self.status(Victim::Gateway)["split"];
        let count = if self.mode.has_streams() {
            "on_streams"
        } else {
            "joined"
        };
        counters[count].as_u64().unwrap_or_default()
    }

    /// Waits for this number of split connections: the connecting end may be ready sooner.
    pub(super) fn wait_for_split(&self, count: u64) -> Result<(), Failure> {
        if !self.mode.is_split() {
            return Ok(());
        }
        let what = format!("{count} connections are split");
        self.hop.wait(&what, || self.split_so_far() >= count)
    }

    /// Opens a connection between the mobile host and the fixed host.
    pub(super) fn connect(&self, asker: ConnectionOpener) -> io::Result<Pair> {
        let (mobile, fixed) = (&self.hop.mobile, &self.fixed);
        let (asking, asked, address) = match asker {
            ConnectionOpener::Mobile => (mobile, fixed, FIXED_ADDRESS),
            ConnectionOpener::Fixed => (fixed, mobile, MOBILE_ADDRESS),
        };
        // A socket that is opened on a host stays there.
        let listener = asked.run(|| TcpListener::bind((address, 0)));
        let listener = listener.map_err(io::Error::other)??;
        let address = listener.local_addr()?;
        let opened = asking.run(|| TcpStream::connect_timeout(&address, CONNECTING));
        let opened = opened.map_err(io::Error::other)??;
        let (accepted, _) = listener.accept()?;
        Ok(match asker {
            ConnectionOpener::Mobile => Pair {
                mobile: opened,
                fixed: accepted,
            },
            ConnectionOpener::Fixed => Pair {
                mobile: accepted,
                fixed: opened,
            },
        })
    }

    fn request(&self, number: u64) {
        let (socket, to) = &self.requester;
        // While the daemon is dead there is no way.
        let _ = socket.send_to(&number.to_be_bytes(), to);
    }

    /// Sends requests for this time, and takes no answers.
    pub(super) fn request_for(&self, span: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < span {
            self.request(0);
            thread::sleep(REQUEST.min(span));
        }
    }

    /// Sends requests until one that is sent from now on is answered; returns the time that this took.
    pub(super) fn stall(&self) -> Result<Duration, Fault> {
        let begun = Instant::now();
        let mut number = 0_u64;
        while begun.elapsed() < STALL_MAX {
            number += 1;
            self.request(number);
            let mut answer = [0; 8];
            while let Ok(8) = self.requester.0.recv(&mut answer) {
                if (1..=number).contains(&u64::from_be_bytes(answer)) {
                    return Ok(begun.elapsed());
                }
            }
        }
        Err(format!("no request is answered for {STALL_MAX:?}"))
    }

    /// Returns the paths of the daemons' logs.
    pub(super) fn logs(&self) -> Logs {
        Logs([Victim::Gateway, Victim::Mobile].map(|end| self.hop.path(&log_of(end))))
    }

    /// Returns the status of both daemons, for the analysis of a fault.
    pub(super) fn describe(&self) -> Fault {
        let ends = [Victim::Gateway, Victim::Mobile].map(|end| {
            let status = self.status(end);
            let hop = &status["host"]["peers"][0]["hop"]["streams"];
            format!("  {}: {}\n    {hop}", end.role(), status["split"])
        });
        ends.join("\n")
    }

    fn status(&self, end: Victim) -> Value {
        self.hop.daemons().status(end as usize)
    }
}

/// Returns a socket of the mobile host for requests to the fixed host, where a thread answers them.
fn requester(mobile: &Namespace, fixed: &Namespace) -> io::Result<(UdpSocket, SocketAddr)> {
    let bind = || UdpSocket::bind((FIXED_ADDRESS, 0));
    let server = fixed.run(bind).map_err(io::Error::other)??;
    let address = server.local_addr()?;
    thread::spawn(move || {
        let mut buffer = [0; 64];
        loop {
            // An error reports an answer that did not arrive.
            if let Ok((count, from)) = server.recv_from(&mut buffer) {
                let _ = server.send_to(&buffer[..count], from);
            }
        }
    });
    // It is not connected, as its address comes and goes with the daemon.
    let open = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.set_read_timeout(Some(REQUEST))?;
        Ok(socket)
    };
    mobile
        .run(open)
        .map_err(io::Error::other)?
        .map(|socket: UdpSocket| (socket, address))
}

/// The logs of the daemons, also for a thread without access to the rig.
pub(super) struct Logs([PathBuf; 2]);

impl Logs {
    /// Returns their last lines.
    pub(super) fn text(&self) -> Fault {
        let ends = self.0.iter().map(|path| tail(path));
        ends.collect::<Vec<_>>().join("\n")
    }
}

fn log_of(end: Victim) -> String {
    format!("{}.log", end.role())
}
