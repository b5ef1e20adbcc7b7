//! LOOKUP, READLINK, REMOVE, RMDIR, RENAME and LINK.

use ::nfs::{
    Answer, Link, Linked, LookUp, LookedUp, Path, ReadLink, Remove, RemoveDirectory, Rename,
    Renamed, Status, Target, WeakCacheData,
};

use super::outcome;
use crate::programs::Programs;
use crate::storage::Kind;

impl Programs {
    pub(super) fn look_up(&self, call: &LookUp<'_>) -> Answer<'_, LookUp<'_>> {
        let found = self
            .place(&call.place)
            .and_then(|place| self.storage.look_up(place));
        let directory = self.told(&call.place.directory);
        let result = found.map(|number| LookedUp {
            object: self.storage.handle(number),
            attributes: Some(self.attributes_of(number)),
            directory,
        });
        outcome(result, directory)
    }

    pub(super) fn read_link(&self, call: &ReadLink) -> Answer<'_, ReadLink> {
        let attributes = self.told(&call.link);
        let number = self.storage.resolve(&call.link);
        let path = number.and_then(|number| match &self.storage.inode(number).kind {
            Kind::SymbolicLink(path) => Ok(path),
            _ => Err(Status::InvalidArgument),
        });
        // The path was decoded from a call, within its limits.
        let path = path.and_then(|path| Path::new(path).map_err(|_| Status::ServerFault));
        outcome(path.map(|path| Target { attributes, path }), attributes)
    }

    pub(super) fn remove(&mut self, call: &Remove<'_>) -> Answer<'_, Remove<'_>> {
        let (result, directory) = self.change_name(&call.place, |programs, place| {
            programs.storage.remove(place)
        });
        outcome(result.map(|()| directory), directory)
    }

    pub(super) fn remove_directory(
        &mut self,
        call: &RemoveDirectory<'_>,
    ) -> Answer<'_, RemoveDirectory<'_>> {
        let (result, directory) = self.change_name(&call.place, |programs, place| {
            programs.storage.remove_directory(place)
        });
        outcome(result.map(|()| directory), directory)
    }

    pub(super) fn rename(&mut self, call: &Rename<'_>) -> Answer<'_, Rename<'_>> {
        let mut from = WeakCacheData::default();
        let (result, to) = self.change_name(&call.to, |programs, new| {
            let result;
            (result, from) = programs.change_name(&call.from, |programs, old| {
                programs.storage.rename(old, new)
            });
            result
        });
        let renamed = Renamed { from, to };
        outcome(result.map(|()| renamed), renamed)
    }

    pub(super) fn link(&mut self, call: &Link<'_>) -> Answer<'_, Link<'_>> {
        let (result, directory) = self.change_name(&call.place, |programs, place| {
            let number = programs.storage.resolve(&call.file)?;
            programs.storage.link(number, place)
        });
        let linked = Linked {
            attributes: self.told(&call.file),
            directory,
        };
        outcome(result.map(|()| linked), linked)
    }
}
