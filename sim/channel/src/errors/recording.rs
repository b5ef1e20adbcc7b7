//! Recorded state changes, and the format of their file.

use units::{Duration, Instant};

use super::period::SHORTEST_CYCLE;

/// A change of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateChange {
    /// Time of the change.
    pub at: Instant,
    /// True if the new state is the good one.
    pub good: bool,
}

/// Prints a line of a recording.
impl std::fmt::Display for StateChange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = if self.good { "good" } else { "bad" };
        write!(formatter, "{} ns {state}", self.at.as_nanos())
    }
}

/// Recorded state changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    starts_good: bool,
    /// Alternating states at increasing times above zero.
    changes: Vec<StateChange>,
    repeat: Option<Duration>,
}

impl Recording {
    /// Parses lines such as `1.25 s bad` (a time, then the state from then on). Times increase; before the first time
    /// the state is good. The error names the line.
    ///
    /// With `repeat` the recording repeats after that time, and all times lie before it.
    pub fn parse(text: &str, repeat: Option<Duration>) -> Result<Self, String> {
        let mut recording = Self {
            starts_good: true,
            changes: Vec::new(),
            repeat,
        };
        let mut last: Option<Instant> = None;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let change = parse_change(line)
                .and_then(|change| check_time(change, last, repeat))
                .map_err(|error| format!("line {}: {error}", number + 1))?;
            last = Some(change.at);
            recording.push(change);
        }
        let state = recording
            .changes
            .last()
            .map_or(recording.starts_good, |last| last.good);
        if let Some(repeat) = repeat
            && state != recording.starts_good
        {
            // The start of a repetition is itself a change.
            recording.changes.push(StateChange {
                at: Instant::ZERO + repeat,
                good: recording.starts_good,
            });
        }
        recording.check_pace()?;
        Ok(recording)
    }

    /// Checks that repeated changes are rare enough for a machine to catch up quickly after a long time without calls.
    fn check_pace(&self) -> Result<(), String> {
        let least = SHORTEST_CYCLE * self.changes.len() as u64 / 2;
        if self.repeat.is_some_and(|repeat| repeat < least) {
            let count = self.changes.len();
            return Err(format!(
                "its {count} changes must not repeat within less than {least}"
            ));
        }
        Ok(())
    }

    fn push(&mut self, change: StateChange) {
        let state = self
            .changes
            .last()
            .map_or(self.starts_good, |last| last.good);
        if change.at == Instant::ZERO {
            self.starts_good = change.good;
        } else if change.good != state {
            self.changes.push(change);
        }
    }

    pub(super) fn starts_good(&self) -> bool {
        self.starts_good
    }

    /// Returns change `number`, counted through all repetitions.
    pub(super) fn change(&self, number: u64) -> Option<StateChange> {
        let count = self.changes.len() as u64;
        let Some(repeat) = self.repeat else {
            return self.changes.get(usize::try_from(number).ok()?).copied();
        };
        let within = self.changes.get((number.checked_rem(count)?) as usize)?;
        Some(StateChange {
            at: within.at + repeat * (number / count),
            good: within.good,
        })
    }
}

fn parse_change(line: &str) -> Result<StateChange, String> {
    let form = || format!("'{line}' is not a state change; write it like '1.25 s bad'");
    let (time, state) = line.rsplit_once(char::is_whitespace).ok_or_else(form)?;
    let good = match state {
        "good" => true,
        "bad" => false,
        _ => return Err(form()),
    };
    let time: Duration = time.parse().map_err(|error| format!("{error}"))?;
    Ok(StateChange {
        at: Instant::ZERO + time,
        good,
    })
}

fn check_time(
    change: StateChange,
    last: Option<Instant>,
    repeat: Option<Duration>,
) -> Result<StateChange, String> {
    if last.is_some_and(|last| change.at <= last) {
        return Err("the time does not lie after the last one".into());
    }
    if repeat.is_some_and(|repeat| change.at.since_origin() >= repeat) {
        return Err("the time does not lie before the end of a repetition".into());
    }
    Ok(change)
}
