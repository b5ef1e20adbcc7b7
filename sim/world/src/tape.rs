//! The bytes of a run.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use units::Duration;

use crate::{Setting, Step, seeds};

/// Bytes of the setting, and of each step.
pub(crate) const PIECE: usize = 8;
/// Most steps of a tape; what follows is not read.
const STEPS_MAX: usize = 400;

/// The setting and the steps of a run. Any bytes are a tape; its text form is their hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tape {
    setting: [u8; PIECE],
    steps: Vec<[u8; PIECE]>,
}

impl Tape {
    /// Returns the tape that `seed` draws. Each seed has its own choice of faults (swarm testing).
    pub fn from_seed(seed: u64) -> Self {
        let (setting, steps) = seeds::draw(seed);
        Self { setting, steps }
    }

    /// Returns the tape of these bytes; an incomplete step at the end is left out.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut pieces = bytes.chunks_exact(PIECE).map(|piece| {
            let mut whole = [0; PIECE];
            whole.copy_from_slice(piece);
            whole
        });
        Self {
            setting: pieces.next().unwrap_or_default(),
            steps: pieces.take(STEPS_MAX).collect(),
        }
    }

    /// Returns the bytes of the tape.
    pub fn to_bytes(&self) -> Vec<u8> {
        let pieces = std::iter::once(&self.setting).chain(&self.steps);
        pieces.flatten().copied().collect()
    }

    /// Returns the setting.
    pub fn setting(&self) -> Setting {
        Setting::decode(self.setting)
    }

    /// Returns the steps, in order.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        self.steps.iter().map(|bytes| Step::decode(*bytes))
    }

    /// Returns the virtual time that passes between the steps.
    pub fn span(&self) -> Duration {
        let waits = self.steps().map(|step| match step {
            Step::Wait { time } => time,
            _ => Duration::ZERO,
        });
        waits.fold(Duration::ZERO, |sum, time| sum + time)
    }

    /// Returns the number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns true if there are no steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the tape without `count` steps from `first` on.
    pub(crate) fn without(&self, first: usize, count: usize) -> Self {
        let mut tape = self.clone();
        let end = (first + count).min(tape.steps.len());
        tape.steps.drain(first.min(end)..end);
        tape
    }

    /// Returns the tape with another byte of a step; of the setting if `step` is `None`.
    pub(crate) fn with_byte(&self, step: Option<usize>, place: usize, byte: u8) -> Self {
        let mut tape = self.clone();
        let piece = match step {
            Some(step) => &mut tape.steps[step],
            None => &mut tape.setting,
        };
        piece[place] = byte;
        tape
    }

    /// Returns a byte of a step; of the setting if `step` is `None`.
    pub(crate) fn byte(&self, step: Option<usize>, place: usize) -> u8 {
        step.map_or(self.setting, |step| self.steps[step])[place]
    }

    /// Returns the tape in words: a line for the setting, and one for each step.
    pub fn describe(&self) -> String {
        let steps = self.steps().enumerate();
        let steps = steps.map(|(number, step)| format!("\n{:>4}  {step}", number + 1));
        let steps: String = steps.collect();
        format!("{}{steps}", self.setting())
    }
}

impl fmt::Display for Tape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.to_bytes().into_iter();
        bytes.try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// Error for a text that is not a tape.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TapeError {
    /// A character is not a hexadecimal digit.
    #[error("a tape consists of hexadecimal digits; character {0} is none")]
    Digit(usize),
    /// The last digit has no second one.
    #[error("a tape has two hexadecimal digits for each byte; one is missing at its end")]
    Odd,
}

impl FromStr for Tape {
    type Err = TapeError;

    fn from_str(text: &str) -> Result<Self, TapeError> {
        let digit = |(place, character): (usize, char)| {
            let digit = character.to_digit(16).ok_or(TapeError::Digit(place + 1))?;
            Ok(digit as u8)
        };
        let digits = text.trim().chars().enumerate().map(digit);
        let digits = digits.collect::<Result<Vec<u8>, _>>()?;
        if digits.len() % 2 == 1 {
            return Err(TapeError::Odd);
        }
        let bytes: Vec<u8> = digits
            .chunks_exact(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect();
        Ok(Self::from_bytes(&bytes))
    }
}
