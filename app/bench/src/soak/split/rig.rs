//! A mobile host, its gateway and a fixed host, with both daemons.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::rig::daemons::Daemons;
use ::rig::{Air, End, Namespace, Process};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

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
    /// True if streams of MTCP should cross the hop.
    streams: bool,
    /// Running daemons, indexed by [`Victim`].
    running: Vec<Process>,
    _air: Air,
}

impl Rig {
    /// Joins the hosts and starts the daemons, with this transport, link and seed.
    pub(super) fn new(
        folder: &Path,
        program: &Path,
        transport: &str,
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
        let running = hop.start_daemons(&Daemons {
            peer: &format!("tcp = \"split\"\nsplit_transport = \"{transport}\"\n"),
            route: Some("198.51.100.0/24"),
            ..hop.daemons()
        })?;
        let rig = Self {
            hop,
            fixed,
            streams: transport != "kernel-tcp",
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

    /// Waits until TCP is split. A mobile host without data to send does not look for its gateway before its keys are
    /// two minutes old.
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
                !peer["keys_age"].is_null() && self.streams != peer["hop"]["streams"].is_null()
            };
            // The mobile host's rules come last.
            ends.iter().all(agreed) && (!self.streams || self.hop.diverts())
        })
    }

    /// Returns the number of connections that have crossed the hop as streams, if any do.
    pub(super) fn split_so_far(&self) -> u64 {
        let counters = &self.status(Victim::Gateway)["split"];
        let count = if self.streams { "on_streams" } else { "joined" };
        counters[count].as_u64().unwrap_or_default()
    }

    /// Waits for this number of split connections: the connecting end may be ready sooner.
    pub(super) fn wait_for_split(&self, count: u64) -> Result<(), Failure> {
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
