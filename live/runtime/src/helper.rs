//! A helper process, which alone can configure the network once a daemon has dropped its privileges.
//!
//! It does eight things only. It installs the diversion that it was started with. It leads new flows of a mobile host
//! around the hop and across it again, by rules that it was started with. It has packets of other gateways' mobile
//! hosts leave at a gateway, and those to them come in. It reads the configuration again, which belongs to the
//! operator, and adapts the system to it. It stores the key of a host that joins by an invitation, or the next key of
//! the gateway. It stores what gateways of the site have told. At the daemon's end, also if the daemon was killed, it
//! takes back all changes to the system, or leaves them to the next daemon, which begins by taking them back. What
//! [`Reload::begin`] starts may request a reload, as the operator may.
//!
//! Claims, exits and what was told carry data. A claim has two public keys, so whoever controls a gateway's daemon can
//! use open invitations, and whoever controls a mobile host's daemon can lead it to another gateway. An exit has inner
//! addresses, which must be private ones that no other network of the host has, or such as the configuration names.
//! What gateways have told has peers, which the next daemon believes until they are told again. They gain nothing else.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use edges::detour::Detour;
use edges::diversion::Diversion;
use edges::sandbox::{Files, confine_files};
use edges::signals::{Signals, protect_memory};
use edges::undo::{UndoError, UndoLog};
use hosts::Told;
use serde::{Deserialize, Serialize};
use session::ParseKeyError;

use crate::changes::{Change, Changed, Exit, Way};
use crate::privileges;
use crate::reloader::KeyClaim;

/// Longest time for an answer.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
/// Folders of programs and their libraries, and what they read.
const PROGRAMS: [&str; 8] = [
    "/bin", "/etc", "/lib", "/lib64", "/nix", "/proc", "/sbin", "/usr",
];
/// Kernel parameters that daemons set, and the end of unwanted output.
const WRITABLE: [&str; 2] = ["/proc/sys/net", "/dev/null"];

/// What a helper has to know.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Charge {
    /// The undo file of the daemon.
    pub undo: PathBuf,
    /// Sockets to remove at the end.
    pub sockets: Vec<PathBuf>,
    /// The diversion that the daemon may request.
    pub diversion: Option<Diversion>,
    /// The detour to which the daemon may turn new flows.
    pub detour: Option<Detour>,
    /// The configuration that the daemon may request to read again.
    pub configuration: PathBuf,
    /// Its text when the daemon read it.
    pub text: String,
    /// Name of the link to the peers.
    pub link: String,
    /// Folders in which claimed keys are stored.
    pub claims: Vec<PathBuf>,
    /// The diversion that is installed, if there is one.
    pub installed: Option<Diversion>,
}

/// The part of a helper that knows configurations.
pub trait Reload {
    /// Begins what goes on beside the requests, with no more privileges than the helper keeps.
    fn begin(&mut self) {}

    /// Reads the configuration again, and checks it; returns all that the daemon needs of it, which has that of a
    /// version already; version 0 is none.
    ///
    /// # Errors
    /// A message for the user.
    fn read(&mut self, since: u64) -> Result<String, String>;

    /// Stores the key that a peer claims, if it may, so that the next [`Reload::read`] returns it: a host that is
    /// invited, or the gateway.
    ///
    /// # Errors
    /// A message for the user. Nothing is stored then.
    fn claim(&mut self, claim: &KeyClaim) -> Result<Claimed, String>;

    /// Has packets of other gateways' mobile hosts leave here, or no more, as far as possible, and announces addresses.
    fn lead_out(&mut self, undo: &mut UndoLog, exits: &[Exit]) -> Changed;

    /// Stores what gateways have told, for the daemon's next start.
    ///
    /// # Errors
    /// A message for the user.
    fn store_told(&mut self, told: &[Told]) -> Result<(), String>;

    /// Adapts the system to the configuration that was read last.
    ///
    /// # Errors
    /// A message for the user. The system is as before then, as far as possible.
    fn apply(&mut self, undo: &mut UndoLog) -> Result<(), String>;
}

/// Result of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// The key is stored.
    Stored,
    /// The invitation has expired.
    Expired,
}

/// A request of the daemon. The end of its stream means [`Request::Undo`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    Divert,
    /// The version of the configuration that the daemon has.
    Read {
        since: u64,
    },
    /// The present public key of a mobile host, and the one that it claims.
    Claim {
        of: String,
        key: String,
    },
    Apply,
    Change(Vec<Change>),
    /// The next daemon is about to begin: the changes stand until it has its own.
    Leave,
    Undo,
}

/// The answer to a request, with text if there is any.
type Answer = Result<Option<String>, String>;

