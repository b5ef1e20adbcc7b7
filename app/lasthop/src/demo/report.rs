//! The folder with the plot and the figures.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::DemoError;
use super::plan::RunResult;
use super::plot;
use crate::failure::Failure;

/// A writable folder. If it did not exist and stays empty, it is removed again.
pub(super) struct Report {
    folder: PathBuf,
    is_new: bool,
}

impl Report {
    /// Creates the folder, and checks that it is writable before the measurements begin.
    pub(super) fn in_folder(folder: &Path) -> Result<Self, DemoError> {
        let failed = |source: io::Error| DemoError::Report {
            folder: folder.into(),
            source,
        };
        let is_new = !folder.exists();
        fs::create_dir_all(folder).map_err(failed)?;
        let report = Self {
            folder: folder.into(),
            is_new,
        };
        tempfile::tempfile_in(folder).map_err(failed)?;
        Ok(report)
    }

    /// Writes the figures and draws the plot.
    pub(super) fn write(&self, results: &[RunResult], json: &str) -> Result<(), Failure> {
        self.write_figures(json)?;
        plot::draw(results, &self.plot()).map_err(Failure::broken)
    }

    /// Writes the figures.
    pub(super) fn write_figures(&self, json: &str) -> Result<(), Failure> {
        let figures = self.folder.join("figures.json");
        fs::write(&figures, format!("{json}\n")).map_err(|error| {
            Failure::broken(format!("cannot write {}: {error}", figures.display()))
        })
    }

    /// Returns the path of the plot.
    pub(super) fn plot(&self) -> PathBuf {
        self.folder.join("bytes.svg")
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if self.is_new {
            // Fails if there is a file in it.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}
