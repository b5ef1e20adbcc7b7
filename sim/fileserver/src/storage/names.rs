//! The names of the file system.

use nfs::{CreateVerifier, NAME_MAX, Name, NewAttributes, Status};

use super::{Caller, Content, Directory, Inode, Kind, LINKS_MAX, NAME_COST, ROOT, Storage};

/// A name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    /// Number of the directory.
    pub(crate) directory: u64,
    pub(crate) name: Name<'a>,
}

impl<'a> Place<'a> {
    pub(crate) fn new(directory: u64, name: Name<'a>) -> Self {
        Self { directory, name }
    }
}

impl Storage {
    /// Returns the directory with this number; an error for other files.
    pub(crate) fn directory(&self, number: u64) -> Result<&Directory, Status> {
        match &self.inode(number).kind {
            Kind::Directory(directory) => Ok(directory),
            _ => Err(Status::NotDirectory),
        }
    }

    fn directory_mut(&mut self, number: u64) -> Result<&mut Directory, Status> {
        match &mut self.inode_mut(number).kind {
            Kind::Directory(directory) => Ok(directory),
            _ => Err(Status::NotDirectory),
        }
    }

    /// Returns the number of the file with a name.
    pub(crate) fn look_up(&self, place: Place<'_>) -> Result<u64, Status> {
        let directory = self.directory(place.directory)?;
        let name = place.name.bytes();
        if name.len() > NAME_MAX {
            return Err(Status::NameTooLong);
        }
        directory.get(name).ok_or(Status::NoEntry)
    }

    /// Returns an error if the name exists.
    fn check_free(&self, place: Place<'_>) -> Result<(), Status> {
        match self.look_up(place) {
            Ok(_) => Err(Status::Exists),
            Err(Status::NoEntry) => Ok(()),
            Err(status) => Err(status),
        }
    }

    /// Creates a regular file. If the name exists and `may_exist`, that file gets the new size.
    pub(crate) fn create(
        &mut self,
        place: Place<'_>,
        new: &NewAttributes,
        may_exist: bool,
        caller: Caller,
    ) -> Result<u64, Status> {
        match self.look_up(place) {
            Ok(number) if may_exist => {
                self.content(number).map_err(|status| match status {
                    Status::IsDirectory => status,
                    _ => Status::Exists,
                })?;
                if let Some(size) = new.size {
                    self.resize(number, size)?;
                }
                Ok(number)
            }
            _ => self.make(place, Kind::File(Content::default()), new, caller),
        }
    }

    /// Creates a regular file, or finds the one that was created with the same verifier.
    pub(crate) fn create_exclusive(
        &mut self,
        place: Place<'_>,
        verifier: CreateVerifier,
        caller: Caller,
    ) -> Result<u64, Status> {
        if let Ok(number) = self.look_up(place)
            && self.inode(number).verifier == Some(verifier)
        {
            return Ok(number);
        }
        let content = Kind::File(Content::default());
        let number = self.make(place, content, &NewAttributes::default(), caller)?;
        self.inode_mut(number).verifier = Some(verifier);
        Ok(number)
    }

    /// Creates a file of any kind.
    pub(crate) fn make(
        &mut self,
        place: Place<'_>,
        kind: Kind,
        new: &NewAttributes,
        caller: Caller,
    ) -> Result<u64, Status> {
        self.check_free(place)?;
        if matches!(kind, Kind::Directory(_)) && self.inode(place.directory).links >= LINKS_MAX {
            return Err(Status::TooManyLinks);
        }
        let number = self.add(kind, caller)?;
        let made = self
            .set_attributes(number, new)
            .and_then(|()| self.attach(place, number));
        if made.is_err() {
            self.delete(number);
        }
        made.map(|()| number)
    }

    /// Adds a name to a file.
    pub(crate) fn link(&mut self, number: u64, place: Place<'_>) -> Result<(), Status> {
        self.check_free(place)?;
        let Inode { kind, links, .. } = self.inode(number);
        match kind {
            Kind::Directory(_) => Err(Status::IsDirectory),
            _ if *links >= LINKS_MAX => Err(Status::TooManyLinks),
            _ => self.attach(place, number),
        }
    }

