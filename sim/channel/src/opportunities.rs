//! Traces of delivery opportunities.

use units::{Bytes, Duration, Instant};

/// Bytes that one opportunity carries.
pub const OPPORTUNITY: Bytes = Bytes::new(1500);

/// A trace in the format of mahimahi (Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC
/// 2015): each line is a time in whole milliseconds at which 1500 bytes may leave; equal times are several
/// opportunities; after the last time the trace repeats.
#[derive(Debug, PartialEq, Eq)]
pub struct Opportunities {
    milliseconds: Vec<u64>,
}

impl Opportunities {
    /// Parses a trace; the error names the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut milliseconds: Vec<u64> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let time = line.parse().map_err(|_| {
                let line = number + 1;
                format!("line {line}: a delivery opportunity is a time in whole milliseconds")
            })?;
            if milliseconds.last().is_some_and(|last| *last > time) {
                let line = number + 1;
                return Err(format!("line {line}: the time lies before the last one"));
            }
            milliseconds.push(time);
        }
        match milliseconds.last() {
            None | Some(0) => Err("the trace must last for more than 0 ms".into()),
            Some(last) if *last > MOST_MILLISECONDS => {
                Err(format!("the trace may last {MOST_MILLISECONDS} ms at most"))
            }
            Some(_) => Ok(Self { milliseconds }),
        }
    }

    /// Returns the length of one repetition.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.milliseconds.last().copied().unwrap_or(1))
    }

    /// Returns the number of opportunities of one repetition.
    pub fn count(&self) -> usize {
        self.milliseconds.len()
    }

    /// Returns the time of opportunity `number`.
    pub(crate) fn time(&self, number: u64) -> Instant {
        let count = self.milliseconds.len() as u64;
        let within = Duration::from_millis(self.milliseconds[(number % count) as usize]);
        Instant::ZERO + self.period() * (number / count) + within
    }

    /// Returns the number of the first opportunity at `now` or later.
    pub(crate) fn first_from(&self, now: Instant) -> u64 {
        let period = self.period().as_nanos();
        // One repetition holds the opportunities after its beginning, up to and including its end.
        let repetition = now.as_nanos().saturating_sub(1) / period;
        let offset = Duration::from_nanos(now.as_nanos() - repetition * period);
        let index = self
            .milliseconds
            .partition_point(|time| Duration::from_millis(*time) < offset);
        repetition * self.milliseconds.len() as u64 + index as u64
    }
}

/// One week.
const MOST_MILLISECONDS: u64 = 7 * 24 * 3_600_000;
