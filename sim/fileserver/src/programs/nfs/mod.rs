//! NFS version 3 (RFC 1813 §3).

mod attributes;
mod creation;
mod data;
mod file_system;
mod listing;
mod names;
mod refusal;

use ::nfs::{Attributes, Call, FileHandle, Name, Outcome, Procedure, Status, Value, WeakCacheData};
use rpc::message::Refusal;

use super::{CallContext, CallFault, Programs};
use crate::storage::Place;

/// Returns the outcome of a call, with the attributes that a failure reports too.
pub(super) fn outcome<D, F, S>(result: Result<D, S>, rest: F) -> Outcome<D, F, S> {
    match result {
        Ok(done) => Outcome::Done(done),
        Err(status) => Outcome::Failed { status, rest },
    }
}

impl Programs {
    pub(super) fn serve_nfs(
        &mut self,
        procedure: Procedure,
        arguments: &[u8],
        circumstances: CallContext,
        results: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        if let Some(status) = self.refuses(procedure, circumstances) {
            refusal::encode(procedure, status, results);
            return Ok(());
        }
        match Call::read(procedure, arguments, &self.limits) {
            Ok(call) => self.execute_nfs(&call, circumstances, results),
            Err(malformed) => {
                let status = refusal::status(procedure, malformed);
                let status = status.ok_or(Refusal::GarbageArguments)?;
                refusal::encode(procedure, status, results);
            }
        }
        Ok(())
    }

    /// Returns the status for a call that is not executed, whatever it requests.
    fn refuses(&mut self, procedure: Procedure, circumstances: CallContext) -> Option<Status> {
        if let Some((status, calls)) = self.refusals.get_mut(&procedure)
            && *calls > 0
        {
            *calls -= 1;
            return Some(*status);
        }
        if matches!(circumstances.mishap, Some(CallFault::TryLater)) {
            return Some(Status::TryLater);
        }
        let missing = procedure == Procedure::ReadDirectoryPlus && !self.config.read_directory_plus;
        missing.then_some(Status::NotSupported)
    }

    fn execute_nfs(&mut self, call: &Call<'_>, circumstances: CallContext, results: &mut Vec<u8>) {
        let caller = circumstances.caller;
        match call {
            Call::Null(()) => {}
            Call::GetAttributes(call) => self.get_attributes(call).encode(results),
            Call::SetAttributes(call) => self.set_attributes(call).encode(results),
            Call::LookUp(call) => self.look_up(call).encode(results),
            Call::Access(call) => self.access(call).encode(results),
            Call::ReadLink(call) => self.read_link(call).encode(results),
            Call::Read(call) => self.read_data(call, circumstances, results),
            Call::Write(call) => self.write_data(call, circumstances).encode(results),
            Call::Create(call) => self.create(call, caller).encode(results),
            Call::MakeDirectory(call) => self.make_directory(call, caller).encode(results),
            Call::MakeSymbolicLink(call) => self.make_symbolic_link(call, caller).encode(results),
            Call::MakeNode(call) => self.make_node(call, caller).encode(results),
            Call::Remove(call) => self.remove(call).encode(results),
            Call::RemoveDirectory(call) => self.remove_directory(call).encode(results),
            Call::Rename(call) => self.rename(call).encode(results),
            Call::Link(call) => self.link(call).encode(results),
            Call::ReadDirectory(call) => self.read_directory(call, results),
            Call::ReadDirectoryPlus(call) => self.read_directory_plus(call, results),
            Call::FileSystemStatus(call) => self.file_system_status(call).encode(results),
            Call::FileSystemInfo(call) => self.file_system_info(call).encode(results),
            Call::PathConfiguration(call) => self.path_configuration(call).encode(results),
            Call::Commit(call) => self.commit(call).encode(results),
        }
    }

    /// Returns the attributes to report for a file.
    fn attributes_of(&self, number: u64) -> Attributes {
        let truth = self.storage.attributes(number);
        self.lie.map_or(truth, |lie| lie.attributes(truth))
    }

    /// Returns the attributes to report for a file that may no longer exist.
    fn told(&self, file: &FileHandle) -> Option<Attributes> {
        let number = self.storage.resolve(file).ok()?;
        Some(self.attributes_of(number))
    }

    /// Changes a file; returns its attributes before and after.
    fn change<T>(
        &mut self,
        file: &FileHandle,
        act: impl FnOnce(&mut Self, u64) -> Result<T, Status>,
    ) -> (Result<T, Status>, WeakCacheData) {
        let number = match self.storage.resolve(file) {
            Ok(number) => number,
            Err(status) => return (Err(status), WeakCacheData::default()),
        };
        let before = Some(self.storage.before(number));
        let result = act(self, number);
        let after = self.told(file);
        (result, WeakCacheData { before, after })
    }

    /// Returns the place that a call names.
    fn place<'a>(&self, place: &::nfs::Place<'a>) -> Result<Place<'a>, Status> {
        let directory = self.storage.resolve(&place.directory)?;
        Ok(Place::new(directory, place.name))
    }

    /// Changes a name; returns the attributes of its directory before and after.
    fn change_name<'a, T>(
        &mut self,
        place: &::nfs::Place<'a>,
        act: impl FnOnce(&mut Self, Place<'a>) -> Result<T, Status>,
    ) -> (Result<T, Status>, WeakCacheData) {
        let name: Name<'a> = place.name;
        self.change(&place.directory, |programs, directory| {
            act(programs, Place::new(directory, name))
        })
    }
}
