//! False answers of a hostile server: see [`FalseAnswer`].

use ::nfs::{Attributes, Stability, Written};

use crate::FalseAnswer;

/// A count larger than that of any answer.
const HUGE: u32 = u32::MAX;
/// Length of the names of [`FalseAnswer::LongNames`], in bytes.
const LONG_NAME: usize = 4_095;
/// Amount that [`FalseAnswer::HugeFiles`] adds to sizes.
const HUGE_SIZE: u64 = 1 << 63;

impl FalseAnswer {
    /// Returns the attributes to report for a file.
    pub(super) fn attributes(self, truth: Attributes) -> Attributes {
        match self {
            Self::HugeFiles => Attributes {
                size: truth.size | HUGE_SIZE,
                ..truth
            },
            _ => truth,
        }
    }

    /// Returns the name to report for a directory entry.
    pub(super) fn name(self, truth: &[u8]) -> Vec<u8> {
        match self {
            Self::SlashNames => [b"../", truth].concat(),
            Self::LongNames => {
                let mut name = truth.to_vec();
                name.resize(LONG_NAME, b'x');
                name
            }
            _ => truth.to_vec(),
        }
    }

    /// Changes the data of a READ of `asked` bytes; returns true if the file is reported to end there.
    pub(super) fn read(self, data: &mut Vec<u8>, asked: u32, end_of_file: bool) -> bool {
        match self {
            Self::TooMuchData => data.resize(asked as usize + 1, 0),
            Self::NoData => data.clear(),
            _ => {}
        }
        end_of_file && self != Self::NoData
    }

    /// Returns the result to report for a WRITE.
    pub(super) fn written(self, truth: Written) -> Written {
        match self {
            Self::HugeCounts => Written {
                count: HUGE,
                ..truth
            },
            Self::LessStable => Written {
                stability: Stability::Unstable,
                ..truth
            },
            _ => truth,
        }
    }

    /// Changes the encoded answer to a READ with `length` bytes of data.
    pub(super) fn read_answer(self, results: &mut [u8], length: usize) {
        if self != Self::HugeCounts {
            return;
        }
        // Before the data stand their count, the end-of-file flag, and their length.
        let data = results.len() - length.next_multiple_of(4);
        for at in [data - 12, data - 4] {
            results[at..at + 4].copy_from_slice(&HUGE.to_be_bytes());
        }
    }
}
