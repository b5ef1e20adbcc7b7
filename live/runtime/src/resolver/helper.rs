//! A process that gives the system the resolver of the hop, and takes it back.
//!
//! The daemon cannot: it has no privileges. Nor can the [helper](crate::helper) that configures the network: a process
//! under Landlock may not mount, and the programs that set a resolver change files in many places. So this one keeps
//! the rights to mount and to write files, sees the files of the host, and does two things only, with addresses and
//! names that it has checked.

use std::io::{self, BufRead, BufReader, Write};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use edges::resolver::{Switch, Way, beside};
use edges::signals::{Signals, protect_memory};
use hosts::Resolvers;
use rustix::fs::Mode;
use rustix::process::umask;
use serde::{Deserialize, Serialize};

use crate::privileges::keep_files_and_mounts;

/// Longest time for an answer. Programs that set a resolver may restart services.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// What the process has to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResolverCharge {
    /// Folder of records.
    pub folder: PathBuf,
    /// Name of the daemon.
    pub instance: String,
    /// Link of the hop.
    pub link: String,
    /// True if the resolver stays when the daemon ends.
    pub keeps: bool,
}

/// A request of the daemon. The end of its stream takes the resolver back, unless it stays.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    Set {
        servers: Vec<IpAddr>,
        domains: Vec<String>,
    },
    TakeBack,
}

/// Where programs ask for names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Report {
    /// The way by which the resolver of the hop is set, if it is.
    pub way: Option<Way>,
    /// Servers that are asked beside the hop.
    pub beside: Vec<IpAddr>,
}

type Answer = Result<Report, String>;

/// The daemon's handle of the process.
#[derive(Debug)]
pub struct ResolverHelper {
    stream: BufReader<UnixStream>,
    process: Child,
}

impl ResolverHelper {
    /// Starts the process by `command`, which must run [`serve_resolver`].
    ///
    /// # Errors
    /// System errors, and the process's own.
    pub fn start(mut command: Command, charge: &ResolverCharge) -> io::Result<(Self, Report)> {
        let (own, its) = UnixStream::pair()?;
        let process = command
            .stdin(OwnedFd::from(its))
            .stdout(Stdio::null())
            .spawn()?;
        drop(command);
        own.set_read_timeout(Some(PATIENCE))?;
        let mut helper = Self {
            stream: BufReader::new(own),
            process,
        };
        let report = helper.ask(charge)?;
        Ok((helper, report))
    }

    /// Gives these to the system.
    ///
    /// # Errors
    /// System errors, and the process's own.
    pub fn set(&mut self, resolvers: &Resolvers) -> io::Result<Report> {
        self.ask(&Request::Set {
            servers: resolvers.servers().to_vec(),
            domains: resolvers.domains().to_vec(),
        })
    }

    /// Takes them back.
    ///
    /// # Errors
    /// As for [`set`](Self::set).
    pub fn take_back(&mut self) -> io::Result<Report> {
        self.ask(&Request::TakeBack)
    }

    /// Ends the process, and waits until it has taken back what does not stay.
    ///
    /// # Errors
    /// System errors.
    pub fn end(mut self) -> io::Result<()> {
        self.stream.get_ref().shutdown(std::net::Shutdown::Write)?;
        // It closes its end when it is done.
        let mut rest = String::new();
        self.stream.read_line(&mut rest)?;
        self.process.wait().map(drop)
    }

    fn ask(&mut self, request: &impl Serialize) -> io::Result<Report> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line)?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        if line.is_empty() {
            let what = "the process that sets the resolver has ended";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        let answer: Answer = serde_json::from_str(&line)?;
        answer.map_err(io::Error::other)
    }
}

/// Serves a daemon whose stream is `stream` until its end.
///
/// # Errors
/// System errors, and a resolver that could not be taken back.
pub fn serve_resolver(stream: UnixStream) -> io::Result<()> {
    protect_memory()?;
    // All programs read what sets the resolver, whatever is kept from others in the daemon's files.
    umask(Mode::from_raw_mode(0o022));
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let mut stream = stream;
    let charge: ResolverCharge = match lines.next().transpose()? {
        Some(line) => serde_json::from_str(&line)?,
        None => return Ok(()),
    };
    let switch = Switch::new(&charge.folder, &charge.instance, &charge.link);
    let switch = switch.map_err(io::Error::other)?;
    keep_files_and_mounts()?;
    // A signal to the whole group ends the daemon, and that ends this process.
    let _signals = Signals::catch()?;
    let take_back = || {
        let taken = if charge.keeps {
            Ok(false)
        } else {
            switch.take_back()
        };
        taken.map_err(|error| error.to_string())
    };
    // What a dead daemon has left.
    let begun = take_back().and_then(|_| report(&switch, &charge.link));
    answer(&mut stream, &begun);
    for line in lines {
        let Ok(line) = line else { break };
        let changed = match serde_json::from_str(&line) {
            Ok(Request::Set { servers, domains }) => set(&switch, servers, domains),
            Ok(Request::TakeBack) => switch
                .take_back()
                .map(drop)
                .map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let result = changed.and_then(|()| report(&switch, &charge.link));
        answer(&mut stream, &result);
    }
    take_back().map(drop).map_err(io::Error::other)
}

fn set(switch: &Switch, servers: Vec<IpAddr>, domains: Vec<String>) -> Result<(), String> {
    let resolvers = Resolvers::new(servers, domains).ok_or("these are no resolvers")?;
    let set = switch.set(&resolvers).map(drop);
    set.map_err(|error| error.to_string())
}

fn report(switch: &Switch, link: &str) -> Answer {
    let way = switch.way().map_err(|error| error.to_string())?;
    let is_led = way == Some(Way::Resolved);
    let beside = beside(link, is_led);
    Ok(Report { way, beside })
}

/// Sends an answer. A daemon that is gone does not need it.
fn answer(stream: &mut UnixStream, answer: &Answer) {
    if let Ok(mut line) = serde_json::to_vec(answer) {
        line.push(b'\n');
        let _ = stream.write_all(&line);
    }
}
