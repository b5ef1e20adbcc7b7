//! The steps of connecting to a server.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{RecvTimeoutError, channel};

use bytes::Bytes;
use edges::clock;
use files::AGAIN_AFTER;
use nfs::attach::{self, AttachError};
use nfs::portmap::{self, GET_PORT, GetPort, Port};
use nfs::{FileHandle, FileSystemInfo, Limits, List, Path, ServerAbilities, Status, Value, mount};
use rpc::Class;
use units::Duration;

use super::caller::{Caller, PendingCall, Setting};
use super::error::{ConnectError, ProgramError};
use super::export;
use super::{ConnectOptions, Root, Server, Transport};
use crate::files::connection::LOOK;
use crate::files::{Protocol, SourcePort};

/// Default port of NFS, if the port mapper reports none.
const NFS_PORT: u16 = 2_049;
/// Time that a port mapper may take to reply, and time for a transport to prove that it works if there is another one.
const PROBE: Duration = Duration::from_secs(3);
/// Largest number of exports listed in an error.
const SHOWN_EXPORTS: usize = 16;
/// Largest number of addresses of a host that are tried.
const ADDRESSES: usize = 4;

/// A server that has replied.
pub(super) struct Reached {
    pub(super) nfs: Caller,
    pub(super) root: Root,
}

/// A program to look for on a host.
#[derive(Clone, Copy)]
struct Program {
    number: u32,
    version: u32,
    known_port: Option<u16>,
    usual_port: Option<u16>,
}

/// Common data of the steps.
struct Steps<'s> {
    server: &'s Server,
    setting: Setting<'s>,
    protocols: &'static [Protocol],
}

/// Takes all steps.
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

/// Returns the error for the attempts, unless they were interrupted.
fn unless_cut(
    failed: impl FnOnce(Vec<ProgramError>) -> ConnectError,
) -> impl FnOnce(Vec<ProgramError>) -> ConnectError {
    |tried| match tried.last() {
        Some(ProgramError::Interrupted) => ConnectError::Interrupted,
        _ => failed(tried),
    }
}

