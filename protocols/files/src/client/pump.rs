//! Blocks are sent, as many as there may be on their way, and from all files in turn.

use nfs::FileHandle;
use units::Instant;

use super::Client;
use crate::BlockSize;
use crate::config::AUTO_BLOCK;

impl Client {
    /// A file may have blocks to send.
    pub(super) fn enqueue(&mut self, file: FileHandle) {
        if self.queued.insert(file) {
            self.busy.push_back(file);
        }
    }

    /// Sends as much as there is room for; says whether anything was sent.
    pub(super) fn pump(&mut self, now: Instant) -> bool {
        let mut sent = false;
        while self.window.has_room() {
            let Some(file) = self.busy.pop_front() else {
                break;
            };
            if self.send_read(now, file) || self.send_write(now, file) {
                sent = true;
                self.busy.push_back(file);
            } else {
                self.queued.remove(&file);
            }
        }
        sent
    }

    /// How many bytes a READ asks for.
    pub(super) fn read_block(&self) -> u32 {
        self.block(self.server.read)
    }

    /// How many bytes a WRITE brings.
    pub(super) fn write_block(&self) -> u32 {
        self.block(self.server.write)
    }

    fn block(&self, limit: u32) -> u32 {
        let wanted = match self.config.block {
            BlockSize::Auto => AUTO_BLOCK,
            BlockSize::Fixed(size) => size,
        };
        wanted.min(limit)
    }
}
