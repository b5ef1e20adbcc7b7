//! The sending of blocks, as many as may be in flight, from all files in turn.

use nfs::FileHandle;
use units::Instant;

use super::Client;
use crate::block::BlockChoice;

impl Client {
    /// Adds a file that may have blocks to send.
    pub(super) fn enqueue(&mut self, file: FileHandle) {
        if self.blocks.queued.insert(file) {
            self.blocks.busy.push_back(file);
        }
    }

    /// Sends blocks while there is room; returns true if any was sent.
    pub(super) fn pump(&mut self, now: Instant) -> bool {
        let mut sent = false;
        while self.blocks.window.has_room() {
            let Some(file) = self.blocks.busy.pop_front() else {
                break;
            };
            if self.send_read(now, file) || self.send_write(now, file) {
                sent = true;
                self.blocks.busy.push_back(file);
            } else {
                self.blocks.queued.remove(&file);
            }
        }
        sent
    }

    /// Returns the size of the next block, by the measurements of its direction.
    pub(super) fn next_block(&self, choice: &BlockChoice, limit: u32) -> u32 {
        let crowded = choice
            .time()
            .is_some_and(|time| self.blocks.window.is_crowded(time));
        choice.next(limit, !crowded)
    }

    /// Returns the number of bytes of the next READ.
    pub(super) fn read_block(&self) -> u32 {
        self.blocks.read_size.bytes().min(self.server.read)
    }

    /// Returns the number of bytes of the next WRITE.
    pub(super) fn write_block(&self) -> u32 {
        self.blocks.write_size.bytes().min(self.server.write)
    }
}
