//! The RPC programs of the server: NFS, MOUNT, and the port mapper.

mod lies;
mod mount;
mod nfs;
mod port_mapper;

use ::nfs::{CookieVerifier, Limits, Malformed, Numbered, Procedure, Status, Value, WriteVerifier};
use machine::RandomStream;
use rpc::message::{Call, Credentials, Refusal};
use std::collections::BTreeMap;
use units::Instant;

use crate::storage::{Caller, Storage};
use crate::{Config, FalseAnswer};

/// Length of the longest path and name that are decoded; for lengths that files cannot have, the file system gives the
/// error.
const TEXT_MAX: usize = 4_096;

/// Fault of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CallFault {
    /// It is answered with `NFS3ERR_JUKEBOX`.
    TryLater,
    /// It moves fewer bytes, derived from this random number.
    Short(u64),
}

/// The programs and their state.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    pub(crate) storage: Storage,
    pub(crate) lie: Option<FalseAnswer>,
    /// Failures of the next calls of a procedure: status, and number of calls.
    pub(crate) refusals: BTreeMap<Procedure, (Status, u32)>,
    config: Config,
    limits: Limits,
    /// Random stream of verifiers.
    stream: RandomStream,
    write_verifier: WriteVerifier,
    cookie_verifier: CookieVerifier,
}

/// Caller and fault of a call.
#[derive(Debug, Clone, Copy)]
struct CallContext {
    caller: Caller,
    mishap: Option<CallFault>,
}

impl Programs {
    pub(crate) fn new(config: &Config) -> Self {
        let mut stream = RandomStream::named(config.seed, "file server: verifiers");
        let file_system = stream.next_u64();
        let mut programs = Self {
            storage: Storage::new(config.disk.get(), file_system, config.epoch),
            lie: None,
            refusals: BTreeMap::new(),
            config: config.clone(),
            limits: Limits {
                name: TEXT_MAX,
                path: TEXT_MAX - 1,
                data: config.longest_message.get() as usize,
            },
            stream,
            write_verifier: WriteVerifier::default(),
            cookie_verifier: CookieVerifier::default(),
        };
        programs.forget_cookies();
        programs.begin_life();
        programs
    }

    /// Invalidates all directory cookies.
    pub(crate) fn forget_cookies(&mut self) {
        self.stream.fill(&mut self.cookie_verifier.0);
    }

    /// Starts the server anew after a crash; returns the number of bytes that the crash lost.
    pub(crate) fn begin_life(&mut self) -> u64 {
        self.stream.fill(&mut self.write_verifier.0);
        self.storage.crash()
    }

    /// Executes a call and appends its results.
    ///
    /// # Errors
    /// If the call is refused before it is executed.
    pub(crate) fn execute(
        &mut self,
        now: Instant,
        call: &Call<'_>,
        mishap: Option<CallFault>,
        results: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        self.storage.set_time(now);
        let caller = match &*call.credentials {
            Credentials::None => Caller::default(),
            Credentials::System(system) => Caller {
                user: system.identity().user,
                group: system.identity().group,
            },
        };
        let circumstances = CallContext { caller, mishap };
        let (number, arguments) = (call.procedure.number, call.arguments);
        match program_of(call)? {
            Program::Nfs => {
                let procedure = known(number)?;
                self.serve_nfs(procedure, arguments, circumstances, results)
            }
            Program::Mount => self.serve_mount(known(number)?, arguments, results),
            Program::PortMapper => self.serve_port_mapper(number, arguments, results),
        }
    }

    /// Decodes arguments.
    fn read<'a, T: Value<'a>>(&self, arguments: &'a [u8]) -> Result<T, Refusal> {
        T::decode(arguments, &self.limits).map_err(|_: Malformed| Refusal::GarbageArguments)
    }
}

/// An RPC program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    Nfs,
    Mount,
    PortMapper,
}

/// Returns the program of a call.
fn program_of(call: &Call<'_>) -> Result<Program, Refusal> {
    let (program, version) = match call.procedure.program {
        ::nfs::PROGRAM => (Program::Nfs, ::nfs::VERSION),
        ::nfs::mount::PROGRAM => (Program::Mount, ::nfs::mount::VERSION),
        ::nfs::portmap::PROGRAM => (Program::PortMapper, ::nfs::portmap::VERSION),
        _ => return Err(Refusal::ProgramUnavailable),
    };
    if call.procedure.version != version {
        let (low, high) = (version, version);
        return Err(Refusal::ProgramMismatch { low, high });
    }
    Ok(program)
}

/// Returns the NFS procedure of a call, if it is an NFS call.
pub(crate) fn nfs_procedure(call: &Call<'_>) -> Option<Procedure> {
    let for_nfs = program_of(call) == Ok(Program::Nfs);
    Procedure::of(call.procedure.number).filter(|_| for_nfs)
}

fn known<P: Numbered>(number: u32) -> Result<P, Refusal> {
    P::of(number).ok_or(Refusal::ProcedureUnavailable)
}
