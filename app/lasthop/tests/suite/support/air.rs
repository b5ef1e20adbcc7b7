//! An emulated hop between the mobile host and the gateway.

use std::path::Path;

use edges::namespace::Namespace;
use rig::{End, Link};
use serde_json::Value;
use tempfile::TempDir;

use super::PROGRAM;
use super::turn::Turn;

/// The addresses of the two ends.
pub(crate) const GATEWAY: &str = "10.1.0.1";
pub(crate) const MOBILE: &str = "10.1.0.2";

/// The emulator; it ends when dropped.
pub(crate) struct Air {
    emulator: rig::Air,
    _folder: TempDir,
    _turn: Turn,
}

impl Air {
    /// Joins the gateway and the mobile host by a link as `link` (TOML) says; both ends bear the name "air".
    pub(crate) fn between([gateway, mobile]: [&Namespace; 2], link: &str, seed: u64) -> Self {
        let turn = Turn::take();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("link.toml");
        std::fs::write(&file, link).unwrap();
        let link = Link {
            program: Path::new(PROGRAM),
            folder: folder.path(),
            link: file.to_str().unwrap(),
            seed,
        };
        let [left, right] = [GATEWAY, MOBILE].map(|address| format!("{address}/24"));
        let ends = [
            End::new(gateway, "air", &left),
            End::new(mobile, "air", &right),
        ];
        Self {
            emulator: rig::Air::between(link, ends).unwrap(),
            _folder: folder,
            _turn: turn,
        }
    }

    /// Asks for the counters.
    pub(crate) fn report(&mut self) -> Value {
        self.emulator.report().unwrap()
    }

    /// Ends the emulator and gives its last report.
    pub(crate) fn end(self) -> Value {
        self.emulator.end().unwrap()
    }

    /// The processor time that the emulator has used, in seconds.
    pub(crate) fn processor_seconds(&self) -> f64 {
        self.emulator.usage().processor.as_secs_f64()
    }
}
