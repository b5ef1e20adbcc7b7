//! The undo file: one JSON value a line. The first names the owner; the others are steps, and the numbers of completed
//! steps. Lines are only appended, each before the change that it describes.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::step::UndoStep;

/// Largest size that is read, in bytes; no daemon writes more.
const LARGEST: u64 = 1 << 20;
/// Position of the start time in `/proc/PID/stat` after the program's name (proc(5), field 22).
const START_TIME: usize = 19;

/// A process, distinguished by its start time from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    /// Process number.
    pub pid: u32,
    /// Start time, in clock ticks since boot.
    pub start_time: u64,
}

impl Owner {
    /// Returns this process.
    pub(super) fn this_process() -> io::Result<Self> {
        let pid = std::process::id();
        let start_time = start_time(pid)
            .ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat tells no start time")))?;
        Ok(Self { pid, start_time })
    }

    /// Returns true if the process still runs.
    pub(super) fn is_alive(&self) -> bool {
        start_time(self.pid) == Some(self.start_time)
    }
}

/// Returns the start time of a process. The program's name, in parentheses, may itself contain spaces and parentheses.
/// A zombie counts as ended.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(START_TIME - 1)?.parse().ok()
}

/// One line of an undo file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// Owner of the file.
    Owner(Owner),
    /// A step to take.
    Step(UndoStep),
    /// The step with this number (from 0, in the order of the file) is complete.
    Done(usize),
}

impl Line {
    /// Returns the line as bytes, with its line end.
    pub(super) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// Content of a file, as far as it could be parsed.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// Owner of the file; `None` if that line is damaged.
    pub owner: Option<Owner>,
    /// Steps still to take, in the order in which they were recorded.
    pub steps: Vec<UndoStep>,
    /// Descriptions of the damaged parts.
    pub damage: Vec<String>,
}

/// Reads the file at `path`.
pub(super) fn read(path: &Path) -> io::Result<Content> {
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)?;
    Ok(parse(&bytes))
}

/// Parses all complete lines.
pub(super) fn parse(bytes: &[u8]) -> Content {
    let mut content = Content::default();
    // A damaged line keeps its number, so that the numbers of the others stay right; the first line names the owner and
    // has no number.
    let mut steps: Vec<Option<UndoStep>> = Vec::new();
    let mut damaged = 0usize;
    let whole = &bytes[..bytes.len().min(LARGEST as usize)];
    let lines = whole
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    for (place, line) in lines.enumerate() {
        match serde_json::from_slice(line) {
            Ok(Line::Owner(owner)) => content.owner = Some(owner),
            Ok(Line::Step(step)) => steps.push(Some(step)),
            Ok(Line::Done(number)) => {
                if let Some(step) = steps.get_mut(number) {
                    *step = None;
                }
            }
            Err(_) => {
                damaged += 1;
                steps.extend((place > 0).then_some(None));
            }
        }
    }
    if damaged > 0 {
        content.damage.push(format!("{damaged} lines are damaged"));
    }
    if whole.len() < bytes.len() {
        content.damage.push(format!(
            "it is larger than {LARGEST} bytes, the rest was not read"
        ));
    }
    if content.owner.is_none() && !bytes.is_empty() {
        content.damage.push("it does not say whose it is".into());
    }
    content.steps = steps.into_iter().flatten().collect();
    content
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