    /// Removes a name of a file that is not a directory.
    pub(crate) fn remove(&mut self, place: Place<'_>) -> Result<(), Status> {
        let number = self.look_up(place)?;
        if self.directory(number).is_ok() {
            return Err(Status::IsDirectory);
        }
        self.detach(place, number);
        self.delete_if_nameless(number);
        Ok(())
    }

    /// Removes a directory without entries.
    pub(crate) fn remove_directory(&mut self, place: Place<'_>) -> Result<(), Status> {
        let number = self.look_up(place)?;
        if self.directory(number)?.len() > 0 {
            return Err(Status::NotEmpty);
        }
        self.detach(place, number);
        self.delete_if_nameless(number);
        Ok(())
    }

    /// Renames a file, and replaces a file with the new name.
    pub(crate) fn rename(&mut self, from: Place<'_>, to: Place<'_>) -> Result<(), Status> {
        let number = self.look_up(from)?;
        let is_directory = self.directory(number).is_ok();
        if is_directory && self.is_within(to.directory, number) {
            return Err(Status::InvalidArgument);
        }
        match self.look_up(to) {
            Ok(taken) if taken == number => return Ok(()),
            Ok(taken) if self.is_within(from.directory, taken) => return Err(Status::NotEmpty),
            Ok(taken) => {
                let room = self.directory(taken).map(|directory| directory.len() == 0);
                match (is_directory, room) {
                    (true, Err(status)) => return Err(status),
                    (false, Ok(_)) => return Err(Status::IsDirectory),
                    (true, Ok(false)) => return Err(Status::NotEmpty),
                    _ => {}
                }
                self.detach(to, taken);
                self.delete_if_nameless(taken);
            }
            Err(Status::NoEntry) => {}
            Err(status) => return Err(status),
        }
        let moves_up_or_down = is_directory && from.directory != to.directory;
        if moves_up_or_down && self.inode(to.directory).links >= LINKS_MAX {
            return Err(Status::TooManyLinks);
        }
        self.detach(from, number);
        self.attach(to, number)
    }

    /// Returns true if `number` is `above`, or below it.
    fn is_within(&self, mut number: u64, above: u64) -> bool {
        while number != above && number != ROOT {
            let Ok(directory) = self.directory(number) else {
                return false;
            };
            number = directory.parent;
        }
        number == above
    }

    /// Adds a name, which must be free.
    fn attach(&mut self, place: Place<'_>, number: u64) -> Result<(), Status> {
        self.directory(place.directory)?;
        self.take(NAME_COST)?;
        let now = self.now;
        self.directory_mut(place.directory)?
            .insert(place.name.bytes(), number);
        if let Ok(directory) = self.directory_mut(number) {
            directory.parent = place.directory;
            self.inode_mut(number).links += 2;
            self.inode_mut(place.directory).links += 1;
        } else {
            self.inode_mut(number).links += 1;
        }
        self.inode_mut(number).times.changed = now;
        self.inode_mut(place.directory).touch(now);
        Ok(())
    }

    /// Removes a name of file `number`, which may have none afterwards.
    fn detach(&mut self, place: Place<'_>, number: u64) {
        let now = self.now;
        if let Ok(directory) = self.directory_mut(place.directory) {
            directory.remove(place.name.bytes());
            self.used -= NAME_COST;
        }
        if self.directory(number).is_ok() {
            self.inode_mut(number).links -= 2;
            self.inode_mut(place.directory).links -= 1;
        } else {
            self.inode_mut(number).links -= 1;
        }
        self.inode_mut(number).times.changed = now;
        self.inode_mut(place.directory).touch(now);
    }

    fn delete_if_nameless(&mut self, number: u64) {
        if self.inode(number).links == 0 {
            self.delete(number);
        }
    }
}
