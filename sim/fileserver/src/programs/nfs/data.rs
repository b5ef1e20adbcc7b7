//! READ, WRITE and COMMIT.

use ::nfs::{Answer, Commit, Committed, Outcome, Read, ReadData, Stability, Value, Write, Written};

use super::outcome;
use crate::programs::{CallContext, CallFault, Programs};

/// Returns the number of bytes of `count` to move: fewer, but not zero, in case of that fault.
fn moved(count: usize, circumstances: CallContext) -> usize {
    match circumstances.mishap {
        Some(CallFault::Short(number)) if count > 0 => 1 + (number % count as u64) as usize,
        _ => count,
    }
}

impl Programs {
    pub(super) fn read_data(
        &mut self,
        call: &Read,
        circumstances: CallContext,
        results: &mut Vec<u8>,
    ) {
        // More data than fit a message are refused when the reply is too long.
        let longest = self.config.longest_message.get() as u32;
        let asked = call.count.min(self.config.transfer).min(longest);
        let count = moved(asked as usize, circumstances) as u64;
        let range = call.offset..call.offset.saturating_add(count);
        let mut data = Vec::new();
        let number = self.storage.resolve(&call.file);
        let truth = number.and_then(|number| self.storage.read(number, &range, &mut data));
        let read = truth.map(|end_of_file| match self.lie {
            Some(lie) => lie.read(&mut data, asked, end_of_file),
            None => end_of_file,
        });
        let attributes = self.told(&call.file);
        let result = read.map(|end_of_file| ReadData {
            attributes,
            end_of_file,
            data: &data,
        });
        let answer: Answer<'_, Read> = outcome(result, attributes);
        answer.encode(results);
        if let (Outcome::Done(_), Some(lie)) = (answer, self.lie) {
            lie.read_answer(results, data.len());
        }
    }

    pub(super) fn write_data(
        &mut self,
        call: &Write<'_>,
        circumstances: CallContext,
    ) -> Answer<'_, Write<'_>> {
        let data = &call.data[..moved(call.data.len(), circumstances)];
        let stable = call.stability > Stability::Unstable;
        let (result, file) = self.change(&call.file, |programs, number| {
            programs.storage.write(number, call.offset, data, stable)
        });
        let truth = Written {
            file,
            count: data.len() as u32,
            stability: call.stability,
            verifier: self.write_verifier,
        };
        let written = self.lie.map_or(truth, |lie| lie.written(truth));
        outcome(result.map(|()| written), file)
    }

    pub(super) fn commit(&mut self, call: &Commit) -> Answer<'_, Commit> {
        let end = match call.count {
            0 => u64::MAX,
            count => call.offset.saturating_add(count.into()),
        };
        let (result, file) = self.change(&call.file, |programs, number| {
            programs.storage.commit(number, &(call.offset..end))
        });
        let verifier = self.write_verifier;
        outcome(result.map(|()| Committed { file, verifier }), file)
    }
}
