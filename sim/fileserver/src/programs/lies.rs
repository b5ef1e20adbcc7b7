//! What a hostile server tells in place of the truth: see [`Lie`].

use ::nfs::{Attributes, Stability, Written};

use crate::Lie;

/// The count that no answer has.
const HUGE: u32 = u32::MAX;
/// The names of [`Lie::LongNames`], in bytes.
const LONG_NAME: usize = 4_095;
/// What [`Lie::HugeFiles`] adds to sizes.
const HUGE_SIZE: u64 = 1 << 63;

impl Lie {
    /// What is told of a file.
    pub(super) fn attributes(self, truth: Attributes) -> Attributes {
        match self {
            Self::HugeFiles => Attributes {
                size: truth.size | HUGE_SIZE,
                ..truth
            },
            _ => truth,
        }
    }

    /// What an entry of a directory is called.
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

    /// What was read, of a READ of `asked` bytes, and whether the file ends there.
    pub(super) fn read(self, data: &mut Vec<u8>, asked: u32, end_of_file: bool) -> bool {
        match self {
            Self::TooMuchData => data.resize(asked as usize + 1, 0),
            Self::NoData => data.clear(),
            _ => {}
        }
        end_of_file && self != Self::NoData
    }

    /// What was written.
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

    /// What is answered to a READ of so many bytes of data, given the true answer.
    pub(super) fn read_answer(self, results: &mut [u8], length: usize) {
        if self != Self::HugeCounts {
            return;
        }
        // The data stand behind their count, whether the file ends, and their length.
        let data = results.len() - length.next_multiple_of(4);
        for at in [data - 12, data - 4] {
            results[at..at + 4].copy_from_slice(&HUGE.to_be_bytes());
        }
    }
}
