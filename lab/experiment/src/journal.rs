//! The file of finished runs: each line is complete, or recognised as torn.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use blake2::{Blake2s256, Digest};

use crate::error::LabError;
use crate::plan::hex;
use crate::storage::{JOURNAL, write_atomically};
use crate::table::{RunKey, Runs};

/// Longest time until a finished run is synchronised to disk. (A killed program loses no written run; only a power
/// failure of the machine does.)
const SYNC: Duration = Duration::from_secs(1);

/// The runs of a folder. A line is `case seed value … checksum`; the first line identifies the plan and the program of
/// the runs.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    synced: Instant,
    is_dirty: bool,
}

/// The content of a journal.
#[derive(Debug, Default)]
pub(crate) struct Content {
    /// The plan and program of the runs; `None` if the journal has no such line.
    pub(crate) identity: Option<String>,
    pub(crate) runs: Runs,
    /// Number of lines that were torn or damaged; their runs are repeated.
    pub(crate) dropped: usize,
}

impl Content {
    /// Reads the journal in `folder`; a missing one counts as empty.
    pub(crate) fn read(folder: &Path) -> Result<Self, LabError> {
        let path = folder.join(JOURNAL);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(LabError::file("read", &path)(error)),
        };
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.split_inclusive('\n').map(sound);
        let Some(header) = lines.next() else {
            return Ok(Self::default());
        };
        let mut content = Self {
            identity: header.map(Into::into),
            ..Self::default()
        };
        for line in lines {
            match line.and_then(parse) {
                Some((key, values)) => content.add(key, values)?,
                None => content.dropped += 1,
            }
        }
        Ok(content)
    }

    fn add(&mut self, key: RunKey, values: Vec<Option<f64>>) -> Result<(), LabError> {
        let old = self.runs.insert(key, values);
        if old.is_some_and(|old| self.runs.get(&key) != Some(&old)) {
            return Err(LabError::Differs(key.seed));
        }
        Ok(())
    }

    /// Returns the whole journal as text, sorted.
    fn text(&self, identity: &str) -> String {
        let runs = self.runs.iter();
        let lines = runs.map(|(key, values)| line(&run(*key, values)));
        std::iter::once(line(identity)).chain(lines).collect()
    }

    /// Writes the journal anew, sorted and without torn lines.
    pub(crate) fn rewrite(&self, folder: &Path, identity: &str) -> Result<(), LabError> {
        write_atomically(&folder.join(JOURNAL), self.text(identity).as_bytes())
    }
}

impl Journal {
    /// Opens the journal in `folder` to append runs.
    pub(crate) fn open(folder: &Path) -> Result<Self, LabError> {
        let path = folder.join(JOURNAL);
        let file = OpenOptions::new().append(true).open(&path);
        Ok(Self {
            file: file.map_err(LabError::file("open", &path))?,
            path,
            synced: Instant::now(),
            is_dirty: false,
        })
    }

    /// Appends a run.
    pub(crate) fn append(&mut self, key: RunKey, values: &[Option<f64>]) -> Result<(), LabError> {
        let text = line(&run(key, values));
        let written = self.file.write_all(text.as_bytes());
        written.map_err(LabError::file("write", &self.path))?;
        self.is_dirty = true;
        if self.synced.elapsed() >= SYNC {
            self.sync()?;
        }
        Ok(())
    }

    /// Waits until all runs are on disk.
    pub(crate) fn sync(&mut self) -> Result<(), LabError> {
        if self.is_dirty {
            let synced = self.file.sync_data();
            synced.map_err(LabError::file("write", &self.path))?;
        }
        (self.is_dirty, self.synced) = (false, Instant::now());
        Ok(())
    }
}

fn run(key: RunKey, values: &[Option<f64>]) -> String {
    let values = values.iter().map(|value| match value {
        Some(value) => format!(" {value}"),
        None => " -".into(),
    });
    format!("{} {}{}", key.case, key.seed, values.collect::<String>())
}

fn parse(run: &str) -> Option<(RunKey, Vec<Option<f64>>)> {
    let mut parts = run.split(' ');
    let case = parts.next()?.parse().ok()?;
    let seed = parts.next()?.parse().ok()?;
    let values = parts.map(|part| match part {
        "-" => Some(None),
        number => number.parse().ok().map(Some),
    });
    Some((RunKey { case, seed }, values.collect::<Option<_>>()?))
}

fn line(text: &str) -> String {
    format!("{text} {}\n", checksum(text))
}

/// Returns the text of a line if the line is whole.
fn sound(line: &str) -> Option<&str> {
    let (text, sum) = line.strip_suffix('\n')?.rsplit_once(' ')?;
    (checksum(text) == sum).then_some(text)
}

fn checksum(text: &str) -> String {
    hex(&Blake2s256::digest(text)[..8])
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
