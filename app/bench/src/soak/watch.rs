//! How far a part is, for whoever looks on, and for what ends it when it hangs.

use std::collections::VecDeque;
use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is looked how far a part is.
const LOOK: Duration = Duration::from_millis(200);
/// So many looks without news are three minutes: longer than any one operation takes, with what a server that is killed
/// needs to be back.
const IDLE_LOOKS: u32 = 900;

/// What a part has done so far.
#[derive(Debug, Default)]
pub(super) struct Done(AtomicU64);

impl Done {
    /// One more operation is done.
    pub(super) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why a part failed; for a person.
pub(super) type Fault = String;

/// Does a part, and tells how far it is. A part that hangs ends the whole soak: `hung` says what is known of it.
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
            // Looks are counted and not seconds: a machine that sleeps has not waited.
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

/// Shows a line in place of the last one, if there is a terminal.
fn tell(line: &str) {
    if stderr().is_terminal() {
        eprint!("\r\x1b[K{line}");
        let _ = stderr().flush();
    }
}

/// How many operations are shown of those that led to a fault.
const SHOWN: usize = 24;

/// The operations that were done last.
#[derive(Debug, Default)]
pub(super) struct Last(VecDeque<String>);

impl Last {
    pub(super) fn push(&mut self, operation: String) {
        if self.0.len() == SHOWN {
            self.0.pop_front();
        }
        self.0.push_back(operation);
    }

    /// The fault with what led to it.
    pub(super) fn explain(&self, fault: &str) -> Fault {
        let mut text = String::from("the last operations:");
        for operation in &self.0 {
            text.push_str("\n    ");
            text.push_str(operation);
        }
        format!("{fault}\n  {text}")
    }
}
