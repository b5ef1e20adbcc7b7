//! The steps to a server, one after the other.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{RecvTimeoutError, channel};

use bytes::Bytes;
use edges::clock;
use nfs::portmap::{self, GET_PORT, GetPort, Port};
use nfs::walk::{self, Walk, WalkError};
use nfs::{Limits, List, Path, Value, mount};
use rpc::Class;
use units::Duration;

use super::caller::{Caller, Question, Setting};
use super::error::{ConnectError, Silence};
use super::export;
use super::{ConnectOptions, Root, Server, Transport};
use crate::files::connection::LOOK;
use crate::files::{Protocol, SourcePort};

/// Where a server is looked for if no port mapper tells.
const NFS_PORT: u16 = 2_049;
/// How long a port mapper has to answer, and how long a transport has to show that it works where there is another.
const PROBE: Duration = Duration::from_secs(3);
/// How many exports are listed in an error.
const SHOWN_EXPORTS: usize = 16;
/// How many addresses of a host are tried.
const ADDRESSES: usize = 4;

/// A server that answers.
pub(super) struct Reached {
    pub(super) nfs: Caller,
    pub(super) root: Root,
}

/// The program that a host is asked for.
#[derive(Clone, Copy)]
struct Program {
    number: u32,
    version: u32,
    known_port: Option<u16>,
    usual_port: Option<u16>,
}

/// What the steps have in common.
struct Steps<'s> {
    server: &'s Server,
    setting: Setting<'s>,
    protocols: &'static [Protocol],
}

/// Takes all of the steps.
pub(super) fn reach(
    server: &Server,
    options: &ConnectOptions,
    interrupted: &dyn Fn() -> bool,
) -> Result<Reached, ConnectError> {
    let setting = Setting {
        calls: &options.calls,
        caller: &options.caller,
        source_port: options.source_port,
        seed: options.seed,
        deadline: clock::monotonic() + options.time,
        interrupted,
    };
    let addresses = addresses(&server.host, setting)?;
    let protocols: &[Protocol] = match server.transport {
        Transport::Auto => &[Protocol::Udp, Protocol::Tcp],
        Transport::Udp => &[Protocol::Udp],
        Transport::Tcp => &[Protocol::Tcp],
    };
    let steps = Steps {
        server,
        setting,
        protocols,
    };
    let nfs = Program {
        number: nfs::PROGRAM,
        version: nfs::VERSION,
        known_port: server.nfs_port,
        usual_port: Some(NFS_PORT),
    };
    let host = || server.host.clone();
    let failed = |tried| ConnectError::Nfs {
        host: host(),
        tried,
    };
    let mut nfs = steps.find(nfs, &addresses).map_err(unless_cut(failed))?;
    let address = nfs.address().ip();
    let mount = Program {
        number: mount::PROGRAM,
        version: mount::VERSION,
        known_port: server.mount_port,
        usual_port: None,
    };
    let failed = |tried| ConnectError::Mount {
        host: host(),
        tried,
    };
    let mut mount = steps.find(mount, &[address]).map_err(unless_cut(failed))?;
    let root = steps.mount(&mut mount, &mut nfs)?;
    Ok(Reached { nfs, root })
}

/// What was tried as an error, if it was not broken off.
fn unless_cut(
    failed: impl FnOnce(Vec<Silence>) -> ConnectError,
) -> impl FnOnce(Vec<Silence>) -> ConnectError {
    |tried| match tried.last() {
        Some(Silence::Interrupted) => ConnectError::Interrupted,
        _ => failed(tried),
    }
}

/// The host's addresses. The system's resolver cannot be broken off, so it has a thread of its own.
fn addresses(host: &str, setting: Setting<'_>) -> Result<Vec<IpAddr>, ConnectError> {
    let failed = |source| ConnectError::Host {
        host: host.into(),
        source,
    };
    let (sender, receiver) = channel();
    let name = host.to_owned();
    let resolve = move || {
        let resolved = (name.as_str(), 0).to_socket_addrs();
        let _ = sender.send(resolved.map(Iterator::collect::<Vec<_>>));
    };
    std::thread::Builder::new()
        .name("resolver".into())
        .spawn(resolve)
        .map_err(failed)?;
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(resolved) => {
                let mut addresses = Vec::new();
                for address in resolved.map_err(failed)? {
                    if !addresses.contains(&address.ip()) {
                        addresses.push(address.ip());
                    }
                }
                addresses.truncate(ADDRESSES);
                return Ok(addresses);
            }
            Err(RecvTimeoutError::Timeout) if (setting.interrupted)() => {
                return Err(ConnectError::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) if clock::monotonic() < setting.deadline => {}
            Err(_) => return Err(failed(std::io::ErrorKind::TimedOut.into())),
        }
    }
}

