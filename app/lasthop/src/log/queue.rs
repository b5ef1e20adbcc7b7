//! The queue of lines to the thread that writes them.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use planted::Bug;

/// Largest number of lines that wait for the reader; more are dropped.
const LINES: usize = 1_024;
/// Time between two attempts to put a message into a full queue.
const PAUSE: Duration = Duration::from_millis(10);

/// A message to the thread.
enum Message {
    Line(Vec<u8>),
    /// All earlier lines are to be written before the answer.
    Flush(SyncSender<()>),
}

/// A queue with a limit, and a thread that writes its lines.
pub(super) struct Queue {
    messages: SyncSender<Message>,
    /// Number of lines dropped since the last one that was written.
    dropped: Arc<AtomicU64>,
}

impl Queue {
    /// Starts the thread, which writes to `to` and may block there. `dropped_line` returns the line for dropped ones.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(super) fn start(
        to: impl Write + Send + 'static,
        dropped_line: fn(u64) -> String,
    ) -> io::Result<Self> {
        let (messages, waiting) = sync_channel(LINES);
        let dropped = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&dropped);
        thread::Builder::new()
            .name("log".into())
            .spawn(move || write_all(&waiting, to, &count, dropped_line))?;
        Ok(Self { messages, dropped })
    }

    /// Appends a line with its end. Never blocks: if there is no room, the line is dropped and counted.
    pub(super) fn push(&self, line: Vec<u8>) {
        if planted::is(Bug::LogIsAwaited) {
            let _ = self.messages.send(Message::Line(line));
        } else if self.messages.try_send(Message::Line(line)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all lines are written, but no longer than `patience`. Returns true if they are.
    pub(super) fn flush(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let (done, written) = sync_channel(1);
        let mut message = Message::Flush(done);
        while let Err(error) = self.messages.try_send(message) {
            match error {
                TrySendError::Full(back) if Instant::now() < until => message = back,
                TrySendError::Full(_) | TrySendError::Disconnected(_) => return false,
            }
            thread::sleep(PAUSE);
        }
        let left = until.saturating_duration_since(Instant::now());
        written.recv_timeout(left).is_ok()
    }
}

/// Writes lines until the queue is gone. If the reader is gone, they are lost.
fn write_all(
    waiting: &Receiver<Message>,
    mut to: impl Write,
    dropped: &AtomicU64,
    dropped_line: fn(u64) -> String,
) {
    for message in waiting {
        match message {
            Message::Line(line) => {
                let _ = to.write_all(&line);
                let count = dropped.swap(0, Ordering::Relaxed);
                if count > 0 {
                    let _ = writeln!(to, "{}", dropped_line(count));
                }
            }
            Message::Flush(done) => {
                let _ = to.flush();
                // Whoever waited may have given up.
                let _ = done.send(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::Sender;

    use super::*;

    /// A reader that takes nothing until it is let go.
    struct Stalled {
        go: Receiver<()>,
        has_gone: bool,
        read: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if !self.has_gone {
                let _ = self.go.recv();
                self.has_gone = true;
            }
            self.read.lock().expect("unpoisoned").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn stalled() -> (Queue, Sender<()>, Arc<Mutex<Vec<u8>>>) {
        let (go, wait) = std::sync::mpsc::channel();
        let read = Arc::new(Mutex::new(Vec::new()));
        let to = Stalled {
            go: wait,
            has_gone: false,
            read: Arc::clone(&read),
        };
        (
            Queue::start(to, super::super::dropped).expect("a thread"),
            go,
            read,
        )
    }

    #[test]
    fn a_reader_that_stalls_costs_lines_and_learns_how_many() {
        let (queue, go, read) = stalled();
        let patience = Duration::from_secs(20);
        let (done, pushed) = sync_channel(1);
        // A thread of its own, so that a line that waits for the reader is an error here.
        thread::spawn(move || {
            for number in 0..LINES + 100 {
                queue.push(format!("line {number}\n").into_bytes());
            }
            let _ = done.send(queue);
        });
        let queue = pushed.recv_timeout(patience);
        let queue = queue.expect("no line waits for the reader");
        assert!(!queue.flush(Duration::from_millis(50)), "nobody reads");
        go.send(()).expect("the thread waits");
        assert!(queue.flush(patience));
        let text = read.lock().expect("unpoisoned").clone();
        let text = String::from_utf8(text).expect("text");
        assert!(text.contains("line 1023\n"), "what has room waits");
        // The thread may or may not have taken the first line before the queue was full.
        let told = [99, 100].map(|count| format!("{count} lines of the log were dropped"));
        assert!(told.iter().any(|told| text.contains(told)), "{text}");
    }

    #[test]
    fn the_end_waits_for_all_lines() {
        let (queue, go, read) = stalled();
        go.send(()).expect("the thread waits");
        queue.push(b"the last\n".to_vec());
        assert!(queue.flush(Duration::from_secs(20)));
        assert_eq!(*read.lock().expect("unpoisoned"), b"the last\n");
    }
}
