//! The file system as the programs expect it.

use fileserver::Server;
use mount::{Errno, Handle, Node};
use nfs::FileHandle;

use crate::Broken;

/// Number of names that programs use in a directory.
pub const NAMES: usize = 4;

/// A file that a program has open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// Number of the opening in the run.
    pub number: usize,
    /// Host of the program.
    pub host: usize,
    /// File, by the kernel's node and by its number in the [`Reference`].
    pub node: Node,
    /// File by its number.
    pub file: usize,
    /// Handle of the opening.
    pub handle: Handle,
    /// True if the server has refused a write to the file and this opening was not told.
    pub is_owed: bool,
    /// True if an error of a past fault of the server may still be reported.
    pub may_fail: bool,
    /// Last error of a request that used it.
    pub error: Option<Errno>,
}

/// A file.
#[derive(Debug, Clone, Default)]
pub(crate) struct File {
    /// Content as programs see it; its end alone if `is_doubtful`.
    pub(crate) content: Vec<u8>,
    /// Content that was last confirmed, and the writes since then: offset, length and fill byte.
    pub(crate) confirmed: Vec<u8>,
    pub(crate) since: Vec<(usize, usize, u8)>,
    /// True if an operation on it failed: its content is unknown.
    pub(crate) is_doubtful: bool,
}

impl File {
    /// Records that its content is on the server's disk.
    fn confirm(&mut self) {
        self.confirmed.clone_from(&self.content);
        self.since.clear();
    }

    pub(crate) fn resize(&mut self, size: usize) {
        self.content.resize(size, 0);
        self.confirmed.resize(size, 0);
    }

    /// Returns true if the host's end without notice can have left `stored`: each byte is the confirmed one, or was
    /// written since.
    fn explains(&self, stored: &[u8]) -> bool {
        let is_explained = |(place, byte): (usize, &u8)| {
            let written = |(offset, length, fill): &(usize, usize, u8)| {
                fill == byte && (*offset..offset + length).contains(&place)
            };
            self.confirmed.get(place).copied().unwrap_or(0) == *byte
                || self.since.iter().any(written)
        };
        stored.len() >= self.confirmed.len() && stored.iter().enumerate().all(is_explained)
    }
}

/// A file whose name is not used again, and what may have become of it.
#[derive(Debug, Clone)]
struct Retired {
    path: String,
    file: File,
    /// True if nothing may change it.
    is_frozen: bool,
}

/// Names and contents of one directory, as the programs expect them.
#[derive(Debug, Clone)]
pub struct Reference {
    /// Path of the directory on the server, with a `/` at the end unless it is empty.
    directory: String,
    /// File of each name, and how often the name was given up for a new one.
    pub(crate) names: [(Option<usize>, u32); NAMES],
    pub(crate) files: Vec<File>,
    pub(crate) open: Vec<Opening>,
    pub(crate) openings: usize,
    retired: Vec<Retired>,
    pub(crate) writes: u8,
    pub(crate) is_faulty: bool,
    /// Number of faults of the server so far.
    pub(crate) faults: usize,
}

impl Reference {
    /// Returns the reference of an empty directory of the server.
    pub fn new(directory: &str) -> Self {
        Self {
            directory: directory.to_owned(),
            names: [(None, 0); NAMES],
            files: Vec::new(),
            open: Vec::new(),
            openings: 0,
            retired: Vec::new(),
            writes: 0,
            is_faulty: false,
            faults: 0,
        }
    }

    /// Returns the open files, in the order in which they were opened.
    pub fn open(&self) -> &[Opening] {
        &self.open
    }

    /// Returns the number of the file of a name.
    pub fn file(&self, name: usize) -> Option<usize> {
        self.names[name].0
    }

    /// Returns the size of a file.
    pub fn size(&self, file: usize) -> u64 {
        self.files[file].content.len() as u64
    }

    /// Returns a name by its number.
    pub(crate) fn name(&self, number: usize) -> String {
        let letter = char::from(b'a' + number as u8);
        match self.names[number].1 {
            0 => letter.to_string(),
            times => format!("{letter}{times}"),
        }
    }

    /// Returns the path of a file on the server, if it has a name.
    fn path(&self, file: usize) -> Option<String> {
        let number = self
            .names
            .iter()
            .position(|(known, _)| *known == Some(file))?;
        Some(format!("{}{}", self.directory, self.name(number)))
    }

    /// Records that the server has a fault from now on, or none: with one, requests may fail.
    pub fn set_faulty(&mut self, is_faulty: bool) {
        self.is_faulty = is_faulty;
        self.faults += usize::from(is_faulty);
        if is_faulty {
            self.open
                .iter_mut()
                .for_each(|opening| opening.may_fail = true);
        }
    }

    /// Returns true if the server has a fault.
    pub fn is_faulty(&self) -> bool {
        self.is_faulty
    }