impl Steps<'_> {
    /// A caller of a program that answers, by the first transport and address that work.
    fn find(&self, program: Program, addresses: &[IpAddr]) -> Result<Caller, Vec<Silence>> {
        let mut tried = Vec::new();
        let ways = self
            .protocols
            .iter()
            .flat_map(|protocol| addresses.iter().map(move |address| (*protocol, *address)));
        let last = self.protocols.len() * addresses.len();
        for (at, (protocol, address)) in ways.enumerate() {
            // The last way may take what time is left.
            let patience = if at + 1 == last { Duration::MAX } else { PROBE };
            match self.try_way(program, (protocol, address), patience) {
                Ok(caller) => return Ok(caller),
                Err(silence) => {
                    let is_cut = matches!(silence, Silence::Interrupted);
                    tried.push(silence);
                    if is_cut {
                        break;
                    }
                }
            }
        }
        Err(tried)
    }

    fn try_way(
        &self,
        program: Program,
        (protocol, address): (Protocol, IpAddr),
        patience: Duration,
    ) -> Result<Caller, Silence> {
        let port = match program.known_port {
            Some(port) => port,
            None => match self.ask_port(program, protocol, address) {
                Ok(port) => port,
                Err(Silence::Interrupted) => return Err(Silence::Interrupted),
                Err(silence) => program.usual_port.ok_or(silence)?,
            },
        };
        let mut caller = Caller::new(protocol, SocketAddr::new(address, port), self.setting)?;
        let null = Question {
            procedure: rpc::Procedure {
                program: program.number,
                version: program.version,
                number: 0,
            },
            class: Class::Other,
            arguments: Vec::new(),
            patience: self.bounded(patience),
        };
        caller.call(null, self.setting)?;
        Ok(caller)
    }

    /// No longer than until the deadline.
    fn bounded(&self, patience: Duration) -> Duration {
        let left = self.setting.deadline.since(clock::monotonic());
        patience.min(left)
    }

    /// Where the port mapper says that a program listens.
    fn ask_port(
        &self,
        program: Program,
        protocol: Protocol,
        address: IpAddr,
    ) -> Result<u16, Silence> {
        let setting = Setting {
            source_port: SourcePort::Any,
            ..self.setting
        };
        let mapper = SocketAddr::new(address, portmap::PORT);
        let mut caller = Caller::new(protocol, mapper, setting)?;
        let transport = match protocol {
            Protocol::Udp => portmap::Transport::Udp,
            Protocol::Tcp => portmap::Transport::Tcp,
        };
        let mut arguments = Vec::new();
        GetPort::new(program.number, program.version, transport).encode(&mut arguments);
        let question = Question {
            procedure: GET_PORT,
            class: Class::Other,
            arguments,
            patience: self.bounded(PROBE),
        };
        let results = caller.call(question, setting)?;
        let Ok(Port(Some(port))) = Port::decode(&results, &Limits::USUAL) else {
            return Err(Silence::NotRegistered { protocol });
        };
        Ok(port.get())
    }

    /// Finds the export, and what its server can do.
    fn mount(&self, mount: &mut Caller, nfs: &mut Caller) -> Result<Root, ConnectError> {
        let path = export::normal(&self.server.path);
        let listed = match self.server.export {
            Some(_) => Vec::new(),
            None => self.exports(mount)?,
        };
        let candidates = match &self.server.export {
            Some(export) => vec![export::normal(export)],
            None => export::candidates(&path, &listed),
        };
        let mut last = None;
        for candidate in candidates {
            let Some(rest) = export::below(&path, &candidate) else {
                continue;
            };
            match self.mount_export(&candidate, mount, nfs) {
                Ok((root, found)) => {
                    return Ok(Root {
                        handle: root.object,
                        attributes: found.and_then(|found| found.attributes),
                        abilities: root.abilities,
                        export: candidate.clone(),
                        rest: rest.to_vec(),
                    });
                }
                Err(StepError::Walk(error)) if matches!(*error, WalkError::NotMounted { .. }) => {
                    last = Some((candidate, error));
                }
                Err(StepError::Walk(error)) => {
                    return Err(ConnectError::Export {
                        host: self.server.host.clone(),
                        export: shown(&candidate),
                        error,
                    });
                }
                Err(StepError::Other(error)) => return Err(error),
            }
        }
        Err(self.not_mounted(&path, last, &listed))
    }

    fn not_mounted(
        &self,
        path: &[u8],
        last: Option<(Vec<u8>, Box<WalkError>)>,
        listed: &[Vec<u8>],
    ) -> ConnectError {
        let host = self.server.host.clone();
        let (export, error) =
            last.unwrap_or_else(|| (path.to_vec(), Box::new(WalkError::LeavesExport)));
        if let WalkError::NotMounted { status, .. } = &*error
            && matches!(
                status,
                mount::Status::AccessDenied | mount::Status::NotOwner
            )
            && (self.server.export.is_some()
                || listed.iter().any(|listed| export::normal(listed) == export))
        {
            let export = shown(&export);
            return ConnectError::Denied {
                host,
                export,
                error,
            };
        }
        let exports = listed.iter().take(SHOWN_EXPORTS);
        ConnectError::NotExported {
            host,
            path: shown(path),
            error,
            exports: exports.map(|export| shown(export)).collect(),
        }
    }

    /// What the server says that it exports; nothing if it does not tell.
    fn exports(&self, mount: &mut Caller) -> Result<Vec<Vec<u8>>, ConnectError> {
        let question = Question {
            procedure: mount::Procedure::Export.into(),
            class: Class::Other,
            arguments: Vec::new(),
            patience: self.bounded(PROBE),
        };
        let results = match mount.call(question, self.setting) {
            Ok(results) => results,
            Err(Silence::Interrupted) => return Err(ConnectError::Interrupted),
            Err(_) => return Ok(Vec::new()),
        };
        let exports = List::<mount::Export<'_>>::decode(&results, &Limits::USUAL);
        Ok(exports.map_or_else(
            |_| Vec::new(),
            |exports| {
                exports
                    .iter()
                    .map(|export| export.directory.bytes().to_vec())
                    .collect()
            },
        ))
    }

    fn mount_export(
        &self,
        export: &[u8],
        mount: &mut Caller,
        nfs: &mut Caller,
    ) -> Result<(walk::Root, Option<walk::Found>), StepError> {
        let path = Path::new(export).map_err(|fault| {
            StepError::Other(ConnectError::Path {
                path: shown(export),
                fault,
            })
        })?;
        let mut walk = Walk::new(path, b"", true);
        while let Some(question) = walk.question()? {
            let is_mount = matches!(question, walk::Question::Mount(_));
            let mut arguments = Vec::new();
            question.encode(&mut arguments);
            let question = Question {
                procedure: question.procedure(),
                class: question.class(),
                arguments,
                patience: self.bounded(Duration::MAX),
            };
            let caller = if is_mount { &mut *mount } else { &mut *nfs };
            let results = self.ask(caller, question, is_mount)?;
            walk.answer(&results, &Limits::USUAL)?;
        }
        let root = walk.root().ok_or(WalkError::LeavesExport)?;
        Ok((root, walk.found()))
    }

    fn ask(
        &self,
        caller: &mut Caller,
        question: Question,
        is_mount: bool,
    ) -> Result<Bytes, StepError> {
        let host = self.server.host.clone();
        caller.call(question, self.setting).map_err(|silence| {
            let tried = vec![silence];
            let failed = |tried| {
                if is_mount {
                    ConnectError::Mount { host, tried }
                } else {
                    ConnectError::Nfs { host, tried }
                }
            };
            StepError::Other(unless_cut(failed)(tried))
        })
    }
}

/// Why a step failed.
enum StepError {
    Walk(Box<WalkError>),
    Other(ConnectError),
}

impl From<WalkError> for StepError {
    fn from(error: WalkError) -> Self {
        Self::Walk(Box::new(error))
    }
}

fn shown(path: &[u8]) -> String {
    path.escape_ascii().to_string()
}