/// The daemon's handle of its helper.
#[derive(Debug)]
pub struct Helper {
    stream: BufReader<UnixStream>,
    process: Child,
    /// True if an answer was late: the next one would be taken for another request's.
    is_late: bool,
}

impl Helper {
    /// Starts a helper by `command`, which must run [`serve`], and hands the changes to the system over to it.
    ///
    /// # Errors
    /// System errors.
    pub fn start(mut command: Command, charge: &Charge) -> io::Result<Self> {
        let (own, its) = UnixStream::pair()?;
        let process = command
            .stdin(OwnedFd::from(its))
            .stdout(Stdio::null())
            .spawn()?;
        drop(command);
        let mut helper = Self {
            stream: BufReader::new(own),
            process,
            is_late: false,
        };
        let mut line = serde_json::to_vec(charge)?;
        line.push(b'\n');
        helper.stream.get_mut().write_all(&line)?;
        helper.answer()?;
        helper.stream.get_ref().set_read_timeout(Some(PATIENCE))?;
        Ok(helper)
    }

    /// Installs the diversion.
    ///
    /// # Errors
    /// The helper's error, or `WouldBlock` if it does not answer.
    pub fn divert(&mut self) -> io::Result<()> {
        self.ask(&Request::Divert).map(drop)
    }

    /// Makes changes.
    ///
    /// # Errors
    /// The helper's error, or `WouldBlock` if it does not answer.
    pub fn change(&mut self, changes: Vec<Change>) -> io::Result<Changed> {
        let changed = self.ask(&Request::Change(changes))?;
        let changed = changed.map(|text| serde_json::from_str(&text));
        Ok(changed.transpose()?.unwrap_or_default())
    }

    /// Has the helper read the configuration again; returns the result of [`Reload::read`].
    ///
    /// # Errors
    /// The helper's error, or `WouldBlock` if it does not answer.
    pub fn read(&mut self, since: u64) -> io::Result<String> {
        self.ask(&Request::Read { since })
            .map(Option::unwrap_or_default)
    }

    /// Has the helper store a claimed key.
    ///
    /// # Errors
    /// The helper's error, or `WouldBlock` if it does not answer.
    pub fn claim(&mut self, claim: &KeyClaim) -> io::Result<Claimed> {
        let (of, key) = (claim.of.to_string(), claim.key.to_string());
        let answer = self.ask(&Request::Claim { of, key })?;
        Ok(answer.map_or(Claimed::Stored, |_| Claimed::Expired))
    }

    /// Adapts the system to the configuration that was read last.
    ///
    /// # Errors
    /// The helper's error, or `WouldBlock` if it does not answer.
    pub fn apply(&mut self) -> io::Result<()> {
        self.ask(&Request::Apply).map(drop)
    }

    /// Takes back all changes to the system, and waits for the end of the helper.
    ///
    /// # Errors
    /// The helper's error.
    pub fn undo(&mut self) -> io::Result<()> {
        self.stream.get_ref().set_read_timeout(None)?;
        let undone = self.ask(&Request::Undo);
        self.process.wait()?;
        undone.map(drop)
    }

    /// Leaves all changes to the next daemon, and waits for the end of the helper.
    ///
    /// # Errors
    /// The helper's error.
    pub fn leave(&mut self) -> io::Result<()> {
        self.ask(&Request::Leave)?;
        self.process.wait().map(drop)
    }

    fn ask(&mut self, request: &Request) -> io::Result<Option<String>> {
        if self.is_late && *request != Request::Undo {
            let what =
                "the process that configures the network does not answer; restart the daemon";
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line)?;
        self.answer()
    }

    fn answer(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line);
        self.is_late |= read.is_err();
        read?;
        if line.is_empty() {
            let what = "the process that configures the network has ended";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        let answer: Answer = serde_json::from_str(&line)?;
        answer.map_err(io::Error::other)
    }
}