/// Returns the host's addresses. The system's resolver cannot be interrupted, so it runs in a thread of its own.
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
    /// Returns a caller of a program that replies, with the first transport and address that work.
    fn find(&self, program: Program, addresses: &[IpAddr]) -> Result<Caller, Vec<ProgramError>> {
        let mut tried = Vec::new();
        let ways = self
            .protocols
            .iter()
            .flat_map(|protocol| addresses.iter().map(move |address| (*protocol, *address)));
        let last = self.protocols.len() * addresses.len();
        for (at, (protocol, address)) in ways.enumerate() {
            // The last attempt may take the remaining time.
            let patience = if at + 1 == last { Duration::MAX } else { PROBE };
            match self.try_way(program, protocol, address, patience) {
                Ok(caller) => return Ok(caller),
                Err(silence) => {
                    let is_cut = matches!(silence, ProgramError::Interrupted);
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
        protocol: Protocol,
        address: IpAddr,
        patience: Duration,
    ) -> Result<Caller, ProgramError> {
        let port = match program.known_port {
            Some(port) => port,
            None => match self.ask_port(program, protocol, address) {
                Ok(port) => port,
                Err(ProgramError::Interrupted) => return Err(ProgramError::Interrupted),
                Err(silence) => program.usual_port.ok_or(silence)?,
            },
        };
        let mut caller = Caller::new(protocol, SocketAddr::new(address, port), self.setting)?;
        let null = PendingCall {
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

    /// Limits `patience` to the time until the deadline.
    fn bounded(&self, patience: Duration) -> Duration {
        let left = self.setting.deadline.since(clock::monotonic());
        patience.min(left)
    }

    /// Queries the port mapper for the port of a program.
    fn ask_port(
        &self,
        program: Program,
        protocol: Protocol,
        address: IpAddr,
    ) -> Result<u16, ProgramError> {
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
        let question = PendingCall {
            procedure: GET_PORT,
            class: Class::Other,
            arguments,
            patience: self.bounded(PROBE),
        };
        let results = caller.call(question, setting)?;
        let Ok(Port(Some(port))) = Port::decode(&results, &Limits::USUAL) else {
            return Err(ProgramError::NotRegistered { protocol });
        };
        Ok(port.get())
    }

    /// Finds the export, and the properties of its server.
    fn mount(&self, mount: &mut Caller, nfs: &mut Caller) -> Result<Root, ConnectError> {
        let path = export::normal(&self.server.path);
        let (candidates, listed) = if let Some(export) = &self.server.export {
            (vec![export::normal(export)], Vec::new())
        } else {
            let listed = self.exports(mount)?;
            (export::candidates(&path, &listed), listed)
        };
        let mut refused = None;
        for candidate in candidates {
            let Some(rest) = export::below(&path, &candidate) else {
                return Err(ConnectError::OutsideExport {
                    path: shown(&path),
                    export: shown(&candidate),
                });
            };
            match self.mount_export(&candidate, mount, nfs) {
                Ok((handle, abilities)) => {
                    return Ok(Root {
                        handle,
                        attributes: abilities.attributes,
                        abilities,
                        export: candidate.clone(),
                        rest: rest.to_vec(),
                    });
                }
                Err(StepError::Attach(error))
                    if matches!(*error, AttachError::NotMounted { .. }) =>
                {
                    refused = Some((candidate, error));
                }
                Err(StepError::Attach(error)) => {
                    return Err(ConnectError::Export {
                        host: self.server.host.clone(),
                        export: shown(&candidate),
                        error,
                    });
                }
                Err(StepError::Other(error)) => return Err(error),
            }
        }
        let (export, error) = refused.expect("the path itself may be an export");
        Err(self.not_mounted(&path, &export, error, &listed))
    }

    fn not_mounted(
        &self,
        path: &[u8],
        export: &[u8],
        error: Box<AttachError>,
        listed: &[Vec<u8>],
    ) -> ConnectError {
        let host = self.server.host.clone();
        if let AttachError::NotMounted { status, .. } = &*error
            && matches!(
                status,
                mount::Status::AccessDenied | mount::Status::NotOwner
            )
            && (self.server.export.is_some()
                || listed.iter().any(|listed| export::normal(listed) == export))
        {
            let export = shown(export);
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

    /// Returns the exports that the server lists; none if it does not list them.
    fn exports(&self, mount: &mut Caller) -> Result<Vec<Vec<u8>>, ConnectError> {
        let question = PendingCall {
            procedure: mount::Procedure::Export.into(),
            class: Class::Other,
            arguments: Vec::new(),
            patience: self.bounded(PROBE),
        };
        let results = match mount.call(question, self.setting) {
            Ok(results) => results,
            Err(ProgramError::Interrupted) => return Err(ConnectError::Interrupted),
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
    ) -> Result<(FileHandle, ServerAbilities), StepError> {
        let path = Path::new(export).map_err(|fault| ConnectError::Path {
            path: shown(export),
            fault,
        })?;
        let host = self.server.host.clone();
        let failed = |tried| ConnectError::Mount { host, tried };
        let results = self.ask(mount, mount::Procedure::Mount.into(), &path);
        let root = attach::handle_of(path, &results.map_err(unless_cut(failed))?, &Limits::USUAL)?;
        Ok((root, self.abilities(root, nfs)?))
    }

    /// Queries the properties of the server for an export. If the server needs more time, it is queried again, until
    /// the deadline.
    fn abilities(&self, root: FileHandle, nfs: &mut Caller) -> Result<ServerAbilities, StepError> {
        loop {
            let host = self.server.host.clone();
            let failed = |tried| ConnectError::Nfs { host, tried };
            let information = FileSystemInfo { root };
            let results = self.ask(nfs, nfs::Procedure::FileSystemInfo.into(), &information);
            match attach::abilities(&results.map_err(unless_cut(failed))?, &Limits::USUAL) {
                Err(AttachError::Refused(Status::TryLater))
                    if self.bounded(AGAIN_AFTER) == AGAIN_AFTER =>
                {
                    self.rest(AGAIN_AFTER)?;
                }
                abilities => return Ok(abilities?),
            }
        }
    }

    /// Waits for `pause`, unless it is interrupted.
    fn rest(&self, pause: Duration) -> Result<(), ConnectError> {
        let until = clock::monotonic() + pause;
        while clock::monotonic() < until {
            if (self.setting.interrupted)() {
                return Err(ConnectError::Interrupted);
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Makes a call that may take the remaining time, and returns its results.
    fn ask<'a>(
        &self,
        caller: &mut Caller,
        procedure: rpc::Procedure,
        arguments: &impl Value<'a>,
    ) -> Result<Bytes, Vec<ProgramError>> {
        let mut bytes = Vec::new();
        arguments.encode(&mut bytes);
        let question = PendingCall {
            procedure,
            class: Class::Other,
            arguments: bytes,
            patience: self.bounded(Duration::MAX),
        };
        caller
            .call(question, self.setting)
            .map_err(|silence| vec![silence])
    }
}

/// Reason why a step failed.
enum StepError {
    Attach(Box<AttachError>),
    Other(ConnectError),
}

impl From<AttachError> for StepError {
    fn from(error: AttachError) -> Self {
        Self::Attach(Box::new(error))
    }
}

impl From<ConnectError> for StepError {
    fn from(error: ConnectError) -> Self {
        Self::Other(error)
    }
}

fn shown(path: &[u8]) -> String {
    path.escape_ascii().to_string()
}
