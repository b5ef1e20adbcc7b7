//! The progress of a part, for display, and to end a part that hangs.

use std::collections::VecDeque;
use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Interval of looks at the progress.
const LOOK: Duration = Duration::from_millis(200);
/// Number of looks without progress before a part counts as hanging. It is three minutes: longer than any one
/// operation, with the restart of a killed server.
const IDLE_LOOKS: u32 = 900;

/// Number of operations done so far.
#[derive(Debug, Default)]
pub(super) struct Done(AtomicU64);

impl Done {
    /// Counts one more operation.
    pub(super) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reason why a part failed, as a text for people.
pub(super) type Fault = String;

/// Runs a part and shows its progress. A part that hangs ends the whole soak: `hung` returns what is known of it.
pub(super) fn watch<T: Send>(
    name: &str,
    hung: impl Fn() -> String,
    part: impl FnOnce(&Done) -> T + Send,
) -> T {
    let done = Done::default();
    thread::scope(|scope| {
        let worker = scope.spawn(|| part(&done));
        let begun = Instant::now();
        let (mut before, mut idle) = (0, 0);
        while !worker.is_finished() {
            thread::sleep(LOOK);
            let now = done.so_far();
            // Looks are counted and not seconds, because a suspended machine has not waited.
            idle = if now == before { idle + 1 } else { 0 };
            before = now;
            if idle > IDLE_LOOKS {
                eprintln!("\n{name}: nothing happens any more\n{}", hung());
                std::process::exit(1);
            }
            tell(&format!(
                "{name}: {now} operations in {} s",
                begun.elapsed().as_secs()
            ));
        }
        tell("");
        worker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Replaces the last line on the terminal, if there is one.
fn tell(line: &str) {
    if stderr().is_terminal() {
        eprint!("\r\x1b[K{line}");
        let _ = stderr().flush();
    }
}

/// Number of operations that are printed with a fault.
const SHOWN: usize = 24;

/// The last operations.
#[derive(Debug, Default)]
pub(super) struct Last(VecDeque<String>);

impl Last {
    pub(super) fn push(&mut self, operation: String) {
        if self.0.len() == SHOWN {
            self.0.pop_front();
        }
        self.0.push_back(operation);
    }

    /// Returns the fault with the operations before it.
    pub(super) fn explain(&self, fault: &str) -> Fault {
        let mut text = String::from("the last operations:");
        for operation in &self.0 {
            text.push_str("\n    ");
            text.push_str(operation);
        }
        format!("{fault}\n  {text}")
    }
}
