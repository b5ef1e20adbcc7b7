//! Information about a process that waits for a request.

/// Signals that are meant to end a process or its work: hang-up, interrupt (Ctrl-C), quit, kill, terminate; as bits.
const ENDING: u64 = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 8 | 1 << 14;

/// Returns the supplementary groups of a thread; none if it is gone or cannot be read.
pub fn groups_of(process: u32) -> Vec<u32> {
    let status = status_of(process).unwrap_or_default();
    let groups = field(&status, "Groups:").unwrap_or_default();
    groups
        .split_whitespace()
        .filter_map(|group| group.parse().ok())
        .collect()
}

/// Returns true if a thread that got a signal while it waited should stop waiting: one of its pending signals is meant
/// to end it or its work. Other signals (of timers, children, language runtimes) are no reason for a file system call
/// to fail, as programs do not expect that. Also returns true if the thread cannot be read.
pub fn wants_to_end(process: u32) -> bool {
    let Some(status) = status_of(process) else {
        return true;
    };
    let mask = |name| field(&status, name).and_then(|mask| u64::from_str_radix(mask, 16).ok());
    let waiting = mask("SigPnd:").unwrap_or(ENDING) | mask("ShdPnd:").unwrap_or(ENDING);
    waiting & !mask("SigBlk:").unwrap_or(0) & ENDING != 0
}

/// Returns `/proc/N/status`; `None` for a process in another namespace (0) and for one that is gone.
fn status_of(process: u32) -> Option<String> {
    let path = (process != 0).then(|| format!("/proc/{process}/status"))?;
    std::fs::read_to_string(path).ok()
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}