    /// Records that the server has refused a write to a file: each opening of it must get the error (R8).
    pub fn owe(&mut self, file: usize) {
        let openings = self.open.iter_mut().filter(|opening| opening.file == file);
        openings.for_each(|opening| opening.is_owed = true);
    }

    /// As [`Reference::owe`], for a file by its handle, if it has a name.
    pub fn owe_handle(&mut self, server: &Server, handle: FileHandle) {
        for file in 0..self.files.len() {
            if self.path(file).and_then(|path| server.handle(&path)) == Some(handle) {
                self.owe(file);
            }
        }
    }

    /// Gives a name up for a new one, with its file: a failed operation has left it in doubt.
    pub(crate) fn doubt(&mut self, name: usize) {
        if let Some(file) = self.names[name].0.take() {
            self.files[file].is_doubtful = true;
        }
        self.names[name].1 += 1;
    }

    /// Gives a name up for a new one. Its file is checked at the end of the run.
    pub(crate) fn retire(&mut self, name: usize) {
        let Some(file) = self.names[name].0 else {
            return self.doubt(name);
        };
        let path = format!("{}{}", self.directory, self.name(name));
        if !self.files[file].is_doubtful {
            let file = self.files[file].clone();
            self.retired.push(Retired {
                path,
                file,
                is_frozen: false,
            });
        }
        self.doubt(name);
    }

    /// Gives up the names of a file. The file is checked at the end of the run.
    pub(crate) fn retire_file(&mut self, file: usize) {
        let name = self
            .names
            .iter()
            .position(|(known, _)| *known == Some(file));
        if let Some(name) = name {
            self.retire(name);
        }
    }

    /// Returns true if this name was given up for a new one.
    pub(crate) fn is_given_up(&self, name: &[u8]) -> bool {
        let number = name
            .first()
            .map_or(0, |letter| usize::from(letter.wrapping_sub(b'a')));
        number < NAMES && self.name(number).as_bytes() != name
    }

    /// Records that the server has given a file another handle, after which the host that has it open must not change
    /// it (R9). Returns the path of the file.
    pub fn replace(&mut self, server: &Server, name: usize) -> Option<String> {
        let file = self.names[name].0?;
        let path = self.path(file)?;
        let frozen = File {
            content: server.content(&path)?,
            confirmed: server.stored(&path)?,
            ..File::default()
        };
        self.retired.push(Retired {
            path: path.clone(),
            file: frozen,
            is_frozen: true,
        });
        self.doubt(name);
        Some(path)
    }

    /// Records that a host's mount was killed: its files are no longer open, and what was not confirmed may be lost.
    pub(crate) fn host_was_killed(&mut self) {
        self.open.clear();
        (0..NAMES).for_each(|name| self.retire(name));
    }

    /// Returns true if an open file with known content still fails, although `fsync` was called after the last fault.
    pub fn fails_for_good(&self) -> bool {
        let fails = |open: &Opening| open.may_fail && !self.files[open.file].is_doubtful;
        self.open.iter().any(fails)
    }

    /// Checks that what the programs know of a file is on the server's disk (R6, R7).
    pub(crate) fn check_stored(&mut self, server: &Server, file: usize) -> Result<(), Broken> {
        let path = self.path(file);
        let known = &mut self.files[file];
        let Some(path) = path.filter(|_| !known.is_doubtful) else {
            return Ok(());
        };
        let stored = server.stored(&path);
        if stored.as_ref() != Some(&known.content) {
            let (expected, stored) = (known.content.len(), stored.map(|stored| stored.len()));
            let text =
                format!("{path} is not what was confirmed ({expected} bytes, stored {stored:?})");
            return Err(Broken::new("R7", text));
        }
        known.confirm();
        Ok(())
    }

    /// Checks all files, at the end of a run when nothing is open.
    ///
    /// # Errors
    /// The first difference between the server's disk and the expected content.
    pub fn check(&mut self, server: &Server) -> Result<(), Broken> {
        for file in 0..self.files.len() {
            self.check_stored(server, file)?;
        }
        for Retired {
            path,
            file,
            is_frozen,
        } in &self.retired
        {
            let Some(stored) = server.stored(path) else {
                return Err(Broken::new("R7", format!("{path} is gone")));
            };
            // A crash of the server takes what was not stored when the file was replaced.
            let is_same = [&file.content, &file.confirmed]
                .map(Some)
                .contains(&server.content(path).as_ref());
            if *is_frozen && !is_same {
                return Err(Broken::new(
                    "R9",
                    format!("{path} was changed, though it is another file"),
                ));
            }
            if !is_frozen && !file.explains(&stored) {
                let text =
                    format!("{path} has lost what was confirmed, or has bytes that nobody wrote");
                return Err(Broken::new("R7", text));
            }
        }
        Ok(())
    }
}
