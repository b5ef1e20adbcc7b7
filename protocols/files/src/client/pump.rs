//! Blocks are sent, as many as there may be on their way, and from all files in turn.

use nfs::FileHandle;
use units::Instant;

use super::Client;

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
        self.read_size.bytes().min(self.server.read)
    }

    /// How many bytes a WRITE brings.
    pub(super) fn write_block(&self) -> u32 {
        self.write_size.bytes().min(self.server.write)
    }
}