/// Serves a daemon whose stream is `stream` until its end; `reload` makes the part that knows configurations. Call it
/// in a process with one thread.
///
/// # Errors
/// System errors, and changes that could not be taken back. The daemon gets them too.
pub fn serve<R: Reload>(stream: UnixStream, reload: impl FnOnce(&Charge) -> R) -> io::Result<()> {
    protect_memory()?;
    // A signal to the whole group ends the daemon, and that ends the helper.
    let _signals = Signals::catch()?;
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let mut stream = stream;
    let charge: Charge = match lines.next().transpose()? {
        Some(line) => serde_json::from_str(&line)?,
        None => return Ok(()),
    };
    // The kernel may make new inodes for kernel parameters, to which the rules would not apply, unless they are in use.
    let _in_use = WRITABLE.map(File::open);
    let mut reload = reload(&charge);
    let undo = UndoLog::take_over(&charge.undo);
    let confined = confine(&charge);
    let begun = match (&undo, &confined) {
        (Err(error), _) => Err(error.to_string()),
        (_, Err(error)) => Err(error.to_string()),
        (Ok(_), Ok(())) => Ok(None),
    };
    answer(&mut stream, &begun);
    let mut undo = undo.map_err(io::Error::other)?;
    confined?;
    reload.begin();
    let detour = charge.detour.as_ref();
    for line in lines {
        let request = line.ok().and_then(|line| serde_json::from_str(&line).ok());
        let result = match request {
            Some(Request::Divert) => done(charge.diversion.as_ref().map(Diversion::install)),
            Some(Request::Read { since }) => reload.read(since).map(Some),
            Some(Request::Claim { of, key }) => claim(&mut reload, &of, &key),
            Some(Request::Change(changes)) => make(changes, detour, &mut reload, &mut undo),
            Some(Request::Apply) => reload.apply(&mut undo).map(|()| None),
            Some(Request::Leave) => {
                undo.hand_over();
                answer(&mut stream, &Ok(None));
                return Ok(());
            }
            Some(Request::Undo) | None => break,
        };
        answer(&mut stream, &result);
    }
    let undone = take_back(undo, &charge.sockets);
    answer(
        &mut stream,
        &undone.as_ref().map(|()| None).map_err(ToString::to_string),
    );
    undone.map_err(io::Error::other)
}

/// Returns the answer after a change, if there was one to make.
fn done<E: ToString>(change: Option<Result<(), E>>) -> Answer {
    let changed = change.transpose().map(|_| None);
    changed.map_err(|error| error.to_string())
}

/// Makes changes.
fn make(
    changes: Vec<Change>,
    detour: Option<&Detour>,
    reload: &mut impl Reload,
    undo: &mut UndoLog,
) -> Answer {
    let (mut exits, mut refused) = (Vec::new(), Vec::new());
    for change in changes {
        match change {
            Change::Way(Way::Around) => done(detour.map(|detour| detour.begin(undo)))?,
            Change::Way(Way::Across) => done(detour.map(|detour| detour.end(undo)))?,
            Change::Exit(exit) => {
                exits.push(exit);
                None
            }
            Change::Told(told) => {
                refused.extend(reload.store_told(&told).err());
                None
            }
        };
    }
    let mut changed = match exits.as_slice() {
        [] => Changed::default(),
        exits => reload.lead_out(undo, exits),
    };
    changed.refused.extend(refused);
    let text = serde_json::to_string(&changed);
    text.map(Some).map_err(|error| error.to_string())
}

/// Stores a claimed key; the answer has a text if the invitation has expired.
fn claim(reload: &mut impl Reload, of: &str, key: &str) -> Answer {
    let parse = |text: &str| {
        text.parse()
            .map_err(|error: ParseKeyError| error.to_string())
    };
    let (of, key) = (parse(of)?, parse(key)?);
    Ok(match reload.claim(&KeyClaim { of, key })? {
        Claimed::Stored => None,
        Claimed::Expired => Some("expired".into()),
    })
}

/// Confines the helper to programs such as `nft`, to parameters of the network, and to the folder of the undo file.
fn confine(charge: &Charge) -> io::Result<()> {
    privileges::keep_network_administration()?;
    let folder = charge.undo.parent().unwrap_or(Path::new("/"));
    // Editors replace the file, so the folder must be open.
    let configured = charge.configuration.parent().unwrap_or(Path::new("/"));
    let write = WRITABLE.map(Path::new);
    let write = write
        .into_iter()
        .chain([folder])
        .chain(charge.claims.iter().map(PathBuf::as_path));
    let write: Vec<_> = write.collect();
    // Secrets that a service manager passes.
    let passed = std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from);
    let read: Vec<_> = [configured].into_iter().chain(passed.as_deref()).collect();
    let files = Files {
        read: &read,
        run: &PROGRAMS.map(Path::new),
        write: &write,
    };
    confine_files(&files).map(drop)
}

/// Takes the changes back, unless another daemon of this name has done that already and has its own now.
fn take_back(undo: UndoLog, sockets: &[PathBuf]) -> Result<(), UndoError> {
    undo.undo_own(|| {
        for socket in sockets {
            // If it is gone already, nothing is left to do.
            let _ = std::fs::remove_file(socket);
        }
    })
}

/// Sends an answer. A daemon that is gone does not need it.
fn answer(stream: &mut UnixStream, answer: &Answer) {
    if let Ok(mut line) = serde_json::to_vec(answer) {
        line.push(b'\n');
        let _ = stream.write_all(&line);
    }
}
